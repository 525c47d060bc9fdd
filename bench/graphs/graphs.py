#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The graphs that compare.py compares: what they are in the text language, in NumPy's and JAX's terms, and in ONNX."""
import numpy as np


def softmax(j, x, axis=-1):
    e = j.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(j, x, axis=-1):
    d = x - x.max(axis=axis, keepdims=True)
    return d - j.log(j.exp(d).sum(axis=axis, keepdims=True))


def convolution(step, padding, layout=("NCHW", "OIHW", "NCHW"), groups=1):
    def run(_, x, w):
        import jax
        return jax.lax.conv_general_dilated(x, w, (step, step), ((padding, padding),) * 2, dimension_numbers=layout,
                                            feature_group_count=groups)
    return run


def pool(window, step, padding=0, average=False, nhwc=False):
    def axes(n):
        return (1, n, n, 1) if nhwc else (1, 1, n, n)

    def run(_, x):
        import jax
        start, op = (0.0, jax.lax.add) if average else (-np.inf, jax.lax.max)
        pads = tuple((p, p) for p in (axes(padding) if padding else (0,) * 4))
        pads = tuple((0, 0) if n == 1 else p for n, p in zip(axes(window), pads))
        return jax.lax.reduce_window(x, np.float32(start), op, axes(window), axes(step), pads) / (
            np.float32(window * window) if average else np.float32(1))
    return run


def onnx_pool(op, window, step, padding=0, **more):
    return lambda b, x: getattr(b, op)(x, kernel_shape=[window] * 2, strides=[step] * 2, pads=[padding] * 4, **more)


NHWC = ("NHWC", "HWIO", "NHWC")


def layernorm(j, x, g, b):
    c = x - x.mean(axis=-1, keepdims=True)
    return c / j.sqrt((c * c).mean(axis=-1, keepdims=True) + 1e-5) * g + b


def rmsnorm(j, x, g):
    return x / j.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * g


def logsumexp(j, x, axis=-1):
    m = x.max(axis=axis, keepdims=True)
    return (j.log(j.exp(x - m).sum(axis=axis, keepdims=True)) + m).squeeze(axis)


def attention(j, q, k, v):
    return softmax(j, q @ k.swapaxes(-1, -2) * float(q.shape[-1] ** -0.5)) @ v


def causal(j, q, k, v):
    """The last row has all columns."""
    m, n = q.shape[-2], k.shape[-2]
    scores = q @ k.swapaxes(-1, -2) * float(q.shape[-1] ** -0.5)
    return softmax(j, j.where(np.tri(m, n, n - m, dtype=bool), scores, -np.inf)) @ v


def silu(j, x):
    return x / (1 + j.exp(-x))


def gelu(j, x):
    if j is np:
        from scipy.special import erf
    else:
        from jax.scipy.special import erf
    return x * 0.5 * (1 + erf(x * 0.5 ** 0.5))


def attention_onnx(b, q, k, v, scale=0.125, mask=None):
    scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 2, 1])), b.number(scale))
    if mask is not None:
        scores = b.Add(scores, b.constant(mask.astype(b.dtype)))
    return b.MatMul(b.Softmax(scores, axis=-1), v)


def gated(j, x, w, v, y):
    return (silu(j, x @ w) * (x @ v)) @ y


def gated_onnx(b, x, w, v, y):
    return b.MatMul(b.Mul(b.silu(b.MatMul(x, w)), b.MatMul(x, v)), y)


def biased_gelu(j, x, w, c):
    return gelu(j, x @ w + c)


def biased_gelu_onnx(b, x, w, c):
    return b.Gelu(b.Add(b.MatMul(x, w), c))


def residual(j, x, y, g, w):
    return rmsnorm(j, x + y, g) @ w


def residual_onnx(b, x, y, g, w):
    r = b.Add(x, y)
    mean = b.ReduceMean(b.Mul(r, r), b.ints([-1]))
    return b.MatMul(b.Mul(b.Div(r, b.Sqrt(b.Add(mean, b.number(1e-5)))), g), w)


def chain(j, a, b, c):
    return a @ b @ c


def chain_onnx(o, a, b, c):
    return o.MatMul(o.MatMul(a, b), c)


def conv_onnx(pads, **more):
    return lambda b, x, w: b.Conv(x, w, pads=[pads] * 4, **more)


def gated_spec(dtype, m, k, n, free=""):
    rounded = " -> cast bf16" if dtype == "bf16" else ""
    return (f"g = matmul x {dtype}[{m},{k}] {dtype}[{k},{n}]{free} -> silu; u = matmul x {dtype}[{k},{n}]{free}; "
            f"h = mul g u{rounded}; matmul h {dtype}[{n},{k}]{free}")


def both(name, spec, *rest):
    """A row in f32, and one in bf16. `spec` says by `%s` the element type, and by `%c` where bf16 is rounded in between."""
    return [(name, spec.replace("%s", "f32").replace("%c", ""), *rest),
            (name + " bf16", spec.replace("%s", "bf16").replace("%c", " -> cast bf16"), *rest)]


# name, Spec, shapes of the inputs, what it means in NumPy's and JAX's terms, the ONNX graph (`nhwc=1`: for oneDNN alone).
# Inputs have the element type of the Spec's first one. Where inputs have `{*}`, peers get them as constants, and oneDNN its own forms.
GRAPHS = [
    ("softmax 64x1024", "softmax f32[64,1024] axis=1", [(64, 1024)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 1x32000", "softmax f32[1,32000] axis=1", [(1, 32000)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 4096x64", "softmax f32[4096,64] axis=1", [(4096, 64)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 37x1000", "softmax f32[37,1000] axis=1", [(37, 1000)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 200x77", "softmax f32[200,77] axis=1", [(200, 77)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 1x50257", "softmax f32[1,50257] axis=1", [(1, 50257)], softmax, lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 128x50257", "softmax f32[128,50257] axis=1", [(128, 50257)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("softmax 1x1048576", "softmax f32[1,1048576] axis=1", [(1, 1048576)], softmax,
     lambda b, x: b.Softmax(x, axis=-1)),
    ("log_softmax 64x1024", "log_softmax f32[64,1024] axis=1", [(64, 1024)], log_softmax,
     lambda b, x: b.LogSoftmax(x, axis=-1)),
    ("logsumexp 128x4096", "logsumexp f32[128,4096] axis=1", [(128, 4096)], logsumexp,
     lambda b, x: b.ReduceLogSumExp(x, b.ints([1]), keepdims=0)),
    ("logsumexp 1x1048576", "logsumexp f32[1,1048576] axis=1", [(1, 1048576)], logsumexp,
     lambda b, x: b.ReduceLogSumExp(x, b.ints([1]), keepdims=0)),
    ("layernorm 512x768", "layernorm f32[512,768] f32[768] f32[768] axis=1", [(512, 768), (768,), (768,)],
     layernorm, lambda b, x, g, c: b.LayerNormalization(x, g, c, axis=-1, epsilon=1e-5)),
    ("rmsnorm 512x768", "rmsnorm f32[512,768] f32[768] axis=1", [(512, 768), (768,)], rmsnorm, None),
    ("softmax(QK^T) 64^3", "matmul f32[64,64] f32[64,64] -> softmax axis=1", [(64, 64), (64, 64)],
     lambda j, q, k: softmax(j, q @ k), lambda b, q, k: b.Softmax(b.MatMul(q, k), axis=-1)),
    ("attention 8 of 128x64", "attention f32[8,128,64] f32[8,128,64] f32[8,128,64]", [(8, 128, 64)] * 3, attention, attention_onnx),
    ("attention 12 of 512x64", "attention f32[12,512,64] f32[12,512,64] f32[12,512,64]", [(12, 512, 64)] * 3,
     attention, attention_onnx),
    ("attention 8 of 4x64 on 2048", "attention f32[8,4,64] f32[8,2048,64] f32[8,2048,64]",
     [(8, 4, 64), (8, 2048, 64), (8, 2048, 64)], attention, attention_onnx),
    ("attention 128x64 on 4096", "attention f32[1,128,64] f32[1,4096,64] f32[1,4096,64]",
     [(1, 128, 64), (1, 4096, 64), (1, 4096, 64)], attention, attention_onnx),
    *[(f"causal attention {heads} of {rows}x64",
       f"attention f32[{heads},{rows},64] f32[{heads},{rows},64] f32[{heads},{rows},64] causal", [(heads, rows, 64)] * 3,
       causal,
       lambda b, q, k, v, rows=rows: attention_onnx(b, q, k, v, mask=np.where(np.tri(rows, dtype=bool), 0, -np.inf)))
      for heads, rows in ((8, 128), (12, 512))],
    ("chain 64x256x256x64", "matmul f32[64,256] f32[256,256] -> matmul f32[256,64]",
     [(64, 256), (256, 256), (256, 64)], chain, chain_onnx),
    ("chain 33x65x129x17", "matmul f32[33,65] f32[65,129] -> matmul f32[129,17]", [(33, 65), (65, 129), (129, 17)],
     chain, chain_onnx),
    ("conv 3x3 nhwc 28x28x64", "conv2d f32[1,30,30,64] f32[3,3,64,64] nhwc", [(1, 30, 30, 64), (3, 3, 64, 64)],
     convolution(1, 0, NHWC), conv_onnx(0, nhwc=1)),
    ("conv 3x3 nchw 28x28x64", "conv2d f32[1,64,30,30] f32[64,64,3,3]", [(1, 64, 30, 30), (64, 64, 3, 3)],
     convolution(1, 0), lambda b, x, w: b.Conv(x, w)),
    ("conv 3x3 nchw 56x56x64 padded", "conv2d f32[1,64,56,56] f32[64,64,3,3] padding=1",
     [(1, 64, 56, 56), (64, 64, 3, 3)], convolution(1, 1), lambda b, x, w: b.Conv(x, w, pads=[1, 1, 1, 1])),
    ("conv 3x3 nhwc 28x28x128 padded, stride 2", "conv2d f32[1,28,28,128] f32[3,3,128,128] nhwc padding=1 stride=2",
     [(1, 28, 28, 128), (3, 3, 128, 128)], convolution(2, 1, NHWC), conv_onnx(1, nhwc=1, strides=[2, 2])),
    ("depthwise 3x3 nchw 28x28x128 padded", "conv2d f32[1,128,28,28] f32[128,1,3,3] groups=128 padding=1",
     [(1, 128, 28, 28), (128, 1, 3, 3)], convolution(1, 1, groups=128),
     lambda b, x, w: b.Conv(x, w, pads=[1, 1, 1, 1], group=128)),
    ("depthwise 3x3 nhwc 112x112x32 padded", "conv2d f32[1,112,112,32] f32[3,3,1,32] groups=32 nhwc padding=1",
     [(1, 112, 112, 32), (3, 3, 1, 32)], convolution(1, 1, NHWC, groups=32), conv_onnx(1, nhwc=1, group=32)),
    ("depthwise 3x3 nhwc 28x28x192 padded, stride 2", "conv2d f32[1,28,28,192] f32[3,3,1,192] groups=192 nhwc padding=1 "
     "stride=2", [(1, 28, 28, 192), (3, 3, 1, 192)], convolution(2, 1, NHWC, groups=192),
     conv_onnx(1, nhwc=1, group=192, strides=[2, 2])),
    ("max pool 3x3 64x28x28 padded", "max_pool f32[1,64,28,28] window=3 stride=1 padding=1", [(1, 64, 28, 28)],
     pool(3, 1, 1), onnx_pool("MaxPool", 3, 1, 1)),
    ("max pool 64x56x56", "max_pool f32[1,64,56,56] window=2,2 stride=2,2", [(1, 64, 56, 56)],
     lambda j, x: x.reshape(1, 64, 28, 2, 28, 2).max(axis=(3, 5)), onnx_pool("MaxPool", 2, 2)),
    ("max pool 3x3 64x112x112 padded, stride 2", "max_pool f32[1,64,112,112] window=3 stride=2 padding=1",
     [(1, 64, 112, 112)], pool(3, 2, 1), onnx_pool("MaxPool", 3, 2, 1)),
    ("max pool 3x3 64x55x55, stride 2", "max_pool f32[1,64,55,55] window=3 stride=2", [(1, 64, 55, 55)], pool(3, 2),
     onnx_pool("MaxPool", 3, 2)),
    ("max pool 16x30x45", "max_pool f32[1,16,30,45] window=2 stride=2", [(1, 16, 30, 45)], pool(2, 2),
     onnx_pool("MaxPool", 2, 2)),
    ("max pool nhwc 56x56x64", "max_pool f32[1,56,56,64] window=2 stride=2 nhwc", [(1, 56, 56, 64)],
     pool(2, 2, nhwc=True), onnx_pool("MaxPool", 2, 2, nhwc=1)),
    ("avg pool 64x56x56", "avg_pool f32[1,64,56,56] window=2 stride=2", [(1, 64, 56, 56)], pool(2, 2, average=True),
     onnx_pool("AveragePool", 2, 2)),
    ("avg pool 7x7 512x7x7", "avg_pool f32[1,512,7,7] window=7 stride=7", [(1, 512, 7, 7)], pool(7, 7, average=True),
     onnx_pool("AveragePool", 7, 7)),
    *both("layernorm 1x4096", "layernorm %s[1,4096] %s[4096] %s[4096] axis=1", [(1, 4096), (4096,), (4096,)],
          layernorm, lambda b, x, g, c: b.LayerNormalization(x, g, c, axis=-1, epsilon=1e-5)),
    *both("matmul+bias+gelu 64x768x3072", "matmul %s[64,768] %s[768,3072] + %s[3072] -> gelu",
          [(64, 768), (768, 3072), (3072,)], biased_gelu, biased_gelu_onnx),
    *both("matmul+bias+gelu 64x768x3072 packed", "matmul %s[64,768] %s[768,3072]{*} + %s[3072] -> gelu",
          [(64, 768), (768, 3072), (3072,)], biased_gelu, biased_gelu_onnx),
    *both("residual+rmsnorm+matmul 32x2048x2048", "r = add x %s[32,2048] y %s[32,2048]; n = rmsnorm r g %s[2048] axis=1%c; "
          "matmul n %s[2048,2048]", [(32, 2048), (32, 2048), (2048,), (2048, 2048)], residual, residual_onnx),
    *both("chain 64x256x256x64 packed", "matmul %s[64,256] %s[256,256]{*}%c -> matmul %s[256,64]{*}",
          [(64, 256), (256, 256), (256, 64)], chain, chain_onnx),
    *[(f"gated {m}x{k}x{n}{name}", gated_spec(dtype, m, k, n, free), [(m, k), (k, n), (k, n), (n, k)], gated, gated_onnx)
      for m, k, n in ((1, 2048, 8192), (32, 2048, 8192), (32, 256, 512))
      for name, dtype, free in (("", "f32", ""), (" bf16", "bf16", ""), (" packed", "f32", "{*}"), (" packed bf16", "bf16", "{*}"))],
    *[(f"softmax {m}x{n} bf16", f"softmax bf16[{m},{n}] axis=1", [(m, n)], softmax, lambda b, x: b.Softmax(x, axis=-1))
      for m, n in ((64, 1024), (1, 32000), (4096, 64), (37, 1000))],
    ("layernorm 512x768 bf16", "layernorm bf16[512,768] bf16[768] bf16[768] axis=1", [(512, 768), (768,), (768,)],
     layernorm, lambda b, x, g, c: b.LayerNormalization(x, g, c, axis=-1, epsilon=1e-5)),
    ("rmsnorm 512x768 bf16", "rmsnorm bf16[512,768] bf16[768] axis=1", [(512, 768), (768,)], rmsnorm, None),
    *[(f"attention {name} bf16", f"attention bf16[{h},{m},64] bf16[{h},{n},64] bf16[{h},{n},64]",
       [(h, m, 64), (h, n, 64), (h, n, 64)], attention, attention_onnx)
      for name, h, m, n in (("8 of 128x64", 8, 128, 128), ("12 of 512x64", 12, 512, 512), ("8 of 4x64 on 2048", 8, 4, 2048))],
    *[(f"rounded attention {name} bf16",
       f"p = matmul bf16[{h},{m},64] bf16[{h},64,{n}]{{1,2,0}} * 0.125 -> softmax axis=2 -> cast bf16; matmul p bf16[{h},{n},64]",
       [(h, m, 64), (h, n, 64), (h, n, 64)], attention, attention_onnx)
      for name, h, m, n in (("8 of 128x64", 8, 128, 128), ("12 of 512x64", 12, 512, 512), ("8 of 4x64 on 2048", 8, 4, 2048))],
    ("chain 64x256x256x64 bf16", "matmul bf16[64,256] bf16[256,256] -> cast bf16 -> matmul bf16[256,64]",
     [(64, 256), (256, 256), (256, 64)], chain, chain_onnx),
    *both("conv 3x3 nhwc 56x56x64 padded", "conv2d %s[1,56,56,64] %s[3,3,64,64] nhwc padding=1",
          [(1, 56, 56, 64), (3, 3, 64, 64)], convolution(1, 1, NHWC), conv_onnx(1, nhwc=1)),
    *both("conv 3x3 nhwc 56x56x64 padded, packed", "conv2d %s[1,56,56,64] %s[3,3,64,64]{*} nhwc padding=1",
          [(1, 56, 56, 64), (3, 3, 64, 64)], convolution(1, 1, NHWC), conv_onnx(1, nhwc=1)),
    ("conv 3x3 nchw 56x56x64 padded bf16", "conv2d bf16[1,64,56,56] bf16[64,64,3,3] padding=1",
     [(1, 64, 56, 56), (64, 64, 3, 3)], convolution(1, 1), conv_onnx(1)),
    ("conv 3x3 nchw 56x56x64 padded, packed", "conv2d f32[1,64,56,56] f32[64,64,3,3]{*} padding=1",
     [(1, 64, 56, 56), (64, 64, 3, 3)], convolution(1, 1), conv_onnx(1)),
    ("conv 1x1 nchw 56x56 64-256", "conv2d f32[1,64,56,56] f32[256,64,1,1]", [(1, 64, 56, 56), (256, 64, 1, 1)],
     convolution(1, 0), conv_onnx(0)),
    *both("conv 1x1 nhwc 56x56 64-256", "conv2d %s[1,56,56,64] %s[1,1,64,256] nhwc", [(1, 56, 56, 64), (1, 1, 64, 256)],
          convolution(1, 0, NHWC), conv_onnx(0, nhwc=1)),
]

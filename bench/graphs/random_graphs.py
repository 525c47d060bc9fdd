#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs of the kinds of graphs.py with random shapes, for compare.py --random: what nothing can have been tuned to.

Graph i of a seed is the same whatever the number of graphs. Rows are as in GRAPHS; a name is `#i`, and the Spec. Products take
2 to 500 MFLOP, and all others have 50 thousand to 2 million elements, so that a call takes microseconds to milliseconds.
"""
import functools
import re

import numpy as np

import graphs

PRODUCTS = (2e6, 5e8)  # floating-point operations
ELEMENTS = (5e4, 2e6)


def size(r, least, most):
    """Of all magnitudes alike; three in five are multiples of 8."""
    n = round(least * (most / least) ** r.random())
    return max(least, n // 8 * 8) if n >= 8 and r.random() < 0.6 else n


def sizes(r, between, work, *ranges):
    """A size from each range, such that `work` of them lies between two numbers."""
    while True:
        drawn = [size(r, *of) for of in ranges]
        if between[0] <= work(*drawn) <= between[1]:
            return drawn


def one_of(r, *choices):
    return choices[r.integers(len(choices))]


def a_type(r):
    return one_of(r, "f32", "f32", "bf16")


def tensor(dtype, shape, layout=""):
    return f"{dtype}[{','.join(map(str, shape))}]{layout}"


def some_shape(r, rank):
    return sizes(r, ELEMENTS, lambda *n: np.prod(n, dtype=float), *[(2, 64)] * (rank - 2), (2, 2048), (16, 4096))


def normalized(r):
    shape = some_shape(r, one_of(r, 2, 2, 3))
    axis = one_of(r, len(shape) - 1, int(r.integers(len(shape))))
    op, function, onnx = one_of(
        r, ("softmax", graphs.softmax, lambda b, x: b.Softmax(x, axis=axis)),
        ("log_softmax", graphs.log_softmax, lambda b, x: b.LogSoftmax(x, axis=axis)),
        ("logsumexp", graphs.logsumexp, lambda b, x: b.ReduceLogSumExp(x, b.ints([axis]), keepdims=0)))
    return f"{op} {tensor(a_type(r), shape)} axis={axis}", [shape], functools.partial(function, axis=axis), onnx


def rmsnorm_onnx(b, x, g):
    mean = b.ReduceMean(b.Pow(x, b.number(2)), b.ints([-1]))
    return b.Mul(b.Div(x, b.Sqrt(b.Add(mean, b.number(1e-5)))), g)


def norm(r):
    rows, n = sizes(r, ELEMENTS, lambda m, n: m * n, (1, 2048), (64, 4096))
    dtype, row = a_type(r), [n]
    if r.random() < 0.5:
        return (f"rmsnorm {tensor(dtype, [rows, n])} {tensor(dtype, row)} axis=1", [(rows, n), row], graphs.rmsnorm, rmsnorm_onnx)
    return (f"layernorm {tensor(dtype, [rows, n])} {tensor(dtype, row)} {tensor(dtype, row)} axis=1", [(rows, n), row, row],
            graphs.layernorm, lambda b, x, g, c: b.LayerNormalization(x, g, c, axis=-1, epsilon=1e-5))


def attention(r):
    heads, m, n, d = sizes(r, PRODUCTS, lambda h, m, n, d: 4 * h * m * n * d, (1, 16), (1, 1024), (16, 2048), (32, 128))
    d = one_of(r, 32, 64, 64, 80, 96, 128, d)
    dtype, shapes, causal = a_type(r), [(heads, m, d), (heads, n, d), (heads, n, d)], m <= n and r.random() < 0.5
    masked = np.where(np.tri(m, n, n - m, dtype=bool), 0, -np.inf).astype(np.float32) if causal else None
    return (f"attention {' '.join(tensor(dtype, s) for s in shapes)}" + f" causal offset={n - m}" * causal, shapes,
            graphs.causal if causal else graphs.attention,
            functools.partial(graphs.attention_onnx, scale=d ** -0.5, mask=masked))


def layout(r):
    return one_of(r, "", "", "{*}")


def product(r):
    dtype = a_type(r)
    if r.random() < 0.4:
        batch, m, k, n = sizes(r, PRODUCTS, lambda b, m, k, n: 2 * b * m * k * n, (2, 16), (1, 512), (16, 1024), (16, 1024))
        return (f"matmul {tensor(dtype, [batch, m, k])} {tensor(dtype, [batch, k, n])}", [(batch, m, k), (batch, k, n)],
                lambda j, a, b: a @ b, lambda o, a, b: o.MatMul(a, b))
    m, k, n = sizes(r, PRODUCTS, lambda m, k, n: 2 * m * k * n, (1, 2048), (16, 4096), (16, 4096))
    return (f"matmul {tensor(dtype, [m, k])} {tensor(dtype, [k, n], layout(r))} + {tensor(dtype, [n])} -> gelu",
            [(m, k), (k, n), (n,)], graphs.biased_gelu, graphs.biased_gelu_onnx)


def chain(r):
    m, k, n, p = sizes(r, PRODUCTS, lambda m, k, n, p: 2 * m * n * (k + p), (1, 1024), (16, 2048), (16, 2048), (16, 2048))
    dtype, free = a_type(r), layout(r)
    return (f"matmul {tensor(dtype, [m, k])} {tensor(dtype, [k, n], free)}{' -> cast bf16' * (dtype == 'bf16')} -> "
            f"matmul {tensor(dtype, [n, p], free)}", [(m, k), (k, n), (n, p)], graphs.chain, graphs.chain_onnx)


def feed_forward(r):
    m, k, n = sizes(r, PRODUCTS, lambda m, k, n: 6 * m * k * n, (1, 512), (64, 2048), (64, 4096))
    return graphs.gated_spec(a_type(r), m, k, n, layout(r)), [(m, k), (k, n), (k, n), (n, k)], graphs.gated, graphs.gated_onnx


def image(r, between, work, *ranges):
    """Sizes from some ranges, then rows and columns; three images in five are square."""
    square = r.random() < 0.6
    *drawn, rows, columns = sizes(r, between, lambda *n: work(*n[:-1], n[-2] if square else n[-1]), *ranges, (7, 112), (7, 112))
    return *drawn, rows, rows if square else columns


def image_shape(batch, channels, rows, columns, nhwc):
    return [batch, rows, columns, channels] if nhwc else [batch, channels, rows, columns]


def convolution(r):
    window, step, nhwc = one_of(r, 1, 3, 3, 3, 5, 7), one_of(r, 1, 1, 2), r.random() < 0.5
    padding = one_of(r, 0, window // 2)
    depthwise = window > 1 and r.random() < 0.3
    batch, c, o, rows, columns = image(
        r, PRODUCTS, lambda b, c, o, h, w: 2 * b * c * (1 if depthwise else o) * h * w * window ** 2 / step ** 2,
        (1, 1 if r.random() < 0.6 else 16), (3, 512), (8, 512))
    o, groups, inner = (c, c, 1) if depthwise else (o, 1, c)
    dtype = a_type(r)
    x = image_shape(batch, c, rows, columns, nhwc)
    w = [window, window, inner, o] if nhwc else [o, inner, window, window]
    return convolution_of(f"conv2d {tensor(dtype, x)} {tensor(dtype, w, layout(r))}" + " nhwc" * nhwc
                          + f" padding={padding}" * (padding > 0) + f" stride={step}" * (step > 1)
                          + f" groups={groups}" * (groups > 1))


def convolution_of(spec):
    """Of a Spec with one number for all of its padding, and one for its stride."""
    shapes = [[int(n) for n in shape.split(",")] for shape in re.findall(r"\[([\d,]+)\]", spec)[:2]]
    number = {name: int(n) for name, n in re.findall(r"\b(padding|stride|groups)=(\d+)(?![\d,])", spec)}
    padding, step, groups = (number.get(*of) for of in (("padding", 0), ("stride", 1), ("groups", 1)))
    nhwc = " nhwc" in spec
    form = graphs.NHWC if nhwc else ("NCHW", "OIHW", "NCHW")
    return (spec, shapes, graphs.convolution(step, padding, form, groups),
            graphs.conv_onnx(padding, group=groups, strides=[step] * 2, **({"nhwc": 1} if nhwc else {})))


def convolutions(path):
    """Those of a file, a Spec a line, as random_graphs(): of f32 or bf16, with no steps behind them; others are left out, and named."""
    plain = re.compile(r"conv2d (f32|bf16)\[[\d,]+\] \1\[[\d,]+\](\{\*\})?( nhwc| (padding|stride|groups)=\d+)*")
    with open(path, encoding="utf-8") as lines:
        listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    specs = [spec for spec in listed if plain.fullmatch(spec)]
    for spec in listed:
        if spec not in specs:
            print(f"left out: {spec}")
    return [(f"#{i} {spec}", *convolution_of(spec)) for i, spec in enumerate(specs)]


def pool(r):
    window, nhwc, average = one_of(r, 2, 3), r.random() < 0.4, r.random() < 0.4
    step, padding = one_of(r, 1, 2, window), one_of(r, 0, 0, 1)
    x = image_shape(*image(r, ELEMENTS, lambda b, c, h, w: b * c * h * w, (1, 16), (3, 512)), nhwc)
    return (f"{'avg' if average else 'max'}_pool {tensor('f32', x)} window={window} stride={step}" + " padding=1" * padding
            + " nhwc" * nhwc, [x], graphs.pool(window, step, padding, average, nhwc),
            graphs.onnx_pool("AveragePool" if average else "MaxPool", window, step, padding,
                             **({"count_include_pad": 1} if average else {}), **({"nhwc": 1} if nhwc else {})))


UNARY = {"tanh": (lambda j, x: j.tanh(x), "Tanh"), "sigmoid": (lambda j, x: 1 / (1 + j.exp(-x)), "Sigmoid"),
         "relu": (lambda j, x: j.maximum(x, 0), "Relu"), "gelu": (graphs.gelu, "Gelu"), "silu": (graphs.silu, "silu"),
         "exp": (lambda j, x: j.exp(x), "Exp")}
BINARY = {"+": ("Add", lambda a, b: a + b), "-": ("Sub", lambda a, b: a - b), "*": ("Mul", lambda a, b: a * b)}


def elementwise(r):
    """A function, or some steps with rows, columns and whole tensors, of which only the first may be exp."""
    m, n = some_shape(r, 2)
    dtype = a_type(r)
    if r.random() < 0.15:
        return (f"s = sigmoid x {tensor(dtype, [m, n])}; mul x s", [(m, n)], graphs.silu, lambda b, x: b.silu(x))
    first = one_of(r, *UNARY)
    text, shapes, steps = f"{first} {tensor(dtype, [m, n])}", [(m, n)], []
    steps.append(UNARY[first])
    for _ in range(r.integers(4)):
        if r.random() < 0.3:
            op = one_of(r, *[u for u in UNARY if u != "exp"])
            text += f" -> {op}"
            steps.append(UNARY[op])
        else:
            op, shape = one_of(r, *BINARY), one_of(r, (n,), (m, 1), (m, n))
            text += f" {op} {tensor(dtype, shape)}"
            shapes.append(shape)
            steps.append(op)

    def run(unary, binary, x, others):
        others = iter(others)
        for step in steps:
            x = binary(step, x, next(others)) if isinstance(step, str) else unary(step, x)
        return x
    return (text, shapes,
            lambda j, x, *more: run(lambda step, v: step[0](j, v), lambda op, v, y: BINARY[op][1](v, y), x, more),
            lambda b, x, *more: run(lambda step, v: getattr(b, step[1])(v), lambda op, v, y: getattr(b, BINARY[op][0])(v, y),
                                    x, more))


def reduction(r):
    shape = some_shape(r, one_of(r, 2, 3, 3))
    axis = int(r.integers(len(shape)))
    op, method, onnx = one_of(r, ("reduce_sum", "sum", "ReduceSum"), ("mean", "mean", "ReduceMean"),
                              ("reduce_max", "max", "ReduceMax"))
    return (f"{op} {tensor(a_type(r), shape)} axis={axis}", [shape], lambda j, x: getattr(x, method)(axis=axis),
            lambda b, x: getattr(b, onnx)(x, b.ints([axis]), keepdims=0))


def transpose(r):
    shape = some_shape(r, one_of(r, 2, 3, 4))
    order = list(range(len(shape)))
    while order == sorted(order):
        order = r.permutation(len(shape)).tolist()
    return (f"transpose {tensor(a_type(r), shape)} perm={','.join(map(str, order))}", [shape],
            lambda j, x: x.transpose(order), lambda b, x: b.Transpose(x, perm=order))


KINDS = [normalized, normalized, norm, attention, attention, product, product, chain, feed_forward, convolution, convolution,
         convolution, pool, pool, elementwise, elementwise, reduction, transpose]


def random_graphs(count, seed):
    rows = []
    for i in range(count):
        r = np.random.default_rng([seed, i])
        spec, *rest = one_of(r, *KINDS)(r)
        rows.append((f"#{i} {spec}", spec, *rest))
    return rows

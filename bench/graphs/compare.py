#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs beside ONNX Runtime and JAX (XLA), one thread, each in turns in one process.

    python3 -m venv v && v/bin/pip install numpy onnxruntime onnx jax
    v/bin/python bench/graphs/compare.py --library build/capi/libmorello.so.0 [--isa avx2] [--rounds 31]

Prints the median (--quantile) of rounds of some milliseconds, what eight in ten lie between, and the ratio to the faster of
the others (above 1: morello is faster). Results are compared first. The others' calls from Python take some 5
(ONNX Runtime, bound outputs) to 30 us (JAX) by themselves, which are measured with a copy of one element and
subtracted; rows of less than twice that say little. The others use all instruction sets that the CPU has:
on a CPU with AVX-512, --isa avx2 compares unlike things.
"""
import argparse
import ctypes
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402


def softmax(j, x):
    e = j.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(j, x):
    d = x - x.max(axis=-1, keepdims=True)
    return d - j.log(j.exp(d).sum(axis=-1, keepdims=True))


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


def onnx_pool(op, window, step, padding=0):
    return lambda b, x: getattr(b, op)(x, kernel_shape=[window] * 2, strides=[step] * 2, pads=[padding] * 4)


NHWC = ("NHWC", "HWIO", "NHWC")


def layernorm(j, x, g, b):
    c = x - x.mean(axis=-1, keepdims=True)
    return c / j.sqrt((c * c).mean(axis=-1, keepdims=True) + 1e-5) * g + b


def rmsnorm(j, x, g):
    return x / j.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * g


def logsumexp(j, x):
    m = x.max(axis=-1, keepdims=True)
    return (j.log(j.exp(x - m).sum(axis=-1, keepdims=True)) + m)[..., 0]


def attention(j, q, k, v):
    return softmax(j, q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)) @ v


def causal(j, q, k, v):
    scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)
    return softmax(j, j.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, np.float32(-np.inf))) @ v


def silu(j, x):
    return x / (1 + j.exp(-x))


# name, Spec, shapes of the inputs, what it means in NumPy's and JAX's terms, the ONNX graph
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
    ("attention 8 of 128x64", "attention f32[8,128,64] f32[8,128,64] f32[8,128,64]", [(8, 128, 64)] * 3, attention,
     lambda b, q, k, v: b.MatMul(b.Softmax(b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 2, 1])), b.number(0.125)),
                                           axis=-1), v)),
    ("attention 12 of 512x64", "attention f32[12,512,64] f32[12,512,64] f32[12,512,64]", [(12, 512, 64)] * 3,
     attention,
     lambda b, q, k, v: b.MatMul(b.Softmax(b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 2, 1])), b.number(0.125)),
                                           axis=-1), v)),
    ("attention 8 of 4x64 on 2048", "attention f32[8,4,64] f32[8,2048,64] f32[8,2048,64]",
     [(8, 4, 64), (8, 2048, 64), (8, 2048, 64)], attention,
     lambda b, q, k, v: b.MatMul(b.Softmax(b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 2, 1])), b.number(0.125)),
                                           axis=-1), v)),
    ("attention 128x64 on 4096", "attention f32[1,128,64] f32[1,4096,64] f32[1,4096,64]",
     [(1, 128, 64), (1, 4096, 64), (1, 4096, 64)], attention,
     lambda b, q, k, v: b.MatMul(b.Softmax(b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 2, 1])), b.number(0.125)),
                                           axis=-1), v)),
    *[(f"causal attention {heads} of {rows}x64",
       f"attention f32[{heads},{rows},64] f32[{heads},{rows},64] f32[{heads},{rows},64] causal", [(heads, rows, 64)] * 3,
       causal,
       lambda b, q, k, v, rows=rows: b.MatMul(b.Softmax(b.Add(
           b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 2, 1])), b.number(0.125)),
           b.constant(np.where(np.tri(rows, dtype=bool), 0, -np.inf).astype(np.float32))), axis=-1), v))
      for heads, rows in ((8, 128), (12, 512))],
    ("chain 64x256x256x64", "matmul f32[64,256] f32[256,256] -> matmul f32[256,64]",
     [(64, 256), (256, 256), (256, 64)], lambda j, a, b, c: a @ b @ c, lambda o, a, b, c: o.MatMul(o.MatMul(a, b), c)),
    ("chain 33x65x129x17", "matmul f32[33,65] f32[65,129] -> matmul f32[129,17]", [(33, 65), (65, 129), (129, 17)],
     lambda j, a, b, c: a @ b @ c, lambda o, a, b, c: o.MatMul(o.MatMul(a, b), c)),
    ("gated 32x256x512", "g = matmul x f32[32,256] f32[256,512] -> silu; u = matmul x f32[256,512]; "
     "mul g u -> matmul f32[512,256]", [(32, 256), (256, 512), (256, 512), (512, 256)],
     lambda j, x, w, v, y: (silu(j, x @ w) * (x @ v)) @ y,
     lambda b, x, w, v, y: b.MatMul(b.Mul(b.silu(b.MatMul(x, w)), b.MatMul(x, v)), y)),
    ("conv 3x3 nhwc 28x28x64", "conv2d f32[1,30,30,64] f32[3,3,64,64] nhwc", [(1, 30, 30, 64), (3, 3, 64, 64)],
     convolution(1, 0, NHWC), None),
    ("conv 3x3 nchw 28x28x64", "conv2d f32[1,64,30,30] f32[64,64,3,3]", [(1, 64, 30, 30), (64, 64, 3, 3)],
     convolution(1, 0), lambda b, x, w: b.Conv(x, w)),
    ("conv 3x3 nchw 56x56x64 padded", "conv2d f32[1,64,56,56] f32[64,64,3,3] padding=1",
     [(1, 64, 56, 56), (64, 64, 3, 3)], convolution(1, 1), lambda b, x, w: b.Conv(x, w, pads=[1, 1, 1, 1])),
    ("conv 3x3 nhwc 28x28x128 padded, stride 2", "conv2d f32[1,28,28,128] f32[3,3,128,128] nhwc padding=1 stride=2",
     [(1, 28, 28, 128), (3, 3, 128, 128)], convolution(2, 1, NHWC), None),
    ("depthwise 3x3 nchw 28x28x128 padded", "conv2d f32[1,128,28,28] f32[128,1,3,3] groups=128 padding=1",
     [(1, 128, 28, 28), (128, 1, 3, 3)], convolution(1, 1, groups=128),
     lambda b, x, w: b.Conv(x, w, pads=[1, 1, 1, 1], group=128)),
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
     pool(2, 2, nhwc=True), None),
    ("avg pool 64x56x56", "avg_pool f32[1,64,56,56] window=2 stride=2", [(1, 64, 56, 56)], pool(2, 2, average=True),
     onnx_pool("AveragePool", 2, 2)),
    ("avg pool 7x7 512x7x7", "avg_pool f32[1,512,7,7] window=7 stride=7", [(1, 512, 7, 7)], pool(7, 7, average=True),
     onnx_pool("AveragePool", 7, 7)),
]


class Morello:
    def __init__(self, path, isa):
        self.lib = ctypes.CDLL(path)
        self.lib.morello_error_message.restype = ctypes.c_char_p
        if isa:
            os.environ["MORELLO_MAX_ISA"] = isa
        self.context = ctypes.c_void_p()
        self.call("morello_context_create", None, ctypes.byref(self.context))

    def call(self, name, *arguments):
        error = ctypes.c_void_p()
        status = getattr(self.lib, name)(*arguments, ctypes.byref(error))
        if status:
            sys.exit(f"{name}: {self.lib.morello_error_message(error).decode()}")

    def compile(self, text, arrays):
        spec, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("morello_spec_parse", self.context, text.encode(), ctypes.byref(spec))
        start = time.perf_counter()
        self.call("morello_synthesize", self.context, spec, None, ctypes.byref(kernel))
        self.seconds = time.perf_counter() - start
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        self.lib.morello_kernel_scratch_size.restype = ctypes.c_size_t
        scratch = np.zeros(self.lib.morello_kernel_scratch_size(kernel) + 64, np.uint8)
        at = ctypes.c_void_p((scratch.ctypes.data + 63) // 64 * 64)
        self.lib.morello_kernel_function.restype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p,
                                                                    ctypes.c_void_p)
        function = self.lib.morello_kernel_function(kernel)

        def run(keep=(arrays, scratch, kernel)):
            function(pointers, at, None)
        return run


class Onnx:
    """Builds a model from calls such as b.Softmax(x, axis=-1)."""

    def __init__(self):
        import onnx
        self.onnx, self.nodes, self.constants = onnx, [], []

    def __getattr__(self, op):
        def add(*inputs, **attributes):
            name = f"v{len(self.nodes)}"
            self.nodes.append(self.onnx.helper.make_node(op, inputs, [name], **attributes))
            return name
        return add

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def ints(self, values):
        return self.constant(np.array(values, np.int64))

    def number(self, value):
        return self.constant(np.array(value, np.float32))

    def silu(self, x):
        return self.Mul(x, self.Sigmoid(x))

    def compile(self, make, arrays):
        import onnxruntime
        names = [f"i{n}" for n in range(len(arrays) - 1)]
        result = make(self, *names)
        tensor, helper = self.onnx.TensorProto.FLOAT, self.onnx.helper
        graph = helper.make_graph(self.nodes, "g",
                                  [helper.make_tensor_value_info(n, tensor, a.shape) for n, a in zip(names, arrays)],
                                  [helper.make_tensor_value_info(result, tensor, arrays[-1].shape)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        binding = session.io_binding()
        for n, a in zip(names, arrays):
            binding.bind_cpu_input(n, a)
        out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(arrays[-1]))
        binding.bind_ortvalue_output(result, out)
        return lambda: session.run_with_iobinding(binding), out.numpy


def jax_runner(function, arrays):
    import jax
    compiled = jax.jit(lambda *a: function(jax.numpy, *a))
    inputs = [jax.device_put(a) for a in arrays[:-1]]
    return (lambda: compiled(*inputs).block_until_ready()), (lambda: np.asarray(compiled(*inputs)))


def aligned(array):
    """A copy that begins a line of the cache, as buffers of the peers do and those of NumPy only by chance."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    offset = -memory.ctypes.data % 64
    copy = memory[offset:offset + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def seconds(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def measure(runs, rounds, length=0.004):
    calls = {}
    for name, run in runs.items():
        run()
        calls[name] = max(1, int(length / max(min(seconds(run, 2) for _ in range(3)), 1e-7)))
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(seconds(run, calls[name]))
    return {name: sorted(all_of) for name, all_of in times.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--isa", default="")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--filter", default="")
    parser.add_argument("--round-ms", type=float, default=4, help="about how long a round takes; short on a busy machine")
    parser.add_argument("--quantile", type=float, default=0.5, help="of the rounds: what is reported and compared")
    options = parser.parse_args()
    morello = Morello(options.library, options.isa)
    one = np.ones(1, np.float32)
    empty = {"morello": morello.compile("abs f32[1]", [one, one.copy()]),
             "ort": Onnx().compile(lambda b, x: b.Abs(x), [one, one])[0],
             "jax": jax_runner(lambda j, x: j.abs(x), [one, one])[0]}

    def chosen(t):
        return t[min(len(t) - 1, int(options.quantile * len(t)))]

    def measured(runs):
        return measure(runs, options.rounds, options.round_ms / 1000)

    overhead = {name: chosen(t) for name, t in measured(empty).items()}
    print("a call alone, us: " + ", ".join(f"{n} {1e6 * t:.1f}" for n, t in overhead.items()))
    ratios = []
    print("| graph | morello, us | ONNX Runtime | JAX | best / morello | search, s |\n|---|---|---|---|---|---|")
    random = np.random.default_rng(1)
    for name, spec, shapes, function, onnx in GRAPHS:
        if options.filter not in name:
            continue
        arrays = [aligned(random.standard_normal(s, np.float32)) for s in shapes]
        expected = np.asarray(function(np, *arrays), np.float32)
        arrays.append(aligned(np.zeros_like(expected)))
        runs, results = {"morello": morello.compile(spec, arrays)}, {}
        runs["morello"]()
        results["morello"] = lambda: arrays[-1]
        if onnx:
            runs["ort"], results["ort"] = Onnx().compile(onnx, arrays)
        runs["jax"], results["jax"] = jax_runner(function, arrays)
        for peer in runs:
            runs[peer]()
            ours = results["morello"]()  # sums of large numbers may be small
            if not np.allclose(results[peer](), ours, rtol=2e-3, atol=2e-3 + 4e-6 * np.abs(ours).max()):
                sys.exit(f"{name}: {peer} has another result")
        times = {peer: [max(t - overhead[peer], 1e-9) for t in all_of]
                 for peer, all_of in measured(runs).items()}
        cells = []
        for peer in ("morello", "ort", "jax"):
            t = times.get(peer)
            cells.append("-" if t is None else f"{1e6 * chosen(t):.1f} "
                         f"({1e6 * t[len(t) // 10]:.1f} to {1e6 * t[-1 - len(t) // 10]:.1f})")
        best = min(chosen(t) for peer, t in times.items() if peer != "morello")
        ratio = best / chosen(times["morello"])
        ratios.append(ratio)
        print(f"| {name} | {cells[0]} | {cells[1]} | {cells[2]} | {ratio:.2f} | {morello.seconds:.2f} |", flush=True)
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()

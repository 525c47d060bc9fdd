#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs (graphs.py, or random ones) beside ONNX Runtime, JAX (XLA) and oneDNN, one thread, each in turns in one process.

    python3 -m venv v && v/bin/pip install numpy onnxruntime onnx jax scipy
    v/bin/python bench/graphs/compare.py --library build/capi/libmorello.so.0 [--isa avx2] [--rounds 31] \\
        [--onednn build/bench/peers/graph-onednn.so] [--random 60 --seed 1] [--convolutions FILE]

Prints the median (--quantile) of rounds of some milliseconds, what eight in ten lie between, and the ratio to the faster of
the others (above 1: morello is faster). Results are compared first. The others' calls from Python take some 5
(ONNX Runtime, bound outputs) to 30 us (JAX) by themselves, which are measured with a copy of one element and
subtracted; rows of less than twice that say little. oneDNN (3, a module that Meson builds where it finds its headers) is
held to --isa, and JAX to AVX2 by --isa avx2, but for products and convolutions, for which it calls a library that is not.
ONNX Runtime uses all instruction sets that the CPU has. Where that has AVX-512, --isa avx2 prints what is not held to AVX2,
and does not compare with it. oneDNN's primitives and its graph API are measured, and the faster one counts; where inputs
are {*}, both also with what they pack, and data in the blocked forms that they ask for, which is not timed.

--random takes as many graphs from random_graphs.py instead, whose names, for --filter, are numbers and Specs: `#7 ` is one of
them. What is refused or wrong there is a row, and fails the run at its end; a peer is left out, and named, where its result
differs (such as of bf16, to which it may round in between).
"""
import argparse
import ctypes
import os
import re
import statistics
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402

from graphs import GRAPHS  # noqa: E402
from random_graphs import convolutions, random_graphs  # noqa: E402


def free_inputs(text):
    """The numbers of the inputs of a Spec whose layout is the kernel's to choose."""
    return [i for i, m in enumerate(re.finditer(r"\b[a-z]+[0-9]+\[[0-9,]*\](\{\*\})?", text)) if m[1]]


# Of which XLA calls a library, which asks the CPU: 159 GFLOP/s of 512x512x512 where FMAs of AVX2 reach 128.
PRODUCTS = re.compile(r"\b(matmul|einsum|conv2d|attention)\b")


class Failure(Exception):
    """A Spec that is refused, or a wrong result."""


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
            raise Failure(f"{name}: {self.lib.morello_error_message(error).decode()}")

    def compile(self, text, arrays):
        spec, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("morello_spec_parse", self.context, text.encode(), ctypes.byref(spec))
        start = time.perf_counter()
        self.call("morello_synthesize", self.context, spec, None, ctypes.byref(kernel))
        self.seconds = time.perf_counter() - start
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        packed = []
        self.lib.morello_kernel_operand_size.restype = ctypes.c_size_t
        for i in free_inputs(text):
            packed.append(aligned(np.zeros(self.lib.morello_kernel_operand_size(kernel, i), np.uint8)))
            self.lib.morello_kernel_pack(kernel, i, ctypes.c_void_p(pointers[i]), packed[-1].ctypes.data_as(ctypes.c_void_p))
            pointers[i] = packed[-1].ctypes.data
        self.lib.morello_kernel_scratch_size.restype = ctypes.c_size_t
        scratch = np.zeros(self.lib.morello_kernel_scratch_size(kernel) + 64, np.uint8)
        at = ctypes.c_void_p((scratch.ctypes.data + 63) // 64 * 64)
        self.lib.morello_kernel_function.restype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p,
                                                                    ctypes.c_void_p)
        function = self.lib.morello_kernel_function(kernel)

        def run(keep=(arrays, packed, scratch, kernel)):
            function(pointers, at, None)
        return run


class Onnx:
    """Builds a model from calls such as b.Softmax(x, axis=-1)."""

    def __init__(self, dtype=np.float32):
        import onnx
        self.onnx, self.nodes, self.constants, self.dtype = onnx, [], [], dtype

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
        return self.constant(np.array(value, self.dtype))

    def silu(self, x):
        return self.Mul(x, self.Sigmoid(x))

    def compile(self, make, arrays, constant=()):
        import onnxruntime
        inputs = {f"i{n}": a for n, a in enumerate(arrays[:-1]) if n not in constant}
        result = make(self, *[self.constant(a) if n in constant else f"i{n}" for n, a in enumerate(arrays[:-1])])
        helper = self.onnx.helper
        tensor = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        graph = helper.make_graph(self.nodes, "g",
                                  [helper.make_tensor_value_info(n, tensor, a.shape) for n, a in inputs.items()],
                                  [helper.make_tensor_value_info(result, tensor, arrays[-1].shape)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        binding = session.io_binding()
        for n, a in inputs.items():
            binding.bind_cpu_input(n, a)
        out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(arrays[-1]))
        binding.bind_ortvalue_output(result, out)
        return lambda: session.run_with_iobinding(binding), out.numpy


class OneDnn:
    """The nodes of an `Onnx` in oneDNN. See peers/graph_onednn.cc for the text."""

    def __init__(self, path, isa):
        if isa:
            os.environ["ONEDNN_MAX_CPU_ISA"] = {"avx512": "AVX512_CORE", "avx512_bf16": "AVX512_CORE_BF16",
                                                "avx512_amx": "AVX512_CORE_AMX"}.get(isa, "AVX2")
        self.lib = ctypes.CDLL(path)
        self.lib.graph_make.restype = ctypes.c_void_p
        self.lib.graph_error.restype = ctypes.c_char_p

    @staticmethod
    def text(make, arrays):
        """The text of a graph, and the operands; none of what no operation of oneDNN ends."""
        model = Onnx(arrays[0].dtype)
        names = [f"i{n}" for n in range(len(arrays) - 1)]
        result = make(model, *names)
        shapes = {n: a.shape for n, a in zip(names, arrays)}
        constants = {c.name: model.onnx.numpy_helper.to_array(c) for c in model.constants}
        shapes.update({n: a.shape or (1,) for n, a in constants.items()})
        operands = [*arrays[:-1], *map(aligned, constants.values())]
        dtype = "f32" if arrays[0].dtype == np.float32 else "bf16"

        def line(op, name, words=()):
            return " ".join([op, name, dtype, ",".join(map(str, shapes[name])), *words])
        lines = [line("Input", n) for n in [*names, *constants]]
        transposed = {}
        for node in model.nodes:
            name, inputs = node.output[0], list(node.input)
            if node.op_type == "Transpose":  # of a second factor, by its last two axes
                transposed[name] = inputs[0]
                shapes[name] = (*shapes[inputs[0]][:-2], *shapes[inputs[0]][:-3:-1])
                continue
            words = []
            for a in node.attribute:
                value = model.onnx.helper.get_attribute_value(a)
                words.append(f"{a.name}=" + (",".join(map(str, value)) if isinstance(value, list) else str(value)))
            if node.op_type == "MatMul":
                shapes[name] = (*shapes[inputs[0]][:-1], shapes[inputs[1]][-1])
                if inputs[1] in transposed:
                    inputs[1] = transposed[inputs[1]]
                    words.append("transposed=1")
            else:
                shapes[name] = arrays[-1].shape if name == result else np.broadcast_shapes(*[shapes[i] for i in inputs])
            lines.append(line(node.op_type, name, inputs + words))
        return "" if result in transposed else "\n".join(lines), [*operands, arrays[-1]]

    def compile(self, make, arrays, packed):
        """What runs the graph, and fetches its result, by the name of the way; ways that oneDNN refuses are left out."""
        ways = {}
        text, operands = self.text(make, arrays)
        for way in ["primitives", "graph"] + (["packed primitives", "graph packed"] if packed else []):
            out = aligned(np.zeros_like(arrays[-1]))
            pointers = (ctypes.c_void_p * len(operands))(*[a.ctypes.data for a in operands[:-1]], out.ctypes.data)
            runner = text and self.lib.graph_make(text.encode(), pointers, way.encode())
            if not runner:
                continue
            runner = ctypes.c_void_p(runner)

            def result(runner=runner, out=out):
                self.lib.graph_result(runner, out.ctypes.data_as(ctypes.c_void_p))
                return out

            def run(runner=runner, function=self.lib.graph_run, keep=(operands, out, pointers)):
                function(runner)
            ways["oneDNN " + way] = run, result
        return ways


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


def cpu_has_avx512():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            return " avx512f " in info.read()
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--onednn", help="the module graph-onednn.so")
    parser.add_argument("--isa", default="")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--filter", default="", help="a regular expression of names")
    parser.add_argument("--round-ms", type=float, default=4, help="about how long a round takes; short on a busy machine")
    parser.add_argument("--quantile", type=float, default=0.5, help="of the rounds: what is reported and compared")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="so many random graphs in place of those of graphs.py")
    parser.add_argument("--convolutions", metavar="FILE", help="those of bench/problems, a Spec a line, instead")
    parser.add_argument("--seed", type=int, default=1, help="of the random graphs")
    options = parser.parse_args()
    if options.isa == "avx2":
        os.environ["XLA_FLAGS"] += " --xla_cpu_max_isa=AVX2"  # before JAX is imported
    not_held = options.isa == "avx2" and cpu_has_avx512()
    import ml_dtypes
    morello = Morello(options.library, options.isa)
    onednn = OneDnn(options.onednn, options.isa) if options.onednn else None
    one = np.ones(1, np.float32)
    rows = np.ones((1, 1), np.float32)
    empty = {"morello": morello.compile("abs f32[1]", [one, one.copy()]),
             "ort": Onnx().compile(lambda b, x: b.Abs(x), [one, one])[0],
             "jax": jax_runner(lambda j, x: j.abs(x), [one, one])[0]}
    if onednn:
        empty.update({name: run for name, (run, _) in
                      onednn.compile(lambda b, x: b.Softmax(x, axis=-1), [rows, rows], False).items()})

    def chosen(t):
        return t[min(len(t) - 1, int(options.quantile * len(t)))]

    def measured(runs):
        return measure(runs, options.rounds, options.round_ms / 1000)

    overhead = {name: chosen(t) for name, t in measured(empty).items()}
    print("a call alone, us: " + ", ".join(f"{n} {1e6 * t:.1f}" for n, t in overhead.items()))
    for name in list(overhead):
        overhead[{"oneDNN primitives": "oneDNN packed primitives"}.get(name, name + " packed")] = overhead[name]
    rows = GRAPHS
    if options.convolutions:
        rows = convolutions(options.convolutions)
    elif options.random:
        rows = random_graphs(options.random, options.seed)
        print(f"random graphs of seed {options.seed}")
    ratios = []
    print("| graph | morello, us | ONNX Runtime | JAX | oneDNN | best / morello | search, s |\n|---|---|---|---|---|---|---|")
    random = np.random.default_rng(1)

    def scale_of(spec, operand, shape):
        # Weights of layers keep the size of what they multiply, as those of models do. Else silu leaves denormals, at some 150 cycles a product.
        layers = "matmul" in spec and operand > 0 and len(shape) > 1
        return np.float32(shape[-2] ** -0.5 if layers else 1)

    def row(name, spec, shapes, function, onnx):
        dtype = ml_dtypes.bfloat16 if re.search(r"\b(f32|bf16)\[", spec)[1] == "bf16" else np.float32
        arrays = [aligned((random.standard_normal(s, np.float32) * scale_of(spec, i, s)).astype(dtype)) for i, s in enumerate(shapes)]
        expected = np.asarray(function(np, *[a.astype(np.float32) for a in arrays]), np.float32)
        arrays.append(aligned(np.zeros(expected.shape, dtype)))
        constant = free_inputs(spec)
        runs, results = {"morello": morello.compile(spec, arrays)}, {}
        results["morello"] = lambda: arrays[-1]
        runs["jax"], results["jax"] = jax_runner(function, arrays)
        if onnx:
            try:
                runs["ort"], results["ort"] = Onnx(dtype).compile(onnx, arrays, constant)
            except Exception:  # what it has no kernels for
                if dtype == np.float32 and "nhwc" not in spec:
                    raise
            for way, (run, result) in (onednn.compile(onnx, arrays, constant) if onednn else {}).items():
                runs[way], results[way] = run, result
        atol, rtol = (4e-6, 2e-3) if dtype == np.float32 else (2e-2, 2e-2)
        for peer in list(runs):
            runs[peer]()
            result = np.asarray(results[peer]()).astype(np.float32)  # sums of large numbers may be small
            if not np.allclose(result, expected, rtol=rtol, atol=2e-3 + atol * np.abs(expected).max()):
                if peer == "morello" or rows is GRAPHS:
                    raise Failure(f"{peer} has another result, by up to {np.abs(result - expected).max():.3g}")
                print(f"{name}: {peer} has another result, by up to {np.abs(result - expected).max():.3g}", file=sys.stderr)
                del runs[peer]
        times = {peer: [max(t - overhead[peer], 1e-9) for t in all_of]
                 for peer, all_of in measured(runs).items()}
        ways = [peer for peer in times if peer.startswith("oneDNN")]
        best_way = min(ways, key=lambda way: chosen(times[way]), default="")
        cells = []
        for peer in ("morello", "ort", "jax", best_way):
            t = times.get(peer)
            cells.append("-" if t is None else f"{1e6 * chosen(t):.1f} "
                         f"({1e6 * t[len(t) // 10]:.1f} to {1e6 * t[-1 - len(t) // 10]:.1f})" + peer[6:] * peer.startswith("oneDNN"))
        not_compared = ["morello"] + ["ort"] * not_held + ["jax"] * (not_held and bool(PRODUCTS.search(spec)))
        best = min((chosen(t) for peer, t in times.items() if peer not in not_compared), default=float("nan"))
        ratio = best / chosen(times["morello"])
        if ratio > 0:
            ratios.append(ratio)
        print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} | {morello.seconds:.2f} |", flush=True)

    failures = 0
    for name, *graph in rows:
        if not re.search(options.filter, name):
            continue
        try:
            row(name, *graph)
        except Failure as failure:
            if rows is GRAPHS:
                sys.exit(f"{name}: {failure}")
            print(f"| {name} | {failure} |", flush=True)
            failures += 1
    if rows is not GRAPHS:
        print(f"{failures} failed")
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

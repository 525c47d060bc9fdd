#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole ONNX models beside ONNX Runtime, in turns in one process.

    python3 -m venv v && v/bin/pip install . onnx onnxruntime
    v/bin/python bench/graphs/models.py [MODEL.onnx ...] [--effort quick] [--isa avx2] [--rounds 9] [--steps] [--quantize WAY] \\
        [--threads 2]

Without files: the networks that the package onnx brings, for its own tests, and transformers of a few layers that are made
here. Their weights are constants, or none, so they get random ones; what those are for is told by the operators that read
them. Files, such as those that export.py writes, keep theirs; inputs of integers are rows of an embedding, and masks ones.
Prints for each model how many kernels it is and how long it took to compile, the median of rounds (what eight in ten
lie between), the largest difference of a result over what results differ, and how many times as long ONNX Runtime takes.
--steps: what each kernel takes, longest first. --quantize: dynamic (weights of 8 bits, activations as they come) or static
(both, as ONNX Runtime's own tool writes them: QDQ, a scale for each channel); of models of its version 11 and later, such as
those that are made here. --threads: of both; each has a while for itself then, for ONNX Runtime's threads look for work before
they sleep. ONNX Runtime uses all instruction sets that the CPU has.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

THREADS = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 1
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-THREADS:]))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper, parser  # noqa: E402

import morello  # noqa: E402
import morello.onnx  # noqa: E402

FLOAT = onnx.TensorProto.FLOAT


def light_models():
    folder = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    return [(path.stem.removeprefix("light_"), onnx.load(path)) for path in sorted(folder.glob("*.onnx"))]


def transformer(name, rows, width, heads, hidden, layers, causal):
    """Layers of attention and two products, with residuals and norms before them, as a model states them."""
    depth = width // heads
    nodes, weights = [], []

    def weight(shape):
        weights.append(numpy_helper.from_array(np.zeros(shape, np.float32), f"w{len(weights)}"))
        return weights[-1].name

    def add(text):
        nodes.append(text)

    def ints(values):
        weights.append(numpy_helper.from_array(np.array(values, np.int64), f"w{len(weights)}"))
        return weights[-1].name

    x = "x"
    for layer in range(layers):
        p = f"l{layer}_"
        add(f"{p}n = LayerNormalization <axis = -1> ({x}, {weight([width])}, {weight([width])})")
        for part in "qkv":
            add(f"{p}{part}m = MatMul ({p}n, {weight([width, width])})")
            add(f"{p}{part}b = Add ({p}{part}m, {weight([width])})")
            add(f"{p}{part}r = Reshape ({p}{part}b, {ints([1, rows, heads, depth])})")
            order = "0, 2, 3, 1" if part == "k" else "0, 2, 1, 3"
            add(f"{p}{part} = Transpose <perm = [{order}]> ({p}{part}r)")
        add(f"{p}s = MatMul ({p}q, {p}k)")
        add(f"{p}scaled = Mul ({p}s, scale)")
        masked = f"{p}scaled"
        if causal:
            add(f"{p}masked = Add ({p}scaled, mask)")
            masked = f"{p}masked"
        add(f"{p}p = Softmax <axis = -1> ({masked})")
        add(f"{p}o = MatMul ({p}p, {p}v)")
        add(f"{p}ot = Transpose <perm = [0, 2, 1, 3]> ({p}o)")
        add(f"{p}oc = Reshape ({p}ot, {ints([1, rows, width])})")
        add(f"{p}om = MatMul ({p}oc, {weight([width, width])})")
        add(f"{p}ob = Add ({p}om, {weight([width])})")
        add(f"{p}y = Add ({x}, {p}ob)")
        add(f"{p}m = LayerNormalization <axis = -1> ({p}y, {weight([width])}, {weight([width])})")
        add(f"{p}h = MatMul ({p}m, {weight([width, hidden])})")
        add(f"{p}hb = Add ({p}h, {weight([hidden])})")
        add(f"{p}g = Gelu ({p}hb)")
        add(f"{p}d = MatMul ({p}g, {weight([hidden, width])})")
        add(f"{p}db = Add ({p}d, {weight([width])})")
        x = f"{p}z"
        add(f"{x} = Add ({p}y, {p}db)")
    model = parser.parse_model('<ir_version: 8, opset_import: ["": 20]> g (float[1,%d,%d] x) => (float[1,%d,%d] %s) { %s }'
                               % (rows, width, rows, width, x, "\n".join(nodes)))
    model.graph.initializer.extend(weights)
    model.graph.initializer.append(numpy_helper.from_array(np.float32(depth ** -0.5), "scale"))
    if causal:
        mask = np.triu(np.full((rows, rows), -1e9, np.float32), 1)
        model.graph.initializer.append(numpy_helper.from_array(mask, "mask"))
    return name, model


def convolutions(name, size, channels, count):
    """3x3, the first with a stride of 2, a mean over places and a product."""
    text = f"""<ir_version: 8, opset_import: ["": 20]> g (float[1,3,{2 * size},{2 * size}] x) => (float[1,10] y) {{
        c0 = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w0, b0)  r0 = Relu (c0)"""
    shapes = {"w0": (channels, 3, 3, 3), "b0": (channels,), "w": (channels, 10), "b": (10,)}
    for i in range(1, count):
        text += f" c{i} = Conv <pads = [1, 1, 1, 1]> (r{i - 1}, w{i}, b{i})  r{i} = Relu (c{i})"
        shapes.update({f"w{i}": (channels, channels, 3, 3), f"b{i}": (channels,)})
    model = parser.parse_model(text + f" p = GlobalAveragePool (r{count - 1})  f = Flatten (p)  y = Gemm (f, w, b) }}")
    model.graph.initializer.extend(numpy_helper.from_array(np.zeros(shape, np.float32), each)
                                   for each, shape in shapes.items())
    return name, model


def quantized(model, way, inputs):
    # pylint: disable-next=import-outside-toplevel
    from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static

    class Reader(CalibrationDataReader):
        rows = iter([dict(inputs)])

        def get_next(self):
            return next(self.rows, None)

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder, each)) for each in ("model.onnx", "quantized.onnx")]
        onnx.save(model, paths[0])
        if way == "dynamic":
            quantize_dynamic(*paths)
        else:
            quantize_static(*paths, Reader(), per_channel=True)
        return onnx.load(paths[1])


def random_weights(model, rng):
    """Puts numbers in place of constants: of norms and of factors along channels around 1, else of a size that keeps results."""
    graph = model.graph
    readers = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, i))
    shapes = {each.name: numpy_helper.to_array(each) for each in graph.initializer if each.data_type == onnx.TensorProto.INT64}
    made = [node for node in graph.node if node.op_type == "ConstantOfShape" and node.input[0] in shapes]
    found = {each.name: list(each.dims) for each in graph.initializer if each.data_type == FLOAT and each.dims
             and each.name != "mask"}
    found.update((node.output[0], [int(size) for size in shapes[node.input[0]]]) for node in made)
    for name, shape in found.items():
        node, i = readers.get(name, [(None, 0)])[0]
        while node is not None and node.op_type in ("Unsqueeze", "Reshape", "Transpose"):
            node, i = readers.get(node.output[0], [(None, 0)])[0]
        kind = "" if node is None else node.op_type
        if kind in ("Conv", "Gemm", "MatMul") and i == 1:
            by_rows = kind == "Conv" or any(each.name == "transB" and each.i for each in node.attribute)
            fan = int(np.prod(shape[1:])) if by_rows else shape[0]
            # Of matrices little, or a softmax at the end would leave 0 and 1 to compare.
            array = rng.standard_normal(shape) * ((0.01 if kind == "Gemm" else 2) / fan) ** 0.5
        elif kind == "Mul" or (kind.endswith("Normalization") and i in (1, 4)):
            # Scales are small, so that sums of many layers do not grow.
            array = rng.uniform(*((0.2, 0.6) if kind == "BatchNormalization" and i == 1 else (0.7, 1.3)), shape)
        else:
            array = rng.standard_normal(shape) * 0.1
        for each in [each for each in graph.initializer if each.name == name]:
            graph.initializer.remove(each)
        graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    for node in made:
        graph.node.remove(node)
    return model


def timed(run, seconds=0.0):
    start = time.perf_counter()
    calls = 0
    while True:
        run()
        calls += 1
        passed = time.perf_counter() - start
        if passed >= seconds:
            return passed / calls


def cell(times):
    low, high = np.quantile(times, [0.1, 0.9]) * 1e3
    return f"{statistics.median(times) * 1e3:.2f} ({low:.2f} to {high:.2f})"


def input_of(each, rng):
    tensor = each.type.tensor_type
    shape = [d.dim_value for d in tensor.shape.dim]
    if tensor.elem_type == FLOAT:
        return rng.random(shape, dtype=np.float32)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return np.ones(shape, dtype) if "mask" in each.name else rng.integers(0, 50, shape).astype(dtype)


def measure(name, model, options):
    rng = np.random.default_rng(1)
    if not options.models:
        random_weights(model, rng)
    known = {each.name for each in model.graph.initializer}
    given = [each for each in model.graph.input if each.name not in known]
    inputs = [input_of(each, rng) for each in given]
    feed = {each.name: array for each, array in zip(given, inputs)}
    if options.quantize:
        model = quantized(model, options.quantize, feed)
    start = time.perf_counter()
    program = morello.onnx.compile(model, effort=options.effort, threads=THREADS,
                                   **({"isa": options.isa} if options.isa else {}))
    compiled = time.perf_counter() - start
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = THREADS, 1
    settings.log_severity_level = 3
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter() - start
    ours, theirs = program(*inputs), session.run(None, feed)
    error = max(float(np.abs(a - b).max() / np.ptp(b)) for a, b in zip(ours, theirs))
    times = [], []
    for _ in range(options.rounds):
        for mine, run in zip(times, (lambda: program(*inputs), lambda: session.run(None, feed))):
            if THREADS > 1:
                time.sleep(0.2)
                timed(run)
            mine.append(timed(run, 0.02 if THREADS == 1 else 0.2))
    ratio = statistics.median(times[1]) / statistics.median(times[0])
    print(f"| {name} | {len(program.specs)} | {compiled:.1f} ({loaded:.2f}) | {cell(times[0])} | {cell(times[1])} | {error:.1e} "
          f"| {ratio:.2f} |", flush=True)
    if options.steps:
        for kernel, seconds in sorted(program.profile(*inputs), key=lambda each: -each[1]):
            print(f"    {seconds * 1e3:.3f} ms  {kernel.spec}")
    return ratio, error


def main():
    arguments = argparse.ArgumentParser(description="Whole ONNX models beside ONNX Runtime.")
    arguments.add_argument("models", nargs="*")
    arguments.add_argument("--filter", default="", help="only models whose names contain this")
    arguments.add_argument("--effort", default="quick")
    arguments.add_argument("--isa")
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--steps", action="store_true")
    arguments.add_argument("--quantize", choices=["dynamic", "static"])
    options = arguments.parse_args()
    models = [(pathlib.Path(path).stem, onnx.load(path)) for path in options.models] or [
        *([] if options.quantize else light_models()),
        convolutions("5 convolutions, 56x56x64", 56, 64, 5), convolutions("5 convolutions, 14x14x256", 14, 256, 5),
        transformer("encoder, 2 layers, 128x256", 128, 256, 4, 1024, 2, False),
        transformer("encoder, 2 layers, 128x768", 128, 768, 12, 3072, 2, False),
        transformer("decoder, 2 layers, 64x768", 64, 768, 12, 3072, 2, True)]
    print("| model | kernels | compiled, s (ONNX Runtime) | morello, ms | ONNX Runtime, ms | difference | ratio |")
    print("|---|---|---|---|---|---|---|")
    results = []
    for name, model in models:
        if options.filter not in name:
            continue
        try:
            results.append(measure(name, model, options))
        except morello.Error as error:
            print(f"| {name} | refused: {error} | | | | | |", flush=True)
            results.append((0.0, np.inf))
    if not results:
        sys.exit("no such model")
    ratios = [ratio for ratio, _ in results if ratio > 0]
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    sys.exit(any(not error < (0.1 if options.quantize else 1e-3) for _, error in results))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Where parts of concatenations are written."""
import random

import numpy as np
import pytest

import morello

onnx = pytest.importorskip("onnx")
import morello.onnx  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from onnx import TensorProto  # noqa: E402  pylint: disable=wrong-import-position
from onnx_models import check, info, make, model_of  # noqa: E402  pylint: disable=wrong-import-position


def count(program, word):
    return sum(word in str(spec) for spec in program.specs)


def both_orders(model, *arrays):
    """Programs whose channels are the slowest axis, and the fastest."""
    from morello.onnx import _compiled  # pylint: disable=import-outside-toplevel
    from morello.sketch import Sketch
    from morello.writer import Writer
    sketch = Sketch()
    _compiled(model, {}, {}, sketch)
    want = onnx.reference.ReferenceEvaluator(model).run(None, dict(zip([x.name for x in model.graph.input], arrays)))
    for last in (False, True):
        program = _compiled(model, {}, {}, Writer({"effort": "quick"}, last, {}, sketch.plan))
        for a, b in zip(program(*arrays), want):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
        yield program


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_dense_block_copies_nothing_and_computes_nothing_twice(floats, growing, batch):
    nodes, weights, channels = [make("Conv", ["x", "w0"], ["x0"])], [("w0", floats(8, 3, 1, 1))], 8
    last = "x0"
    for i in range(1, 5):
        nodes += [make("Relu", [last], [f"r{i}"]), make("Conv", [f"r{i}", f"w{i}"], [f"x{i}"], pads=[1, 1, 1, 1])]
        weights.append((f"w{i}", floats(4, channels, 3, 3) / 9))
        channels += 4
        parts = [last, f"x{i}"] if growing else [f"x{j}" for j in range(i + 1)]
        last = f"c{i}"
        nodes.append(make("Concat", parts, [last], axis=1))
    nodes.append(make("GlobalAveragePool", [last], ["y"]))
    model = model_of(nodes, [info("x", [batch, 3, 10, 10])], [info("y", [batch, channels, 1, 1])], weights)
    for program in both_orders(model, floats(batch, 3, 10, 10)):
        assert count(program, "conv2d") == 5 and count(program, "move") == 0, [str(spec) for spec in program.specs]
        whole = 4 * batch * channels * 100
        assert whole <= program.workspace_size < 3 * whole


def test_a_part_that_others_read_is_written_once(floats):
    nodes = [make("Conv", ["x", "w"], ["a"]), make("Conv", ["a", "v"], ["b"], pads=[1, 1, 1, 1]),
             make("Concat", ["b", "a"], ["c"], axis=1), make("Relu", ["c"], ["y"])]
    model = model_of(nodes, [info("x", [2, 3, 9, 9])], [info("y", [2, 14, 9, 9])],
                     [("w", floats(8, 3, 1, 1)), ("v", floats(6, 8, 3, 3) / 8)])
    for program in both_orders(model, floats(2, 3, 9, 9)):
        assert len(program.specs) == 3 and count(program, "conv2d") == 2 and count(program, "move") == 0


def test_parts_that_are_all_of_a_value_are_where_it_is(floats):
    nodes = [make("Conv", ["x", "w"], ["a"]), make("Split", ["a"], ["l", "r"], axis=1, num_outputs=2),
             make("Conv", ["r", "v"], ["b"], pads=[1, 1, 1, 1]), make("Conv", ["b", "v"], ["d"], pads=[1, 1, 1, 1]),
             make("Concat", ["l", "r", "b", "d"], ["c"], axis=1), make("Conv", ["c", "u"], ["y"])]
    model = model_of(nodes, [info("x", [2, 3, 9, 9])], [info("y", [2, 5, 9, 9])],
                     [("w", floats(12, 3, 1, 1)), ("v", floats(6, 6, 3, 3) / 8), ("u", floats(5, 24, 1, 1))])
    for program in both_orders(model, floats(2, 3, 9, 9)):
        assert len(program.specs) == 4 and count(program, "move") == 0, [str(spec) for spec in program.specs]
    nodes[4] = make("Concat", ["r", "l", "b", "d"], ["c"], axis=1)  # another order
    for program in both_orders(model_of(nodes, model.graph.input, model.graph.output,
                                        [(x.name, onnx.numpy_helper.to_array(x)) for x in model.graph.initializer]),
                               floats(2, 3, 9, 9)):
        assert count(program, "move") == 2


def test_values_that_have_no_room_are_copied(floats):
    x, k = floats(4, 6), floats(4, 2)
    of_x, product = info("x", [4, 6]), make("MatMul", ["x", "w"], ["a"])
    weights = [("w", floats(6, 5)), ("k", k)]
    # An input, a known one, and one twice.
    nodes = [product, make("Concat", ["a", "x", "k", "a"], ["c"], axis=1), make("Neg", ["c"], ["y"])]
    program = check(model_of(nodes, [of_x], [info("y", [4, 18])], weights), x)
    assert count(program, "matmul") == 1 and count(program, "move") == 3
    # In two that have other parts beside it: one of them copies.
    nodes = [product, make("Concat", ["a", "x"], ["c"], axis=1), make("Concat", ["x", "a"], ["d"], axis=1),
             make("Add", ["c", "d"], ["y"])]
    program = check(model_of(nodes, [of_x], [info("y", [4, 11])], weights), x)
    assert count(program, "matmul") == 1 and count(program, "move") == 3


def test_parts_and_concatenations_that_are_outputs(floats):
    nodes = [make("MatMul", ["x", "w"], ["a"]), make("Concat", ["x", "a"], ["c"], axis=1),
             make("MatMul", ["c", "v"], ["b"]), make("Concat", ["c", "b"], ["d"], axis=1)]
    outputs = [info("a", [4, 5]), info("c", [4, 11]), info("d", [4, 14])]
    model = model_of(nodes, [info("x", [4, 6])], outputs, [("w", floats(6, 5)), ("v", floats(11, 3))])
    program = check(model, floats(4, 6))
    first, second = floats(4, 6), floats(4, 6)
    kept = program(first)
    copies = [each.copy() for each in kept]
    program(second)
    assert all(np.array_equal(a, b) for a, b in zip(kept, copies))


def test_inside_along_another_axis(floats):
    nodes = [make("MatMul", ["x", "w"], ["a"]), make("MatMul", ["x", "v"], ["b"]),
             make("Concat", ["a", "b"], ["c"], axis=0), make("MatMul", ["c", "u"], ["d"]),
             make("Concat", ["d", "c"], ["e"], axis=1), make("Relu", ["e"], ["y"])]
    model = model_of(nodes, [info("x", [4, 6])], [info("y", [8, 8])],
                     [("w", floats(6, 5)), ("v", floats(6, 5)), ("u", floats(5, 3))])
    program = check(model, floats(4, 6), kernels=4)
    assert count(program, "move") == 0


def test_halves_are_rounded_in_what_is_concatenated_alone(floats):
    half = TensorProto.FLOAT16
    nodes = [make("MatMul", ["x", "w"], ["a"]), make("Concat", ["a", "x"], ["c"], axis=1), make("Exp", ["a"], ["y"])]
    model = model_of(nodes, [info("x", [8, 6], half)], [info("c", [8, 14], half), info("y", [8, 8], half)],
                     [("w", floats(6, 8).astype(np.float16) / 4)])
    program = check(model, floats(8, 6).astype(np.float16), tolerance=1e-2)
    assert count(program, "matmul") == 1


def test_conversions_change_no_places(floats):
    """A cast of what is kept in f32 is that value once it is stored, and another one before: results are counted alike."""
    half = TensorProto.FLOAT16
    nodes = [make("MatMul", ["x", "w"], ["a"]), make("Tanh", ["a"], ["t"]),
             make("Slice", ["t", "begin", "end", "axis"], ["s"]), make("Cast", ["a"], ["c"], to=TensorProto.FLOAT),
             make("MatMul", ["c", "w1"], ["p"]), make("MatMul", ["c", "w2"], ["q"]),
             make("Slice", ["q", "begin", "end", "axis"], ["v"]), make("Concat", ["p", "q"], ["k"], axis=1)]
    model = model_of(nodes, [info("x", [3, 4], half)], [info("s", [3, 2], half), info("v", [3, 2]), info("k", [3, 12])],
                     [("w", floats(4, 6).astype(np.float16)), ("w1", floats(6, 6)), ("w2", floats(6, 6)),
                      ("begin", np.array([0])), ("end", np.array([2])), ("axis", np.array([1]))])
    check(model, floats(3, 4).astype(np.float16), tolerance=1e-2)


def test_random_models(floats, request):
    """Products, concatenations of any of what there is, parts of them, and some of that as outputs."""
    for seed in range(request.config.getoption("--seed"), request.config.getoption("--seed") + 60):
        rng = random.Random(seed)
        widths, nodes, weights = {"x": 4}, [], []
        for i in range(rng.randint(3, 9)):
            name, kind = f"v{i}", rng.choice(["product", "concat", "concat", "split", "light", "cast"])
            first = rng.choice(list(widths))
            if kind == "product":
                weights.append((f"w{i}", floats(widths[first], 4) / 2))
                nodes.append(make("MatMul", [first, f"w{i}"], [name]))
                widths[name] = 4
            elif kind == "concat":
                grown = [x for node in nodes if node.op_type == "Concat" for x in [list(node.input)]]
                parts = (rng.choice(grown) if grown and rng.random() < 0.5 else []) + \
                    [rng.choice(list(widths)) for _ in range(rng.randint(1, 3))]
                widths[name] = sum(widths[x] for x in parts)
                nodes.append(make("Concat", parts, [name], axis=1))
            elif kind == "split":
                nodes.append(make("Split", [first], [name, name + "b"], axis=1, num_outputs=2))
                widths[name] = widths[name + "b"] = widths[first] // 2
            elif kind == "cast":  # there and back, so that all are f32
                nodes += [make("Cast", [first], [name + "h"], to=TensorProto.FLOAT16),
                          make("Cast", [name + "h"], [name], to=TensorProto.FLOAT)]
                widths[name] = widths[first]
            else:
                nodes.append(make("Tanh", [first], [name]))
                widths[name] = widths[first]
            if widths[name] > 64 or widths[name] % 2:
                nodes.pop()
                widths = {key: width for key, width in widths.items() if not key.startswith(name)}
        made = [x for node in nodes for x in node.output if x in widths]
        outputs = sorted({made[-1], *rng.sample(made, rng.randint(0, 2) if len(made) > 1 else 0)}) if made else []
        if outputs:
            halves = any(node.op_type == "Cast" for node in nodes)
            check(model_of(nodes, [info("x", [3, 4])], [info(x, [3, widths[x]]) for x in outputs], weights), floats(3, 4),
                  tolerance=5e-2 if halves else 1e-4)

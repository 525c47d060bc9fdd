# SPDX-License-Identifier: MIT
"""Models of several operators; each operator by itself is tests/onnx."""
import pathlib
import re

import numpy as np
import pytest

import morello

onnx = pytest.importorskip("onnx")
import morello.onnx  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from onnx import TensorProto, helper  # noqa: E402  pylint: disable=wrong-import-position
from onnx_models import check, info, make, model_of  # noqa: E402  pylint: disable=wrong-import-position


@pytest.fixture
def feed_forward(floats):
    nodes = [make("MatMul", ["x", "w"], ["a"]), make("Add", ["a", "b"], ["c"]),
             make("Relu", ["c"], ["d"]), make("Gemm", ["d", "v", "e"], ["y"], transB=1)]
    return model_of(nodes, [info("x", [8, 16])], [info("y", [8, 4])],
                    [("w", floats(16, 32)), ("b", floats(32)), ("v", floats(4, 32)), ("e", floats(4))])


def test_one_spec(feed_forward, floats):
    program = check(feed_forward, floats(8, 16), kernels=1)
    assert program.inputs == ("x",) and len(program.kernels) == 1


def test_a_file(feed_forward, floats, tmp_path):
    onnx.save(feed_forward, tmp_path / "m.onnx")
    x = floats(8, 16)
    assert np.array_equal(morello.onnx.compile(tmp_path / "m.onnx")(x)[0], morello.onnx.compile(feed_forward)(x)[0])


def test_inputs_of_any_order(feed_forward, floats):
    program, x = morello.onnx.compile(feed_forward), floats(16, 8)
    assert np.array_equal(program(x.T)[0], program(x.T.copy())[0])
    with pytest.raises(TypeError, match=r"x: float64\[8, 16\], where the program reads float32"):
        program(x.T.astype(np.float64))
    with pytest.raises(TypeError, match="0 inputs, of 1: x"):
        program()


def test_a_long_chain_is_cut(floats):
    nodes = [make("Tanh" if i % 2 else "Sigmoid", [f"x{i}"], [f"x{i + 1}"]) for i in range(40)]
    program = check(model_of(nodes, [info("x0", [4, 5])], [info("x40", [4, 5])]), floats(4, 5))
    assert 1 < len(program.specs) < 6


def test_shapes_are_computed_ahead(floats):
    nodes = [make("Shape", ["x"], ["s"], start=0, end=1), make("Concat", ["s", "m"], ["t"], axis=0),
             make("Reshape", ["x", "t"], ["r"]), make("Softmax", ["r"], ["y"])]
    check(model_of(nodes, [info("x", [3, 4, 5])], [info("y", [3, 20])], [("m", np.array([-1], np.int64))]),
          floats(3, 4, 5), kernels=1)


def test_constants_take_the_place_of_inputs(floats):
    nodes = [make("Reshape", ["x", "s"], ["r"]), make("Neg", ["r"], ["y"])]
    model = model_of(nodes, [info("x", [3, 4]), info("s", [2], TensorProto.INT64)], [info("y", [2, 6])])
    x = floats(3, 4)
    program = morello.onnx.compile(model, {"s": np.array([2, 6])})
    assert program.inputs == ("x",) and np.array_equal(program(x)[0], -x.reshape(2, 6))
    with pytest.raises(morello.SpecError, match="Reshape whose shape is known only when it runs"):
        morello.onnx.compile(model)
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.DOUBLE
    with pytest.raises(morello.SpecError, match="input s: type double: element types are f32, .*, bool and int64"):
        morello.onnx.compile(model)
    with pytest.raises(ValueError, match="no such inputs"):
        morello.onnx.compile(model, {"z": x})


def test_outputs_share_no_memory(floats):
    nodes = [make("Concat", ["x", "x"], ["c"], axis=0), make("Identity", ["c"], ["y"]),
             make("Identity", ["c"], ["z"]), make("Identity", ["x"], ["w"])]
    program = check(model_of(nodes, [info("x", [3, 4])], [info(n, [6, 4]) for n in "yz"] + [info("w", [3, 4])]),
                    x := floats(3, 4))
    y, z, w = program(x)
    assert not any(np.shares_memory(a, b) for a, b in ((y, z), (x, w), (x, y), (y, program(x)[0])))


def test_a_conversion_in_between(floats):
    nodes = [make("QuantizeLinear", ["x", "s", "o"], ["q"]), make("DequantizeLinear", ["q", "s", "o"], ["d"]),
             make("Exp", ["d"], ["y"])]
    check(model_of(nodes, [info("x", [5, 7])], [info("y", [5, 7])],
                   [("s", np.array(0.02, np.float32)), ("o", np.array(3, np.uint8))]), floats(5, 7), kernels=2)


def test_truth_values(rng):
    nodes = [make("Xor", ["a", "b"], ["c"]), make("Not", ["c"], ["y"])]
    check(model_of(nodes, [info("a", [4, 1], TensorProto.BOOL), info("b", [5], TensorProto.BOOL)],
                   [info("y", [4, 5], TensorProto.BOOL)]), rng.integers(0, 2, (4, 1)).astype(bool),
          rng.integers(0, 2, 5).astype(bool), kernels=1)


def test_a_network(floats):
    """Convolutions with a residual, a pool, a norm and a head."""
    nodes = [make("Conv", ["x", "w1", "b1"], ["a"], pads=[1, 1, 1, 1]), make("Relu", ["a"], ["b"]),
             make("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1]), make("Add", ["c", "a"], ["d"]),
             make("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
             make("BatchNormalization", ["e", "g", "h", "m", "v"], ["f"]),
             make("GlobalAveragePool", ["f"], ["i"]), make("Flatten", ["i"], ["j"]),
             make("Gemm", ["j", "w3", "b3"], ["k"]), make("LogSoftmax", ["k"], ["y"])]
    weights = [("w1", floats(8, 3, 3, 3) / 5), ("b1", floats(8)), ("w2", floats(8, 8, 3, 3) / 8), ("g", floats(8)),
               ("h", floats(8)), ("m", floats(8)), ("v", np.abs(floats(8)) + 1), ("w3", floats(8, 10)),
               ("b3", floats(10))]
    check(model_of(nodes, [info("x", [2, 3, 12, 12])], [info("y", [2, 10])], weights), floats(2, 3, 12, 12))


def test_functions_of_a_model(floats):
    body = [make("Constant", [], ["c"], value_float=2.0), make("Mul", ["a", "c"], ["b"])]
    inner = helper.make_function("mine", "twice", ["a"], ["b"], body, [helper.make_opsetid("", 21)])
    graph = helper.make_graph([make("twice", ["x"], ["y"], domain="mine")], "g", [info("x", [3])], [info("y", [3])])
    model = helper.make_model(graph, functions=[inner], ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)])
    check(model, floats(3), kernels=1)


@pytest.mark.parametrize("node, shape, message", [
    (make("Atan", ["x"], ["y"]), [3], "operator Atan"),
    (make("Nothing", ["x"], ["y"], domain="some.where"), [3], "operator Nothing of domain 'some.where'"),
    (make("Relu", ["x"], ["y"]), ["n"], "input x has sizes that the model does not say"),
])
def test_what_cannot_be_said(node, shape, message):
    graph = helper.make_graph([node], "g", [info("x", shape)], [info("y", shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("some.where", 1)])
    with pytest.raises(morello.SpecError, match=re.escape(message)):
        morello.onnx.compile(model)


def test_the_page_has_every_operator():
    page = (pathlib.Path(__file__).parents[3] / "docs/onnx.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.M))
    assert rows == {name: row.text for name, row in morello.onnx.operators().items()}


def test_what_nothing_needs_is_not_computed(floats):
    nodes = [make("Concat", ["x", "x"], ["c"], axis=0), make("Atan", ["c"], ["s"]),
             make("Exp", ["x"], ["y"])]
    check(model_of(nodes, [info("x", [3, 4])], [info("y", [3, 4])]), floats(3, 4), kernels=1)


def test_broadcast_values_are_read_as_they_are_and_as_tensors(floats):
    nodes = [make("Expand", ["x", "s"], ["e"]), make("MatMul", ["e", "w"], ["m"]),
             make("Tanh", ["e"], ["t"]), make("ReduceSum", ["t"], ["r"], keepdims=0)]
    check(model_of(nodes, [info("x", [3, 1]), info("w", [4, 5])], [info("m", [3, 5]), info("t", [3, 4]), info("r", [])],
                   [("s", np.array([3, 4], np.int64))]), floats(3, 1), floats(4, 5))


def test_one_channel(floats):
    """Vectors of one element are numbers: operations on them alone are done ahead."""
    nodes = [make("BatchNormalization", ["x", "g", "h", "m", "v"], ["y"])]
    check(model_of(nodes, [info("x", [2, 1, 5])], [info("y", [2, 1, 5])],
                   [(name, np.abs(floats(1)) + 1) for name in "ghmv"]), floats(2, 1, 5), kernels=1)


def test_outputs_that_share_work_are_one_kernel(floats):
    nodes = [make("MatMul", ["x", "w"], ["h"]), make("Relu", ["h"], ["r"]), make("Tanh", ["h"], ["t"])]
    check(model_of(nodes, [info("x", [5, 9])], [info(name, [5, 7]) for name in "hrt"], [("w", floats(9, 7))]),
          floats(5, 9), kernels=1)

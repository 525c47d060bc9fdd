# SPDX-License-Identifier: MIT
"""Models that read elements at places which integers name, and integers of 64 bits."""
import numpy as np
import pytest

import morello

pytest.importorskip("onnx")
import morello.onnx  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from onnx import TensorProto  # noqa: E402  pylint: disable=wrong-import-position
from onnx_models import check, info, make, model_of  # noqa: E402  pylint: disable=wrong-import-position

I64 = TensorProto.INT64
CROPS = {"coordinate_transformation_mode": "tf_crop_and_resize", "axes": [2, 3]}


def one(op, shapes, weights=(), types=(), result=TensorProto.FLOAT, names=None, **attributes):
    """A model of one operator: its inputs by name, of these shapes, and weights."""
    inputs = [info(name, list(shape), dict(types).get(name, TensorProto.FLOAT)) for name, shape in shapes.items()]
    node = make(op, names or [*shapes, *(name for name, _ in weights)], ["y"], **attributes)
    return model_of([node], inputs, [info("y", None, result)], weights)


@pytest.mark.parametrize("shape, axis, ids", [
    ((50, 8), 0, [[3, -1, 0], [49, -50, 7]]), ((50, 8), 1, [7, -8, 7]), ((3, 9, 4), -2, [[8], [-9]]), ((50, 8), 0, 5),
    ((50, 8), 1, -1), ((50,), 0, [2, 2])])
def test_gathers_at_places_that_are_given(floats, shape, axis, ids):
    ids = np.array(ids, np.int64)
    check(one("Gather", {"x": shape, "i": ids.shape}, types=[("i", I64)], axis=axis), floats(*shape), ids, kernels=1,
          tolerance=0)


@pytest.mark.parametrize("axis, ids, gathers", [
    (0, 3, 0), (0, [1, 3, 5], 0), (0, [[2, 2], [2, 2]], 0), (1, [0, 0], 0), (1, [-3, -2, -1], 0), (0, [4, 4, 4], 0),
    (0, [[0, 2], [4, 6]], 0), (1, [0], 0),
    (0, [3, 1, 6], 1), (1, [4, 3, 2], 1), (0, [[-1, 0], [1, 5]], 1), (0, [], 0)])
def test_gathers_at_places_that_are_known(floats, axis, ids, gathers):
    """Views, where they are at equal distances."""
    nodes = [make("Gather", ["x", "i"], ["g"], axis=axis), make("Tanh", ["g"], ["y"])]
    model = model_of(nodes[:1] if ids == [] else nodes, [info("x", [7, 5])], [info("g" if ids == [] else "y", None)],
                     [("i", np.array(ids, np.int64))])
    program = check(model, floats(7, 5))
    assert sum("gather" in str(spec) for spec in program.specs) == gathers


@pytest.mark.parametrize("shape, ids, axis", [
    ((6, 5), (6, 9), 1), ((6, 5), (3, 4), 1), ((6, 5), (2, 5), 0), ((6, 5, 4), (4, 7, 2), -2)])
@pytest.mark.parametrize("known", [True, False])
def test_gathers_of_elements(floats, rng, shape, ids, axis, known):
    """Other axes of the index may be shorter than those of what is read."""
    places = rng.integers(-shape[axis], shape[axis], ids)
    x = floats(*shape)
    node = make("GatherElements", ["x", "i"], ["y"], axis=axis)
    inputs = [info("x", list(shape))] + [info("i", list(ids), I64)] * (not known)
    program = morello.onnx.compile(model_of([node], inputs, [info("y", None)], [("i", places)] * known))
    got, = program(*([x] if known else [x, places]))
    part = x[tuple(slice(None if i == axis % x.ndim else size) for i, size in enumerate(ids))]
    assert np.array_equal(got, np.take_along_axis(part, places, axis))


@pytest.mark.parametrize("count, batches", [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1)])
@pytest.mark.parametrize("known", [True, False])
def test_gathers_along_several_axes(floats, rng, count, batches, known):
    shape = (4, 5, 6)
    ids = np.stack([rng.integers(-size, size, (4, 3)) for size in shape[batches:batches + count]], axis=-1)
    x = floats(*shape)
    model = one("GatherND", {"x": shape} if known else {"x": shape, "i": ids.shape}, [("i", ids)] * known,
                types=[("i", I64)], batch_dims=batches)
    program = check(model, *([x] if known else [x, ids]), tolerance=0)
    wanted = x[tuple(np.moveaxis(ids, -1, 0))] if not batches else \
        np.stack([part[tuple(np.moveaxis(each, -1, 0))] for part, each in zip(x, ids)])
    assert np.array_equal(program(*([x] if known else [x, ids]))[0], wanted)


@pytest.mark.parametrize("index, values, axis", [
    (np.int64, np.array([0, 1], np.float32), -1), (np.int64, np.array([-2, 7], np.int64), 0),
    (np.int32, np.array([3, 100], np.uint8), 1), (np.float32, np.array([0.1, 1e8], np.float32), 1)])
@pytest.mark.parametrize("known", [True, False])
def test_one_hot(index, values, axis, known):
    ids = np.array([[0, 4, -1], [-5, 2, 3]], index)
    from onnx.helper import np_dtype_to_tensor_dtype  # pylint: disable=import-outside-toplevel
    given = {"i": ids.shape} if known else {"i": ids.shape, "v": (2,)}
    model = one("OneHot", given, [("d", np.array(5, np.int64))] + [("v", values)] * known, axis=axis,
                names=["i", "d", "v"], result=np_dtype_to_tensor_dtype(values.dtype),
                types=[("i", np_dtype_to_tensor_dtype(ids.dtype)), ("v", np_dtype_to_tensor_dtype(values.dtype))])
    program = morello.onnx.compile(model)
    got, = program(*([ids] if known else [ids, values]))
    wanted = np.moveaxis(np.where(np.arange(5) == ids[..., None].astype(np.int64) % 5, values[1], values[0]), -1, axis)
    assert got.dtype == values.dtype and np.array_equal(got, wanted)


def test_integers_of_64_bits():
    """Are read and returned as such, and have to fit 32."""
    nodes = [make("Add", ["i", "c"], ["a"]), make("Mul", ["a", "i"], ["y"]), make("Identity", ["i"], ["z"]),
             make("Clip", ["i", "", "m"], ["w"]), make("Cast", ["i"], ["f"], to=TensorProto.FLOAT)]
    model = model_of(nodes, [info("i", [5], I64)], [info("y", [5], I64), info("z", [5], I64), info("w", [5], I64),
                                                    info("f", [5])],
                     [("c", np.arange(5)), ("m", np.array(2 ** 63 - 1))])
    ids = np.array([-3, 0, 7, 40000, -2 ** 31])
    program = check(model, ids // np.array([1, 1, 1, 1, 2 ** 20]), tolerance=0)
    assert np.array_equal(program(ids)[1], ids)
    for wrong, ends in ((2 ** 31, "0 to 2147483648"), (-2 ** 31 - 1, "-2147483649 to 0")):
        with pytest.raises(OverflowError, match=f"^i: integers beyond 32 bits, from {ends}$"):
            program(np.array([0, 0, wrong, 0, 0]))
    with pytest.raises(TypeError, match=r"i: int32\[5\], where the program reads int64\[5\]"):
        program(ids.astype(np.int32))
    large = model_of([make("Add", ["i", "c"], ["y"])], [info("i", [2], I64)], [info("y", [2], I64)],
                     [("c", np.array([1, 2 ** 40]))])
    with pytest.raises(morello.SpecError, match="a tensor of int64 with numbers beyond 32 bits, 1 to 1099511627776"):
        morello.onnx.compile(large)


def test_the_ends_of_64_bits_leave_integers_what_they_are():
    """As torch exports clamp(min=..): the other end is that of int64."""
    nodes = [make("Clip", ["i", "", "m"], ["w"]), make("Min", ["i", "m"], ["y"])]
    model = model_of(nodes, [info("i", [3], I64)], [info("w", [3], I64), info("y", [3], I64)], [("m", np.array(2 ** 63 - 1))])
    check(model, np.array([2 ** 24 + 1, -2 ** 31 + 1, 2 ** 31 - 1]), tolerance=0)


def test_constants_of_64_bits_fill_exactly(floats):
    nodes = [make("Pad", ["i", "p", "c"], ["y"])]
    weights = [("p", np.array([1, 2]))]
    model = model_of(nodes, [info("i", [3], I64)], [info("y", [6], I64)], [*weights, ("c", np.array(1234567891))])
    check(model, np.array([1, 2, 3]), tolerance=0)
    model = model_of(nodes, [info("i", [3], I64)], [info("y", [6], I64)], [*weights, ("c", np.array(2 ** 40))])
    with pytest.raises(morello.SpecError, match="beyond 32 bits"):
        morello.onnx.compile(model)
    hot = model_of([make("OneHot", ["i", "d", "v"], ["y"])], [info("i", [3], I64)], [info("y", [3, 4], I64)],
                   [("d", np.array(4)), ("v", np.array([0, 2 ** 40]))])
    with pytest.raises(morello.SpecError, match="beyond 32 bits"):
        morello.onnx.compile(hot)


def test_places_outside_of_one_axis_are_the_nearest_of_that_axis(floats):
    x = floats(4, 5)
    model = model_of([make("GatherND", ["x", "i"], ["y"])], [info("x", [4, 5]), info("i", [2, 2], I64)], [info("y", [2])])
    got, = morello.onnx.compile(model)(x, np.array([[0, 7], [9, 1]]))
    assert np.array_equal(got, [x[0, 4], x[3, 1]])
    known = model_of([make("GatherND", ["x", "i"], ["y"])], [info("x", [4, 5])], [info("y", [1])], [("i", np.array([[0, 7]]))])
    with pytest.raises(morello.SpecError, match="GatherND of places 7 to 7, of 5"):
        morello.onnx.compile(known)


def language_model(floats, words, length, width, heads):
    """Embeddings of words and positions, a norm, masked attention with a residual, and the first row's scores."""
    weights = [("words", floats(words, width)), ("places", floats(64, width)), ("g", floats(width)), ("b", floats(width)),
               ("w", floats(width, 3 * width) / 4), ("o", floats(width, width) / 4), ("k", floats(width, 3)),
               ("three", np.array([width] * 3)), ("split", np.array([0, 0, heads, width // heads])),
               ("flat", np.array([0, 0, width])), ("scale", np.array((width // heads) ** -0.5, np.float32)),
               ("first", np.array(0)), ("axes", np.array([1, 2])), ("big", np.array(-1e4, np.float32)),
               ("positions", np.arange(length)[None]), ("unit", np.array(1, np.float32))]
    nodes = [make("Gather", ["words", "ids"], ["e"]), make("Gather", ["places", "positions"], ["p"]),
             make("Add", ["e", "p"], ["s"]), make("LayerNormalization", ["s", "g", "b"], ["x"]),
             make("MatMul", ["x", "w"], ["qkv"]), make("Split", ["qkv", "three"], ["q0", "k0", "v0"], axis=-1)]
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [make("Reshape", [f"{name}0", "split"], [f"{name}1"]),
                  make("Transpose", [f"{name}1"], [f"{name}2"], perm=order)]
    nodes += [make("MatMul", ["q2", "k2"], ["t"]), make("Mul", ["t", "scale"], ["u"]),
              make("Unsqueeze", ["mask", "axes"], ["m"]), make("Cast", ["m"], ["n"], to=TensorProto.FLOAT),
              make("Sub", ["unit", "n"], ["less"]), make("Mul", ["less", "big"], ["far"]),
              make("Add", ["u", "far"], ["z"]), make("Softmax", ["z"], ["a"]), make("MatMul", ["a", "v2"], ["c"]),
              make("Transpose", ["c"], ["d"], perm=[0, 2, 1, 3]), make("Reshape", ["d", "flat"], ["f"]),
              make("MatMul", ["f", "o"], ["h"]), make("Add", ["h", "x"], ["y"]),
              make("Gather", ["y", "first"], ["r"], axis=1), make("MatMul", ["r", "k"], ["score"])]
    return model_of(nodes, [info("ids", [1, length], I64), info("mask", [1, length], I64)],
                    [info("y", [1, length, width]), info("score", [1, 3])], weights)


def test_a_language_model(floats, rng):
    ids, mask = rng.integers(0, 40, (1, 12)), np.array([[1] * 9 + [0] * 3])
    program = check(language_model(floats, 40, 12, 16, 2), ids, mask)
    assert program.inputs == ("ids", "mask")
    assert any("gather" in str(spec) and "layernorm" in str(spec) for spec in program.specs), program.specs


@pytest.mark.parametrize("op, shape, weights, attributes", [
    ("Slice", (6, 7, 3), {"starts": [-1, 5], "ends": [-2 ** 63, 0], "axes": [0, 1], "steps": [-1, -2]}, {}),
    ("Slice", (6, 7), {"starts": [3], "ends": [1], "axes": [1], "steps": [-3]}, {}),
    ("Pad", (4, 5, 3), {"pads": [2, 0, 1, 3, 0, 0]}, {"mode": "reflect"}),
    ("Pad", (4, 5), {"pads": [1, 2, 0, 3]}, {"mode": "edge"}), ("Pad", (1, 5), {"pads": [1, 2, 2, 3]}, {"mode": "edge"}),
    ("Pad", (4, 5), {"pads": [4, 0, 9, 1]}, {"mode": "wrap"}),
    ("Resize", (1, 2, 5, 7), {"roi": [], "scales": [], "sizes": [1, 2, 8, 3]}, {"mode": "nearest"}),
    ("Resize", (1, 2, 6, 5), {"roi": [0.1, 0.3, 1.3, 0.8], "scales": [], "sizes": [4, 3]}, {
        "mode": "nearest", "extrapolation_value": 7.0, **CROPS}),
    ("Resize", (1, 2, 6, 5), {"roi": [0.9, -0.2, 0.2, 1.5], "scales": [], "sizes": [5, 8]}, {
        "mode": "linear", "extrapolation_value": -3.0, **CROPS}),
    ("ReverseSequence", (5, 4, 3), {"lengths": [2, 5, 1, 4]}, {}),
    ("ReverseSequence", (4, 5), {"lengths": [2, 5, 1, 4]}, {"time_axis": 1, "batch_axis": 0}),
    ("Trilu", (2, 5, 4), {"k": -1}, {"upper": 0}), ("Trilu", (4, 6), {}, {}),
    ("ArgMax", (6, 7, 3), {}, {"axis": 1}), ("ArgMin", (6, 7), {}, {"axis": -2, "keepdims": 0, "select_last_index": 1}),
])
def test_places_that_an_operator_implies(floats, op, shape, weights, attributes):
    arrays = {name: np.array(x, np.float32 if name in ("roi", "scales") else np.int64) for name, x in weights.items()}
    result = I64 if op.startswith("Arg") else TensorProto.FLOAT
    program = check(one(op, {"x": shape}, arrays.items(), result=result, **attributes), x := floats(*shape))
    if op in ("ArgMax", "ArgMin"):  # the first, or the last, of several
        check(one(op, {"x": shape}, result=result, **attributes), np.sign(x))
        x[:, 1::2] = np.nan
        got, = program(x)
        if not attributes.get("select_last_index"):
            assert np.array_equal(got.squeeze(), np.argmax(x, attributes["axis"]))
        else:
            assert np.array_equal(got, len(x) - 1 - np.argmin(x[::-1], attributes["axis"]))
    assert len(program.specs) < 3


def test_elements_of_constants(floats, rng):
    """That are gathered when the model is compiled, other axes of the index being shorter."""
    table, ids = floats(6, 5), rng.integers(-5, 5, (4, 7))
    nodes = [make("GatherElements", ["t", "i"], ["g"], axis=1), make("Mul", ["x", "g"], ["y"])]
    program = morello.onnx.compile(model_of(nodes, [info("x", [4, 7])], [info("y", [4, 7])], [("t", table), ("i", ids)]))
    x = floats(4, 7)
    assert np.array_equal(program(x)[0], x * np.take_along_axis(table[:4], ids, 1)) and len(program.specs) == 1

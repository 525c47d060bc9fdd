# SPDX-License-Identifier: MIT
"""Models of integers that stand for numbers: products are those of the integers, by instructions for bytes."""
import numpy as np
import pytest

pytest.importorskip("onnx")
import morello.onnx  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from onnx import TensorProto  # noqa: E402  pylint: disable=wrong-import-position
from onnx.reference import ReferenceEvaluator  # noqa: E402  pylint: disable=wrong-import-position
from onnx_models import check, info, make, model_of  # noqa: E402  pylint: disable=wrong-import-position

U8, I8, I32 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32


@pytest.mark.parametrize("zero", ["none", "known", "row by row", "given"])
def test_bytes_are_multiplied_as_they_are(rng, zero):
    """Exactly, extremes included: (x - zero) w by x w and the sums of w."""
    x = rng.choice(np.array([0, 1, 127, 128, 255], np.uint8), (5, 300))
    w = rng.choice(np.array([-128, -127, 0, 1, 127], np.int8), (300, 17))
    zeros = {"known": np.array(255, np.uint8), "row by row": rng.integers(0, 256, 5).astype(np.uint8),
             "given": np.array(3, np.uint8), "none": np.array(0, np.uint8)}[zero]
    node = make("MatMulInteger", ["x", "w"] + ["z"] * (zero != "none"), ["y"])
    model = model_of([node], [info("x", [5, 300], U8)] + [info("z", [], U8)] * (zero == "given"),
                     [info("y", [5, 17], I32)], [("w", w)] + [("z", zeros)] * (zero in ("known", "row by row")))
    program = morello.onnx.compile(model)
    got, = program(x, zeros) if zero == "given" else program(x)
    less = zeros.astype(np.int64).reshape(-1, 1)
    assert np.array_equal(got, (x.astype(np.int64) - less) @ w.astype(np.int64))
    text, = map(str, program.specs)
    assert "u8[5,300]" in text and "i8[300,17]{*}" in text


def test_what_both_factors_lack_is_subtracted_first(rng):
    x, w = rng.integers(0, 256, (4, 9)).astype(np.uint8), rng.integers(-128, 128, (9, 6)).astype(np.int8)
    zeros = rng.integers(-128, 128, 6).astype(np.int8)
    model = model_of([make("MatMulInteger", ["x", "w", "a", "b"], ["y"])], [info("x", [4, 9], U8)], [info("y", [4, 6], I32)],
                     [("w", w), ("a", np.array(7, np.uint8)), ("b", zeros)])
    got, = morello.onnx.compile(model)(x)
    assert np.array_equal(got, (x.astype(np.int32) - 7) @ (w.astype(np.int32) - zeros))


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 2, 1, 0]])
@pytest.mark.parametrize("known", [True, False])
def test_convolutions_of_bytes_read_the_zero_point_past_ends(rng, pads, known):
    x, w = rng.integers(0, 256, (2, 3, 6, 7)).astype(np.uint8), rng.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    zero = np.array(200, np.uint8)
    model = model_of([make("ConvInteger", ["x", "w", "z"], ["y"], pads=pads)],
                     [info("x", list(x.shape), U8)] + [info("z", [], U8)] * (not known), [info("y", None, I32)],
                     [("w", w)] + [("z", zero)] * known)
    got, = morello.onnx.compile(model)(*([x] if known else [x, zero]))
    image = np.pad(x.astype(np.int64) - 200, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
    assert np.array_equal(got, np.einsum("nchwij,kcij->nkhw", windows, w.astype(np.int64)))


def quantized(name, array, scale, axis=None):
    """Nodes and weights of what bytes stand for."""
    shape = [-1 if i == axis else 1 for i in range(array.ndim)] if axis is not None else [1] * array.ndim
    bytes_of = np.clip(np.rint(array / np.reshape(scale, shape)), -127, 127).astype(np.int8)
    node = make("DequantizeLinear", [f"{name}_q", f"{name}_s"], [name], **({} if axis is None else {"axis": axis}))
    return node, [(f"{name}_q", bytes_of), (f"{name}_s", np.asarray(scale, np.float32))]


def near(model, x, step):
    """What rounds to a neighbour where sums in f32 do not is rare, and off by one step."""
    program = morello.onnx.compile(model)
    got, want = program(x)[0], ReferenceEvaluator(model).run(None, {"x": x})[0]
    off = np.abs(got - want) / step
    assert off.max() < 1.01 and (off > 0.01).mean() < 0.02
    return [str(spec) for spec in program.specs]


def scales(weights, zero):
    zero = np.array(zero, np.int8 if zero < 0 else np.uint8)
    return weights + [("s", np.array(0.02, np.float32)), ("z", zero), ("t", np.array(0.1, np.float32)),
                      ("o", np.array(120, np.uint8))]


@pytest.mark.parametrize("zero", [131, -3])
def test_numbers_that_bytes_stand_for_are_multiplied_as_bytes(floats, zero):
    node, weights = quantized("w", floats(24, 40), np.abs(floats(24)) / 30 + 0.01, axis=0)
    nodes = [make("QuantizeLinear", ["x", "s", "z"], ["q"]), make("DequantizeLinear", ["q", "s", "z"], ["d"]), node,
             make("Gemm", ["d", "w", "b"], ["g"], transB=1), make("QuantizeLinear", ["g", "t", "o"], ["p"]),
             make("DequantizeLinear", ["p", "t", "o"], ["y"])]
    model = model_of(nodes, [info("x", [8, 40])], [info("y", [8, 24])], scales(weights, zero) + [("b", floats(24))])
    texts = near(model, floats(8, 40), 0.1)
    assert any("matmul u8[8,40] i8[40,24]{*}" in text for text in texts), texts


@pytest.mark.parametrize("zero", [0, 90, -128, -7])
def test_convolutions_of_what_bytes_stand_for(floats, zero):
    node, weights = quantized("w", floats(6, 4, 3, 3), np.abs(floats(6)) / 30 + 0.01, axis=0)
    nodes = [make("QuantizeLinear", ["x", "s", "z"], ["q"]), make("DequantizeLinear", ["q", "s", "z"], ["d"]), node,
             make("Conv", ["d", "w"], ["g"], pads=[1, 1, 1, 1]), make("QuantizeLinear", ["g", "t", "o"], ["p"]),
             make("DequantizeLinear", ["p", "t", "o"], ["y"])]
    model = model_of(nodes, [info("x", [1, 4, 9, 10])], [info("y", [1, 6, 9, 10])], scales(weights, zero))
    texts = near(model, floats(1, 4, 9, 10), 0.1)
    assert any("conv2d u8" in text and "i8[6,4,3,3]" in text for text in texts), texts


def test_weights_alone_that_bytes_stand_for_stay_bytes(floats):
    node, weights = quantized("w", floats(40, 24), np.abs(floats(24)) / 30 + 0.01, axis=1)
    program = check(model_of([node, make("MatMul", ["x", "w"], ["y"])], [info("x", [3, 40])], [info("y", [3, 24])], weights),
                    floats(3, 40), kernels=1)
    assert "matmul f32[3,40] i8[40,24]{*} * f32[1,24]" in str(program.specs[0])


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8, np.uint8])
@pytest.mark.parametrize("operator, settings", [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})])
@pytest.mark.parametrize("known", [False, True])
def test_divisions_of_integers_are_exact(rng, dtype, operator, settings, known):
    """Extremes, and divisors of 0, of which ONNX's own evaluator makes 0, included. known: one divisor for all."""
    element, limits = TensorProto.DataType.Value(np.dtype(dtype).name.upper()), np.iinfo(np.int32 if dtype == np.int64 else dtype)
    a = np.concatenate([rng.integers(limits.min, limits.max, 3000, endpoint=True), rng.integers(0, 99, 1000)]).astype(dtype)
    b = np.concatenate([rng.integers(limits.min // 2 ** 20, 100, 2000), rng.integers(limits.min, limits.max, 2000)]).astype(dtype)
    a[:20] = limits.min
    b[:10], b[10:20] = 0, 1 if dtype == np.int64 or not limits.min else -1  # of int64, 2^31 is no overflow there
    if known:
        b = np.array(7, dtype)
    model = model_of([make(operator, ["a", "b"], ["y"], **settings)],
                     [info("a", [4000], element)] + [info("b", [4000], element)] * (not known), [info("y", [4000], element)],
                     [("b", b)] * known)
    got, = morello.onnx.compile(model)(*([a] if known else [a, b]))
    want, = ReferenceEvaluator(model).run(None, {"a": a} if known else {"a": a, "b": b})
    assert got.dtype == want.dtype and np.array_equal(got, want)


def test_divisions_of_computed_bytes():
    """What is computed from bytes may be more than bytes have, and more than f32 has digits for."""
    x = np.arange(2, 128, dtype=np.int8)
    nodes = [make("Mul", ["x", "x"], ["a"]), make("Mul", ["a", "a"], ["b"]), make("Mul", ["b", "x"], ["c"]),
             make("Mod", ["c", "n"], ["y"])]
    model = model_of(nodes, [info("x", [126], I8)], [info("y", [126], I8)], [("n", np.array(101, np.int8))])
    with np.errstate(over="ignore"):
        want = x.astype(np.int64) ** 5
    fits = want < 2 ** 31
    got, = morello.onnx.compile(model)(x)
    assert fits.sum() > 50 and np.array_equal(got[fits], want[fits] % 101)


def test_what_is_divided_is_computed_once(rng):
    a, b = rng.integers(0, 256, (4, 30)).astype(np.uint8), rng.integers(0, 256, (30, 5)).astype(np.uint8)
    nodes = [make("MatMulInteger", ["a", "b"], ["c"]), make("Div", ["c", "d"], ["e"]), make("Mod", ["c", "d"], ["f"]),
             make("Add", ["e", "f"], ["y"])]
    model = model_of(nodes, [info("a", [4, 30], U8), info("b", [30, 5], U8), info("d", [5], I32)], [info("y", [4, 5], I32)])
    d = np.array([3, -7, 1000, 1, -1], np.int32)
    assert len([spec for spec in check(model, a, b, d, tolerance=0).specs if "matmul" in str(spec)]) == 1


@pytest.mark.parametrize("axes, settings", [([0], {}), ([-1], {"keepdims": 0}), ([2, 0], {}), (None, {}), (None, {"keepdims": 0}),
                                            (None, {"noop_with_empty_axes": 1}), ([1], {"keepdims": 1})])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_products_of_all_elements(rng, axes, settings, dtype):
    small = rng.choice([1, 2, -1, -3], (5, 3, 7), p=[.6, .1, .2, .1])
    x = rng.uniform(-1.2, 1.2, (5, 3, 7)).astype(dtype) if dtype == np.float32 else small.astype(dtype)
    element = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DataType.Value(np.dtype(dtype).name.upper())
    if dtype == np.int64 and axes is None:
        x = np.sign(x)  # of which no product leaves 32 bits
    node = make("ReduceProd", ["x"] + ["axes"] * (axes is not None), ["y"], **settings)
    model = model_of([node], [info("x", [5, 3, 7], element)], [info("y", None, element)], [("axes", np.array(axes or [], np.int64))] * (axes is not None))
    got, = morello.onnx.compile(model)(x)
    with np.errstate(over="ignore"):
        want, = ReferenceEvaluator(model).run(None, {"x": x})
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert not np.issubdtype(dtype, np.integer) or (got != 0).any()

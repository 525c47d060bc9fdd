# SPDX-License-Identifier: MIT
"""The first few of sorted elements, and their places, in models and in functions of JAX."""
import numpy as np
import pytest

import morello

onnx = pytest.importorskip("onnx")
import morello.onnx  # noqa: E402  pylint: disable=wrong-import-position
from onnx import TensorProto  # noqa: E402  pylint: disable=wrong-import-position
from onnx.reference import ReferenceEvaluator  # noqa: E402  pylint: disable=wrong-import-position
from onnx_models import check, info, make, model_of  # noqa: E402  pylint: disable=wrong-import-position

INFINITE = [np.nan, np.inf, -np.inf, 0, 1]


def top(x, count, **settings):
    element = TensorProto.DataType.Value({"float32": "FLOAT"}.get(x.dtype.name, x.dtype.name.upper()))
    return model_of([make("TopK", ["x", "k"], ["v", "i"], **settings)], [info("x", list(x.shape), element)],
                    [info("v", None, element), info("i", None, TensorProto.INT64)], [("k", np.array([count], np.int64))])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.int8, np.uint8])
@pytest.mark.parametrize("shape, axis", [((9,), 0), ((4, 6), -1), ((4, 6), 0), ((3, 5, 7), 1)])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_first_of_equal_ones_come_first(rng, dtype, shape, axis, largest):
    """Among many equal ones, numbers at the ends of their type, infinities and NaN."""
    limits = np.iinfo(np.int32 if dtype == np.int64 else dtype) if np.issubdtype(dtype, np.integer) else None
    numbers = np.array(INFINITE if limits is None else [limits.min, limits.max, 0, 1], dtype)
    arrays = rng.choice(numbers, shape), rng.integers(0, 4, shape).astype(dtype), np.full(shape, numbers[0])
    for count in (2, shape[axis]):
        model = top(arrays[0], count, axis=axis, largest=largest)
        program = morello.onnx.compile(model)
        for x in arrays:
            values, places = program(x)
            wanted, there = ReferenceEvaluator(model).run(None, {"x": x})
            assert values.dtype == wanted.dtype and places.dtype == there.dtype
            np.testing.assert_array_equal(places, there)
            np.testing.assert_array_equal(values, wanted)


def test_experts_are_chosen(floats):
    """A router: products once, the greatest of them, and their softmax."""
    nodes = [make("MatMul", ["x", "w"], ["l"]), make("TopK", ["l", "k"], ["v", "i"]), make("Softmax", ["v"], ["p"]),
             make("ReduceSum", ["l"], ["s"], keepdims=0)]
    model = model_of(nodes, [info("x", [20, 16])], [info("p", [20, 2]), info("i", [20, 2], TensorProto.INT64), info("s", [])],
                     [("w", floats(16, 32)), ("k", np.array([2], np.int64))])
    specs = [str(spec) for spec in check(model, floats(20, 16)).specs]
    assert sum("matmul" in spec for spec in specs) == 1 and not any(spec.startswith("move") for spec in specs)


@pytest.mark.parametrize("count, shape, message", [
    (65, [3, 70], "the first 65 of 70 elements: valid are at most 64"),
    (5, [3, 4], "the first 5 of axis 1 of .*: valid are 1 to 4"),
])
def test_what_is_not_found(count, shape, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.onnx.compile(top(np.zeros(shape, np.float32), count))


@pytest.mark.parametrize("opset, axis", [(21, -1), (21, 0), (11, 1), (11, 2)])
def test_the_greatest_is_one(rng, opset, axis):
    x = rng.integers(0, 4, (3, 4, 5)).astype(np.float32)
    model = model_of([make("Hardmax", ["x"], ["y"], axis=axis)], [info("x", [3, 4, 5])], [info("y", [3, 4, 5])], opset=opset)
    got, = morello.onnx.compile(model)(x)
    flat = x if opset == 21 else x.reshape(int(np.prod(x.shape[:axis])), -1)  # what ONNX's own evaluator leaves out
    axis = axis if opset == 21 else 1
    want = np.zeros_like(flat)
    np.put_along_axis(want, np.expand_dims(flat.argmax(axis), axis), 1, axis)
    np.testing.assert_array_equal(got, want.reshape(x.shape))


@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("settings", [{}, {"reverse": 1}, {"exclusive": 1}, {"exclusive": 1, "reverse": 1}])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_and_products(rng, operator, dtype, settings, axis):
    x = rng.uniform(0.5, 2, (5, 11)).astype(np.float32) if dtype == np.float32 else rng.integers(1, 4, (5, 11)).astype(dtype)
    if dtype == np.float32:
        x[2, 6] = np.inf  # alone in its row and column
    element = TensorProto.FLOAT if dtype == np.float32 else TensorProto.INT32
    model = model_of([make(operator, ["x", "a"], ["y"], **settings)], [info("x", [5, 11], element)],
                     [info("y", [5, 11], element)], [("a", np.array(axis, np.int64))], opset=26)
    got, = morello.onnx.compile(model)(x)
    y = np.flip(x, axis) if settings.get("reverse") else x
    want = (np.cumsum if operator == "CumSum" else np.cumprod)(y, axis, dtype=dtype)
    if settings.get("exclusive"):
        first = np.full_like(np.take(y, [0], axis), operator == "CumProd")
        want = np.concatenate([first, np.delete(want, -1, axis)], axis)
    np.testing.assert_allclose(got, np.flip(want, axis) if settings.get("reverse") else want, rtol=1e-5)


def test_top_k_of_jax(rng, floats):
    jax = pytest.importorskip("jax")
    for x in (floats(6, 40), rng.choice(np.array(INFINITE, np.float32), (6, 40)),
              rng.integers(-4, 5, (2, 3, 20)).astype(np.int32)):
        for function in (lambda x: jax.lax.top_k(x, 5), lambda x: jax.lax.top_k(x * 2 + 1, 3),
                         lambda x: jax.nn.softmax(jax.lax.top_k(x, 2)[0].astype("float32"))):
            found, wanted = (jax.tree_util.tree_leaves(call(function)(x)) for call in (morello.jit_jax, jax.jit))
            for got, want in zip(found, wanted, strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=1e-6)

# SPDX-License-Identifier: MIT
"""Functions that are written for JAX, against JAX."""
import numpy as np
import pytest

import morello

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def layernorm(x, gamma, beta):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True) + 1e-5) * gamma + beta


@pytest.mark.parametrize("function, shapes", [
    (lambda a, b: jax.nn.relu(a @ b + 1), [(8, 9), (9, 7)]),
    (jax.nn.softmax, [(8, 33)]),
    (lambda q, k, v: jax.nn.softmax(q @ k.T * 0.25) @ v, [(8, 16), (24, 16), (24, 8)]),
    (layernorm, [(8, 32), (32,), (32,)]),
    (lambda x, w: jax.nn.gelu(x @ w), [(4, 8), (8, 12)]),
    (lambda x: jax.nn.gelu(x, approximate=False), [(4, 8)]),
    (lambda x: jax.nn.silu(x) + jax.nn.sigmoid(x), [(4, 8)]),
    (lambda x: jnp.sum(x, axis=0) - jnp.max(x, axis=0) + jnp.min(x, axis=0), [(4, 8)]),
    (lambda x: jnp.transpose(x, (1, 0, 2)), [(2, 3, 4)]),
    (lambda a, b: jnp.einsum("bmk,bnk->bmn", a, b), [(2, 5, 6), (2, 4, 6)]),
    (lambda x: jnp.exp(jnp.tanh(x)) / jnp.sqrt(jnp.abs(x) + 1), [(3, 4)]),
    (lambda x: jnp.sin(x) + jnp.cos(100 * x), [(3, 4)]),
    (lambda x: jnp.clip(x, -1, 1) ** 3 + x ** 0.5, [(3, 4)]),
    (lambda x: jnp.round(x) + jnp.floor(x) + jax.lax.erf(x), [(3, 4)]),
    (lambda x, y: x[:, None] + jnp.squeeze(y.reshape(1, 3)), [(4,), (3,)]),
    (lambda x: x * jnp.float32(2) + jnp.full((4,), 3), [(3, 4)]),
    (lambda x: jax.nn.leaky_relu(x - 1), [(3, 4)]),
    (lambda x: jax.nn.elu(x - 1), [(3, 4)]),
    (lambda x: jax.nn.hard_tanh(x - 1) + jax.nn.relu6(x * 9), [(3, 4)]),
    (lambda x: jax.nn.hard_swish(x - 1), [(3, 4)]),
    (lambda x, y: jnp.where((x < y) & (x != 1) | ~(y >= 0.5), x, y), [(3, 4), (4,)]),
    (lambda x, y: jnp.where(x == y, 1.0, 0.0) + (x > y).astype(jnp.float32) + (x <= 1), [(3, 4), (4,)]),
])
def test_against_jax(floats, function, shapes):
    arrays = [abs(floats(*shape)) for shape in shapes]
    result = morello.jit_jax(function)(*arrays)
    np.testing.assert_allclose(result, np.asarray(function(*arrays)), rtol=1e-4, atol=1e-5)


def convolve(x, w, layout, padding="VALID"):
    return jax.lax.conv_general_dilated(x, w, (2, 1), padding, dimension_numbers=layout)


def pool(x, window, padding="VALID"):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, padding)


@pytest.mark.parametrize("function, shapes", [
    (lambda x, w: convolve(x, w, ("NCHW", "OIHW", "NCHW")), [(2, 3, 7, 6), (4, 3, 3, 2)]),
    (lambda x, w: jax.nn.relu(convolve(x, w, ("NHWC", "HWIO", "NHWC"))), [(2, 7, 6, 3), (3, 2, 3, 4)]),
    (lambda x, w: convolve(x, w, ("NCHW", "OIHW", "NCHW"), "SAME"), [(2, 3, 7, 6), (4, 3, 3, 2)]),
    (lambda x, w: convolve(x, w, ("NHWC", "HWIO", "NHWC"), ((0, 2), (1, 0))), [(2, 7, 6, 3), (3, 2, 3, 4)]),
    (lambda x: pool(x, (1, 1, 2, 3), "SAME"), [(2, 3, 5, 8)]),
    (lambda x: pool(x, (1, 1, 2, 3)), [(2, 3, 4, 6)]),
    (lambda x: pool(x, (1, 2, 2, 1)), [(2, 4, 6, 3)]),
])
def test_windows(floats, function, shapes):
    arrays = [floats(*shape) for shape in shapes]
    result = morello.jit_jax(function)(*arrays)
    np.testing.assert_allclose(result, np.asarray(function(*arrays)), rtol=1e-4, atol=1e-5)


def test_captured_arrays_and_types(floats):
    weights = jnp.asarray(floats(8, 5), jnp.bfloat16)
    x = jnp.asarray(floats(4, 8), jnp.bfloat16)
    result = morello.jit_jax(lambda x: (x @ weights).astype(jnp.float32))(x)
    wanted = np.asarray(x, np.float32) @ np.asarray(weights, np.float32)
    np.testing.assert_allclose(result, wanted, rtol=2e-2, atol=2e-2)


def test_what_the_language_does_not_have(floats):
    with pytest.raises(morello.SpecError, match=r"JAX's primitive 'atan' of (f32|float32)\[3,4\]"):
        morello.jit_jax(jnp.arctan)(floats(3, 4))
    with pytest.raises(morello.SpecError, match="primitive 'sort'"):
        morello.jit_jax(jnp.sort)(floats(3, 4))
    with pytest.raises(morello.SpecError, match="windows over two axes, and no groups of batches"):
        morello.jit_jax(lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", batch_group_count=2))(
            floats(2, 1, 5, 4), floats(2, 1, 3, 3))


def test_several_results(floats):
    def norm(x):
        mean = x.mean(1, keepdims=True)
        return {"y": x - mean, "moments": (mean[:, 0], jnp.square(x - mean).mean(1))}
    x = floats(5, 37)
    result, wanted = morello.jit_jax(norm)(x), norm(x)
    np.testing.assert_allclose(result["y"], wanted["y"], rtol=1e-5, atol=1e-6)
    for a, b in zip(result["moments"], wanted["moments"]):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    first, second = morello.jit_jax(lambda x: (x, x * 2))(x)
    assert (first == x).all() and (second == x * 2).all()


def test_expm1_keeps_what_is_small():
    x = np.array([1e-6, -1e-7, 3e-8, -0.0, 0.5, -20, 80, 100, -np.inf, np.inf, np.nan, 1e-42], np.float32)
    with np.errstate(over="ignore"):
        wanted = np.expm1(x.astype(np.float64)).astype(np.float32)
    got = morello.jit_jax(jnp.expm1)(x)
    assert np.allclose(got, wanted, rtol=2e-6, atol=0, equal_nan=True)
    assert np.signbit(got[3])


@pytest.mark.parametrize("function", [
    lambda x, ids: x[ids], lambda x, ids: x[:, ids], lambda x, ids: x[..., ids], lambda x, ids: x[ids[:, None]],
    lambda x, ids: jnp.take(x, ids, axis=1), lambda x, ids: jnp.take(x, ids, axis=0, mode="clip"),
    lambda x, ids: jnp.take(x, ids, axis=-1, mode="fill", fill_value=2.5), lambda x, ids: x[np.array([1, -1, 3])],
    lambda x, ids: x.at[ids].get(mode="promise_in_bounds"), lambda x, ids: jnp.exp(x)[ids].sum(-1) + 1,
    lambda x, ids: jax.lax.gather(x, ids.astype(np.int32).reshape(2, 2, 1), jax.lax.GatherDimensionNumbers(
        (1, 3), (1,), (1,)), (5, 1, 7)),  # axes of x between those of ids
    lambda x, ids: jax.nn.one_hot(ids, 5) @ x.reshape(5, 42),
    lambda x, ids: jax.vmap(lambda part: part[ids])(x), lambda x, ids: jax.vmap(lambda part: part[ids], 1, 2)(x),
])
@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8])
def test_gathers(floats, function, dtype):
    x, ids = floats(5, 6, 7), np.array([3, 0, 4, 4], dtype)
    wanted = np.asarray(function(jnp.asarray(x), ids))
    np.testing.assert_allclose(morello.jit_jax(function)(x, ids), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("element", [np.float32, np.float16, np.int32, np.int8, np.uint8])
@pytest.mark.parametrize("function", [
    lambda x, ids: jnp.take(x, ids, axis=0), lambda x, ids: jnp.take(x, ids, axis=1, mode="clip"),
    lambda x, ids: jnp.take(x, ids, axis=0, mode="fill", fill_value=7),
    lambda x, ids: jnp.take_along_axis(x, ids[:, None], 1),
    lambda x, ids: jnp.take_along_axis(x, ids[:, None], 1, mode="clip"), lambda x, ids: jnp.take(x.T, ids, axis=0),
])
def test_gathers_outside(rng, element, function):
    """Filled with NaN or the like by default, or nearest places: as JAX has it."""
    x, ids = rng.integers(0, 100, (6, 6)).astype(element), np.array([0, 5, 6, -1, -6, -7], np.int32)
    got, wanted = morello.jit_jax(function)(x, ids), np.asarray(function(jnp.asarray(x), ids))
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gathers_of_elements(floats, rng, axis):
    x = floats(4, 5, 6)
    ids = rng.integers(-x.shape[axis], x.shape[axis], [3 if i == axis else size for i, size in enumerate(x.shape)])
    got = morello.jit_jax(lambda x, ids: jnp.take_along_axis(x, ids, axis))(x, ids.astype(np.int32))
    assert np.array_equal(got, np.take_along_axis(x, ids, axis))


def test_gathers_that_the_language_does_not_have(floats):
    x, ids = floats(5, 6), np.array([1, 2], np.int32)
    with pytest.raises(morello.SpecError, match=r"JAX's primitive 'gather' of slices \(1, 3\) .* of whole axes"):
        morello.jit_jax(lambda x, ids: jax.lax.gather(x, ids[:, None], jax.lax.GatherDimensionNumbers((1,), (0,), (0,)),
                                                      (1, 3)))(x, ids)


@pytest.mark.parametrize("element, preferred, wanted", [
    (jnp.bfloat16, jnp.float32, np.float32), (jnp.bfloat16, None, jnp.bfloat16), (jnp.float16, jnp.float32, np.float32),
    (jnp.float32, jnp.bfloat16, jnp.bfloat16), (jnp.int8, jnp.int32, np.int32), (jnp.int8, jnp.float32, np.float32),
    (jnp.int8, None, np.int32),  # sums of integers are i32, where nothing else is asked for
])
def test_preferred_element_types(rng, element, preferred, wanted):
    """Of products and convolutions, whose sums are not rounded on the way to what is preferred."""
    a, b = (jnp.asarray(rng.integers(-9, 9, shape) * 1.37, element) for shape in ((4, 300), (300, 3)))
    x, w = (jnp.asarray(rng.integers(-9, 9, shape) * 1.37, element) for shape in ((1, 30, 5, 5), (4, 30, 3, 3)))
    exact = [np.asarray(each, np.float64) for each in (a, b, x, w)]
    windows = np.lib.stride_tricks.sliding_window_view(exact[2], (3, 3), (2, 3))
    cases = [(lambda a, b: jnp.einsum("ij,jk", a, b, preferred_element_type=preferred), (a, b), exact[0] @ exact[1]),
             (lambda a, b: jnp.matmul(a, b, preferred_element_type=preferred), (a, b), exact[0] @ exact[1])]
    if element != jnp.float32:  # JAX has no convolutions that prefer less than their operands
        cases.append((lambda x, w: jax.lax.conv(x, w, (1, 1), "VALID", preferred_element_type=preferred), (x, w),
                      np.einsum("nchwrs,ocrs->nohw", windows, exact[3])))
    for function, operands, reference in cases:
        got = morello.jit_jax(function)(*operands)
        assert got.dtype == wanted
        tolerance = {jnp.bfloat16: 8e-3, np.float32: 1e-6, np.int32: 0}[wanted]
        np.testing.assert_allclose(got.astype(np.float64), reference, rtol=tolerance, atol=1e3 * tolerance)


def test_preferred_element_types_that_are_none_of_the_language():
    a = np.ones((4, 4), np.int8)
    with pytest.raises(morello.SpecError, match="conversion to int16: element types are"):
        morello.jit_jax(lambda a: jnp.matmul(a, a + a, preferred_element_type=jnp.int16))(a)


def test_one_result_comes_back_in_its_structure(floats):
    x = floats(3, 4)
    for function in (lambda x: (x * 2,), lambda x: [x * 2], lambda x: {"y": x * 2}, lambda x: {"y": x * 2, "z": None},
                     lambda x: x * 2, lambda x: ((x * 2,), [], None), lambda x: {"a": {"b": [x * 2, x * 2]}}):
        for jitted in (morello.jit_jax(function), morello.jit(function)):
            got, wanted = jitted(x), function(x)
            assert jax.tree_util.tree_structure(got) == jax.tree_util.tree_structure(wanted)
            assert all((leaf == x * 2).all() for leaf in jax.tree_util.tree_leaves(got))


@pytest.mark.parametrize("outer", [jax.jit, jax.grad, jax.vmap])
def test_not_inside_of_transformations(floats, outer):
    inner = morello.jit_jax(lambda x: (x * x).sum())
    with pytest.raises(TypeError, match=r"cannot be nested in jax.jit, jax.grad .* call the function itself"):
        outer(inner)(floats(2, 3))

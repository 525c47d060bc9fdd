# SPDX-License-Identifier: MIT
"""Arrays of bool as arguments of traced functions."""
import numpy as np
import pytest

import morello

pytest.importorskip("jax")


@pytest.fixture
def masks(rng):
    return rng.integers(0, 2, (2, 4, 6)) == 1


@pytest.mark.parametrize("function", [
    lambda x, m: x[m[:, 0]], lambda x, m: x[:, m[0]], lambda x, m: x[m], lambda x, m: np.take(x, m[:, 0], axis=0),
    lambda x, m: x[..., ~m[0]], lambda x, m: np.take_along_axis(x, m, 0), lambda x, m: x[x > 0],
])
def test_a_mask_is_no_index(floats, masks, function):
    """Not rows 0 and 1, which numbers of the same bits would be."""
    with pytest.raises(morello.SpecError, match=r"whose shape depends on elements.*np\.where"):
        morello.jit(function)(floats(4, 6), masks[0])


@pytest.mark.parametrize("function", [lambda x, m: x[m[:, 0]], lambda x, m: x[m]])
def test_a_mask_is_no_index_in_jax(floats, masks, function):
    with pytest.raises(Exception, match="boolean indices must be concrete"):  # JAX refuses it by itself
        morello.jit_jax(function)(floats(4, 6), masks[0])


def test_captured_masks(floats, masks):
    x, mask = floats(4, 6), masks[0]
    with pytest.raises(morello.SpecError, match="whose shape depends on elements"):
        morello.jit(lambda x: x[mask])(x)
    assert np.array_equal(morello.jit(lambda x: np.where((x > 0) & mask, x, 0))(x), np.where((x > 0) & mask, x, 0))


@pytest.mark.parametrize("function", [
    lambda m, n, x: ~m, lambda m, n, x: m & n, lambda m, n, x: m | n, lambda m, n, x: m ^ n, lambda m, n, x: m == n,
    lambda m, n, x: m[1:] & n[:-1], lambda m, n, x: (x > 0) & m, lambda m, n, x: ~(m | (x < 0.5)) & n.T.T,
    lambda m, n, x: (x > 0) ^ m,
])
def test_logic(floats, masks, function):
    x = floats(4, 6)
    for jitted in (morello.jit(function), morello.jit_jax(function)):
        got, wanted = jitted(*masks, x), function(*masks, x)
        assert got.shape == wanted.shape and np.array_equal(got != 0, wanted) and set(np.unique(got)) <= {0, 1}


@pytest.mark.parametrize("function", [
    lambda m, n, x: m + n, lambda m, n, x: m * n, lambda m, n, x: np.add(m, n), lambda m, n, x: np.multiply(m, n),
    lambda m, n, x: m - 1, lambda m, n, x: 3 - m * 2, lambda m, n, x: m * 300, lambda m, n, x: m * np.float32(0.5),
    lambda m, n, x: m * x, lambda m, n, x: m + x - n, lambda m, n, x: (x > 0) + m, lambda m, n, x: m.sum(0),
    lambda m, n, x: m.astype(np.int32) + n.astype(np.int32), lambda m, n, x: np.where(m, x, n),
    lambda m, n, x: m.astype(np.uint8) + n, lambda m, n, x: m + n.sum(0), lambda m, n, x: m.mean(axis=1),
])
def test_arithmetic(floats, masks, function):
    x = floats(4, 6)
    got, wanted = morello.jit(function)(*masks, x), function(*masks, x)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_truth_that_became_integers_is_an_index(floats, masks):
    x, m = floats(4, 6), masks[0, :, 0]
    assert np.array_equal(morello.jit(lambda x, m: x[m.astype(np.uint8)])(x, m), x[m.astype(np.uint8)])


@pytest.mark.parametrize("function", [lambda m, n: m - n, lambda m, n: -m, lambda m, n: (m == n) - n, np.subtract])
def test_no_differences_of_bool(masks, function):
    with pytest.raises(morello.SpecError, match=r"of bool, which NumPy refuses as well: write a \^ b, or ~a"):
        morello.jit(function)(*masks)


def test_masks_of_other_libraries(floats, masks):
    jax = pytest.importorskip("jax")
    jitted = morello.jit(lambda m, n: ~m & n)
    for change in (jax.numpy.asarray, memoryview, np.asfortranarray):
        assert np.array_equal(jitted(*map(change, masks)), ~masks[0] & masks[1])


def test_bool_and_uint8_are_traced_apart(masks):
    add = morello.jit(lambda m, n: m + n)
    assert np.array_equal(add(*masks), masks[0] | masks[1])
    assert np.array_equal(add(*masks.view(np.uint8)), masks.sum(0)) and len(add) == 2

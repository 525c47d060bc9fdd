# SPDX-License-Identifier: MIT
"""Parts of traced arrays at places that are known, against NumPy and JAX."""
import numpy as np
import pytest

import morello

jax = pytest.importorskip("jax")
jnp = jax.numpy

PARTS = [
    lambda x: x[0], lambda x: x[-1], lambda x: x[:, -1], lambda x: x[..., :3], lambda x: x[..., 3:], lambda x: x[1:],
    lambda x: x[:-1], lambda x: x[::-1], lambda x: x[:, ::2], lambda x: x[:, :5], lambda x: x[:, :8],
    lambda x: x[2, 1, 3], lambda x: x[0, ..., 1], lambda x: x[None, 1:, None, -1], lambda x: x[..., None, 2],
    lambda x: x[1:3, ::-2, 5:1:-1],
    lambda x: x[:, None, 2:3], lambda x: x[np.int64(1)], lambda x: x[()], lambda x: x[...], lambda x: x[-2:],
    lambda x: x[0] @ x[1].T, lambda x: x[..., :3] * x[..., 3:6] - 1, lambda x: abs(x)[:, 0], lambda x: x[1][2],
    lambda x: x.sum(0)[1:], lambda x: (x * 2)[..., ::-1].max(-1),
]


@pytest.mark.parametrize("function", PARTS)
@pytest.mark.parametrize("element", [np.float32, np.int8])
def test_parts(rng, function, element):
    x = rng.integers(-3, 4, (4, 5, 6)).astype(element)
    wanted = np.asarray(function(x))
    for jitted in (morello.jit(function), morello.jit_jax(function)):
        got = jitted(x)
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_whole_axes_are_no_operation():
    tensor = morello.Tensor(morello.Dtype.F32, (4, 8))
    for part in (slice(None), slice(0, 4), slice(0, 99), slice(-4, None)):
        for jit in (morello.jit, morello.jit_jax):
            assert "gather" not in str(jit(lambda x, part=part: x[part, :8] + 1).spec(tensor))


@pytest.mark.parametrize("function", [
    lambda x, ids: x[1:, ids], lambda x, ids: x[0, ids], lambda x, ids: x[ids, 0], lambda x, ids: x[None, ids],
    lambda x, ids: x[..., ids, 1:], lambda x, ids: x[ids, :, 0], lambda x, ids: x[0, :, ids],
    lambda x, ids: x[:, 0, ids], lambda x, ids: x[ids, ..., -1, None], lambda x, ids: x[::2, None, ids],
])
def test_parts_beside_an_index(floats, function):
    x, ids = floats(5, 6, 7), np.array([[2, 0], [1, -1]], np.int32)
    got, wanted = morello.jit(function)(x, ids), function(x, ids)
    assert got.shape == wanted.shape and np.array_equal(got, wanted)


def test_equal_slices_are_one_operand(floats):
    """Of several values, since a kernel has eight operands at most."""
    q, k = floats(4, 8), floats(4, 8)

    def function(q, k):
        return q[:, :4] * k[:, 4:] - q[:, 4:] * k[:, :4]
    jitted = morello.jit(function)
    np.testing.assert_allclose(jitted(q, k), function(q, k), rtol=1e-6, atol=1e-6)
    assert len(jitted.kernel(q, k).operands) == 5


def test_a_place_that_is_an_argument(floats):
    """A number is a constant, and compiles again; an array without axes is read."""
    x = floats(5, 6)
    jitted = morello.jit(lambda x, place: x[place] + 1)
    for place in range(3):
        assert np.array_equal(jitted(x, np.array(place, np.int32)), x[place] + 1)
    assert len(jitted) == 1
    with pytest.raises(morello.SpecError, match="a slice from, to or by Traced.* valid are integers"):
        morello.jit(lambda x, place: x[:place])(x, np.array(2, np.int32))


@pytest.mark.parametrize("sections, axis", [(3, 0), (2, 1), ([1, 4], 0), ([2], -1)])
def test_split(floats, sections, axis):
    x = floats(6, 4)
    for got, wanted in ((morello.jit(lambda x: np.split(x, sections, axis))(x), np.split(x, sections, axis)),
                        (morello.jit_jax(lambda x: jnp.split(x, sections, axis))(x), jnp.split(x, sections, axis))):
        assert isinstance(got, list) and len(got) == len(wanted)
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted))


def test_flips_and_slices_of_jax(floats):
    x = floats(4, 6)
    for function in (lambda x: jnp.flip(x, 1), lambda x: jax.lax.slice(x, (1, 0), (4, 6), (2, 3)),
                     lambda x: jax.lax.dynamic_slice(x, (1, 9), (2, 3)), lambda x: jax.lax.dynamic_index_in_dim(x, -1)):
        assert np.array_equal(morello.jit_jax(function)(x), function(x))


@pytest.mark.parametrize("place", [0, 2, 4, 7, -1, -9])
@pytest.mark.parametrize("dtype", [np.int32, np.int8])
def test_dynamic_slices_of_jax(floats, place, dtype):
    x, start = floats(5, 300), np.array(place, dtype)
    for function in (lambda x, start: x[start],
                     lambda x, start: jax.lax.dynamic_slice(x, (dtype(1), start), (3, 295)),
                     lambda x, start: jax.lax.dynamic_slice_in_dim(x, start, 2) * 2):
        assert np.array_equal(morello.jit_jax(function)(x, start), function(jnp.asarray(x), start))


@pytest.mark.parametrize("function, message", [
    (lambda x: x[4], "index 4 of axis 0, which has 4 elements: valid are -4 to 3"),
    (lambda x: x[:, -7], "index -7 of axis 1, which has 6 elements: valid are -6 to 5"),
    (lambda x: x[4:], "slice.* of axis 0, which has 4 elements, takes none of them"),
    (lambda x: x[0, 0, 0], "3 indices of a value with 2 axes"),
    (lambda x: x[..., ...], "more than one '...'"),
    (lambda x: x["a"], "an index of str: valid are"),
    (lambda x: x[True], "an index of bool"),
    (lambda x: x[:1.5], "a slice .* valid are integers"),
    (lambda x: np.split(x, 3), "split of .* into 3 equal parts"),
])
def test_what_is_no_part(floats, function, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.jit(function)(floats(4, 6))

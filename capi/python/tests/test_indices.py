# SPDX-License-Identifier: MIT
"""Elements at places that integers name, in traced functions; test_onnx_indices.py has those of models."""
import numpy as np
import pytest

import morello

I32, I8, U8 = np.int32, np.int8, np.uint8


@pytest.fixture
def table(floats):
    return floats(200, 6)


@pytest.mark.parametrize("function", [
    lambda x, ids: x[ids], lambda x, ids: x[:, ids], lambda x, ids: x[..., ids], lambda x, ids: x[:, ids, :],
    lambda x, ids: x[..., ids, :], lambda x, ids: np.take(x, ids, axis=0), lambda x, ids: np.take(x, ids, axis=-1),
    lambda x, ids: np.tanh(x)[ids] * 2 + 1, lambda x, ids: np.take(x, ids - 1, 1), lambda x, ids: x[ids][ids - 1],
    lambda x, ids: (x[ids] - x[ids].mean(-1, keepdims=True)).sum(0), lambda x, ids: x[ids].T,
    lambda x, ids: np.take(x, ids, axis=1, mode="clip"), lambda x, ids: np.where(x[ids] > 0, x[ids], 0.5),
])
@pytest.mark.parametrize("dtype", [I32, I8, U8])
def test_places_that_are_given(floats, rng, function, dtype):
    x, ids = floats(5, 6, 7), rng.integers(1, 5, 4).astype(dtype)
    got, wanted = morello.jit(function)(x, ids), function(x, ids)
    assert got.shape == wanted.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ids", [np.array([0, -1, 199, -200], I32), np.array([[3, -128], [127, 0]], I8), np.array(7, I32),
                                 np.array([[0], [199]], U8), np.array(-2, I8)])
@pytest.mark.parametrize("element", [np.float32, np.float16, I32, I8, U8])
def test_rows(table, ids, element):
    """Of any shape, an index below zero from the end, and as they are, whatever their type."""
    x = (table * 40).astype(np.int64).astype(element) if np.dtype(element).kind in "iu" else table.astype(element)
    got = morello.jit(lambda x, ids: x[ids])(x, ids)
    assert got.dtype == element and np.array_equal(got, x[ids])


@pytest.mark.parametrize("mode, ids, places", [
    ("clip", [-5, 0, 199, 200, 2 ** 31 - 1, -2 ** 31], [0, 0, 199, 199, 199, 0]),
    ("raise", [-5, -200, -201, 200, 2 ** 31 - 1, -2 ** 31], [195, 0, 0, 199, 199, 0])])
def test_what_is_outside_is_the_nearest_place(table, mode, ids, places):
    got = morello.jit(lambda x, ids: np.take(x, ids, axis=0, mode=mode))(table, np.array(ids, I32))
    assert np.array_equal(got, table[places])
    got = morello.jit(lambda x: np.take(x, ids, axis=0, mode=mode))(table)
    assert np.array_equal(got, table[places])


@pytest.mark.parametrize("ids", [[3, 4], np.array([-1, 99]), np.array([[180]], U8), np.array([5], np.uint64), 7, -3])
def test_places_that_are_known(table, ids):
    got = morello.jit(lambda x: np.take(x, ids, axis=0))(table)
    assert np.array_equal(got, np.take(table, ids, axis=0))


@pytest.mark.parametrize("shape, axis, length", [((9, 6), 1, 4), ((9, 6), 0, 20), ((2, 5, 3), -2, 1), ((7,), None, 3)])
def test_elements_along_an_axis(floats, rng, shape, axis, length):
    x = floats(*shape)
    counts = list(shape)
    counts[axis or 0] = length
    size = shape[axis or 0]
    ids = rng.integers(-size, size, counts).astype(I32)
    got = morello.jit(lambda x, ids: np.take_along_axis(x, ids, axis))(x, ids)
    assert np.array_equal(got, np.take_along_axis(x, ids, axis))


def test_an_embedding_is_one_kernel(table, floats, rng):
    """With its positions and its norm, whose weights the function finds elsewhere."""
    positions, gain = floats(12, 6), floats(6)

    def embedding(ids):
        x = (np.take if isinstance(ids, np.ndarray) else morello.take)(table, ids, axis=0) + positions
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-5) * gain
    ids = rng.integers(-200, 200, 12).astype(I32)
    np.testing.assert_allclose(morello.jit(embedding)(ids), embedding(ids), rtol=1e-4, atol=1e-5)


def test_a_kernel_of_its_own(table):
    ids = np.array([[3, -1]], I32)
    assert np.array_equal(morello.take(table, ids, axis=0), table[ids])
    assert np.array_equal(morello.take(table, [5, 6], axis=-1, mode="clip"), table[:, [5, 5]])


@pytest.mark.parametrize("function, message", [
    (lambda x, ids: x[x], "an index of f32: valid are integers"),
    (lambda x, ids: np.take(x, 1.5), "an index of float64: valid are integers"),
    (lambda x, ids: x[np.arange(200) < 3], "whose shape depends on elements"),
    (lambda x, ids: x[[2 ** 31]], "an index with numbers beyond 32 bits, 2147483648 to 2147483648"),
    (lambda x, ids: x[ids == 0], "where a comparison or an array of bool holds"),
    (lambda x, ids: np.take(x, ids, axis=0, mode="wrap"), "take in mode 'wrap': valid are 'raise' and 'clip'"),
    (lambda x, ids: np.take(x, ids, axis=2), "axis 2 of a value with 2 axes"),
    (lambda x, ids: np.take_along_axis(x, ids, 0), "the other axes differ"),
])
def test_what_is_no_index(table, function, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.jit(function)(table, np.array([1, 2], I32))

# SPDX-License-Identifier: MIT
"""What is said about functions that cannot be traced: what it was, and what can be written instead."""
import numpy as np
import pytest

import morello


@pytest.mark.parametrize("function, message", [
    (lambda x: np.einsum("ij,kl->im", x, x), "einsum 'ij,kl->im': m is in no operand"),
    (lambda x: np.einsum("ij->i", x, x), "einsum 'ij->i' of 2 operands"),
    (lambda x: np.einsum("ij,jk->iik", x, x), "einsum 'ij,jk->iik': i is there twice in the result"),
    (lambda x: np.einsum(x, [0, 1], x, [1, 2]), "einsum of lists of axes: write subscripts such as 'ij,jk->ik'"),
    (lambda x: x % 2, r"x % y of floats: .* instead: x - np.floor\(x / y\) \* y"),
    (lambda x: 2 % x, r"x % y of floats: .* instead: x - np.floor\(x / y\) \* y"),
    (lambda x: x // 2, r"x // y of floats: .* instead: np.floor\(x / y\)"),
    (lambda x: np.floor_divide(x, 2), r"x // y of floats: .* instead: np.floor\(x / y\)"),
    (lambda x: divmod(x, 2), r"divmod\(x, y\) of floats"),
    (lambda x: x << 1, "x << y of traced arrays"),
    (lambda x: 3.0 ** x, r"powers whose exponent is no number: write np.exp\(x \* np.log\(base\)\)"),
    (lambda x: x.argsort(), r"argsort of traced arrays: .* attributes and methods are .*reshape"),
    (lambda x: x.nonsense, "nonsense of traced arrays"),
    (lambda x: np.sort(x), "numpy.sort of traced arrays: .* return the array"),
    (lambda x: np.concatenate([x, x[0]]), "concatenate of .* along axis 0: the other axes differ"),
    (lambda x: np.concatenate([x, x[:, :3]]), "concatenate of .* along axis 0: the other axes differ"),
    (lambda x: np.concatenate([x], axis=2), "axis 2 of a value with 2 axes"),
    (lambda x: np.pad(x, ((1, -1), (0, 0))), "valid are numbers of at least 0"),
    (lambda x: np.pad(x, ((1, 1), (0, 0), (2, 2))), r"valid are a number, \(before, after\)"),
    (lambda x: np.pad(x, 1, mode="mean"), "pad in mode 'mean': valid are constant, edge"),
    (lambda x: np.pad(x, 1, constant_values=(1, 2)), "pad with numbers that differ"),
    (lambda x: np.pad(np.rint(x).astype(np.int32), 1, constant_values=np.inf), "with inf: valid are integers"),
    (lambda x: np.tile(x, (0, 1)), "valid are numbers of at least 1"),
    (lambda x: np.sum(x, where=[True]), "numpy.sum of traced arrays: got an unexpected keyword argument 'where'; "
                                        "arguments are a, axis, keepdims, dtype"),
    (lambda x: np.mean(x, dtype=np.float64), "conversion to float64"),
    (lambda x: x.sum(dtype=np.int8), "dtype int8 of a reduction: valid are .*float32"),
])
def test_what_can_be_written_instead(floats, function, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.jit(function)(floats(4, 4))


def test_methods_of_arrays(floats):
    x = floats(3, 4).astype(np.float16)
    for function in (lambda x: x.copy(), lambda x: x.flatten() * 2, lambda x: x.sum(-1, dtype=np.float32),
                     lambda x: np.mean(x, axis=0, dtype=np.float32), lambda x: np.sum(x, dtype=np.float32),
                     lambda x: x.mean(dtype=np.float32), lambda x: x.var(dtype=np.float32)):
        got, wanted = morello.jit(function)(x), function(x)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_attributes_that_are_not_there():
    def function(x):
        assert not hasattr(x, "argsort") and not hasattr(x, "__dlpack__")
        with pytest.raises(AttributeError):
            _ = x.argsort
        return x * 2
    morello.jit(function)(np.ones(3, np.float32))


@pytest.mark.parametrize("function", [
    lambda x, i: x if x > 0 else -x, lambda x, i: max(x, 0), lambda x, i: (x > 0) and (x < 1), lambda x, i: 1 in x,
    lambda x, i: np.ones(3, np.float32)[i],
])
def test_elements_are_not_known(floats, function):
    with pytest.raises(TypeError, match=r"elements are not known.*np\.maximum.*np\.where.*&.*morello\.take\(W, ids"):
        morello.jit(function)(floats(3), np.array([1], np.int32))


def test_options_are_those_of_compile():
    for jit in (morello.jit, morello.jit_jax):
        with pytest.raises(TypeError, match="jit has no option 'static_argnums': valid are isa, threads, effort, .*"
                                            "what is no array is a constant"):
            jit(lambda x: x, static_argnums=0)
    with pytest.raises(TypeError, match="no option 'donate'"):
        morello.jit(donate=1)


@pytest.mark.parametrize("arguments", [(), (2.0,), ([1.0, 2.0],), (np.float32(2),)])
def test_no_argument_is_an_array(arguments):
    with pytest.raises(morello.SpecError, match=r"no argument is an array: .*np\.array\(2\.0, np\.float32\)"):
        morello.jit(lambda *x: x[0] * 2)(*arguments)


def test_elements_are_not_assigned(floats):
    def function(x):
        x[0] = 1
        return x
    with pytest.raises(morello.SpecError, match=r"x\[i\] = y of traced arrays: .* instead: np\.where\(mask, y, x\)"):
        morello.jit(function)(floats(3))


def test_numbers_beyond_integers():
    x = np.array([1, 2], np.int32)
    for function in (lambda x: x * 2654435761, lambda x: x + 2 ** 31, lambda x: np.where(x > 0, 2 ** 31, 0),
                     lambda x: np.where(x * 0.5 > 0, 2 ** 31, 0)):
        with pytest.raises(morello.SpecError, match=r"of integers and 2\d*, which has no 32 bits; of float\(2"):
            morello.jit(function)(x)
    assert morello.jit(lambda x: x - (2 ** 31 - 1))(x)[0] == 2 - 2 ** 31
    assert morello.jit(lambda x: x * float(2 ** 31))(x).tolist() == [2.0 ** 31, 2.0 ** 32]


@pytest.mark.parametrize("options, message", [
    ({"padding": "SAME"}, r"padding 'SAME': valid are a width .*\(above, left, below, right\)"),
    ({"padding": -1}, "padding -1: valid are"), ({"padding": (1, 2, 3)}, r"padding \(1, 2, 3\): valid are"),
    ({"stride": 0}, "stride 0: valid are an integer of 1 at least"), ({"stride": 1.5}, "stride 1.5: valid are"),
    ({"dilation": (1, -1)}, r"dilation \(1, -1\): valid are"),
])
def test_windows_that_are_none(options, message):
    x, w = np.ones((1, 1, 5, 5), np.float32), np.ones((1, 1, 3, 3), np.float32)
    with pytest.raises(morello.SpecError, match=message):
        morello.conv2d(x, w, **options)
    for pool in (morello.max_pool, morello.avg_pool):
        with pytest.raises(morello.SpecError, match=message):
            pool(x, 3, **options)
        with pytest.raises(morello.SpecError, match="window 0: valid are"):
            pool(x, 0)


def test_widths_of_padding():
    x, w = np.ones((1, 1, 5, 6), np.float32), np.ones((1, 1, 3, 3), np.float32)
    four = morello.conv2d(x, w, padding=(2, 1, 0, 3))
    assert four.shape == (1, 1, 5, 8)
    np.testing.assert_array_equal(four, morello.conv2d(x, w, padding=((2, 0), (1, 3))))


def test_bounds_beyond_integers():
    """They hold for all integers, or for none."""
    x = np.array([-2 ** 31, -1, 0, 2 ** 31 - 1], np.int32)
    for n in (2 ** 31, 2 ** 40, -2 ** 31 - 1, -2 ** 50):
        wide = np.array(n, np.int64)
        got = morello.jit(lambda x: (x < n, x <= n, x > n, x >= n, x == n, x != n, n < x, n >= x, n == x))(x)  # pylint: disable=cell-var-from-loop
        wanted = (x < wide, x <= wide, x > wide, x >= wide, x == wide, x != wide, wide < x, wide >= x, wide == x)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(morello.jit(lambda x: np.clip(x, -2 ** 40, 2 ** 40))(x), x)
    np.testing.assert_array_equal(morello.jit(lambda x: np.minimum(x, 2 ** 33))(x), x)


def test_sizes_of_windows_in_arrays():
    x, w = np.ones((1, 1, 5, 6), np.float32), np.ones((1, 1, 3, 3), np.float32)
    for two in (np.array([2, 1]), [2, 1], (2.0, 1.0), (np.int64(2), 1)):
        assert morello.jit(lambda x, w: morello.conv2d(x, w, stride=two))(x, w).shape == (1, 1, 2, 4)  # pylint: disable=cell-var-from-loop
        assert morello.jit(lambda x: morello.max_pool(x, two))(x).shape == (1, 1, 2, 6)  # pylint: disable=cell-var-from-loop

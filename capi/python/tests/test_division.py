# SPDX-License-Identifier: MIT
"""Quotients and remainders of integers, which are NumPy's and JAX's to the last bit; and products of all elements."""
import numpy as np
import pytest

import morello

LEAST, MOST = -2 ** 31, 2 ** 31 - 1
COUNT = 1 << 18


def extremes():
    powers = 2 ** np.arange(32)
    some = [0, 3, 5, 7, 10, 100, 46340, 46341, MOST - 129, MOST - 63]
    numbers = np.concatenate([powers, powers - 1, powers + 1, some])
    numbers = np.unique(np.clip(np.concatenate([numbers, -numbers]), LEAST, MOST)).astype(np.int32)
    return [each.ravel().copy() for each in np.meshgrid(numbers, numbers)]


def of_any_size(rng):
    return (np.exp2(rng.uniform(0, 31, COUNT)) * rng.choice([-1, 1], COUNT)).clip(LEAST, MOST).astype(np.int64)


def beside(rng, half):
    """Multiples of divisors, or what lies between two of them, and what is next to that."""
    b = of_any_size(rng)
    b[b == 0] = 1
    a = (rng.uniform(-1, 1, COUNT) * (2 ** 31 / np.abs(b))).astype(np.int64) * b + half * (b // 2)
    return (a + rng.integers(-1, 2, COUNT)).clip(LEAST, MOST).astype(np.int32), b.astype(np.int32)


PAIRS = {
    "extremes": lambda rng: extremes(),
    "uniform": lambda rng: [rng.integers(LEAST, MOST, COUNT, endpoint=True).astype(np.int32) for _ in range(2)],
    "any size": lambda rng: [of_any_size(rng).astype(np.int32) for _ in range(2)],
    "small divisors": lambda rng: [rng.integers(-most, most, COUNT).astype(np.int32) for most in (MOST, 600)],
    "multiples": lambda rng: beside(rng, 0),
    "between": lambda rng: beside(rng, 1),
}


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize("kind", PAIRS)
def test_division_of_i32_is_numpys(rng, kind):
    """Divisors of 0, of which both are 0, and -2^31 // -1, which is -2^31, included."""
    a, b = PAIRS[kind](rng)
    found = morello.jit(lambda a, b: (a // b, a % b, np.fmod(a, b)))(a, b)
    for got, want in zip(found, (a // b, a % b, np.fmod(a, b)), strict=True):
        wrong = np.flatnonzero(got != want)
        assert got.dtype == np.int32 and not wrong.size, (a[wrong[:5]], b[wrong[:5]], got[wrong[:5]], want[wrong[:5]])


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize("first", [np.int8, np.uint8])
@pytest.mark.parametrize("second", [np.int8, np.uint8])
def test_division_of_all_bytes(first, second):
    every = np.arange(256).astype(np.uint8)
    a, b = (each.ravel().copy() for each in np.meshgrid(every.view(first), every.view(second)))
    jitted = morello.jit(lambda a, b: (*divmod(a, b), np.fmod(a, b)))
    found, wanted = jitted(a, b), (a // b, a % b, np.fmod(a, b))
    for got, want in zip(found, wanted, strict=True):
        assert (got == want).all() and got.dtype == (want.dtype if first is second else np.int32)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize("number", [LEAST, LEAST + 1, -1024, -1023, -7, -1, 0, 1, 2, 3, 10, 1000, 1023, 1024, 1025, 65536,
                                    2 ** 24 + 1, 2 ** 30, MOST])
def test_division_by_and_of_numbers(rng, number):
    x = np.concatenate([rng.integers(LEAST, MOST, 3000), rng.integers(-5000, 5000, 3000), [LEAST, MOST, 0, -1, 1]])
    x = np.concatenate([x, x // 1024 * 1024 + rng.integers(-1, 2, len(x))]).clip(LEAST, MOST).astype(np.int32)
    for function in (lambda x: divmod(x, number), lambda x: divmod(number, x)):
        for got, want in zip(morello.jit(function)(x), function(x), strict=True):
            assert np.array_equal(got, want)


def test_division_among_other_operations(rng, floats):
    a, b = rng.integers(-999, 999, (40, 1)).astype(np.int32), rng.integers(1, 50, 30).astype(np.int32)
    for function in (lambda a, b: (a + b) // b * 3 - (a - 1) % b, lambda a, b: (a % b).sum(0),
                     lambda a, b: (a[:, 0] // 7)[b % 40],
                     lambda a, b: (a > 5) % 2 + a // ((b > 3) + 1), lambda a, b: (a // b) / b, lambda a, b: (a * b % 10) == 3):
        got, want = morello.jit(function)(a, b), function(a, b)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-6)
    small = rng.integers(-128, 128, (9, 8)).astype(np.int8)
    got = morello.jit(lambda x: (x.astype(np.int32) * x * x * x + 1) % 1000)(small)  # more than f32 has digits for
    assert np.array_equal(got, (small.astype(np.int32) ** 4 + 1) % 1000)
    weights = floats(10, 4)
    got = morello.jit(lambda ids: morello.take(weights, ids % 10, axis=0))(b)
    assert np.array_equal(got, weights[b % 10])


@pytest.mark.parametrize("function, message", [
    (lambda x: x // 2 ** 31, "x // y of i32 and 2147483648, which is none of -2147483648 to 2147483647, and which NumPy"),
    (lambda x: x.astype(np.uint8) % -3, r"x % y of u8 and -3, which is none of 0 to 255"),
    (lambda x: x % 2.0, r"x % y of floats: .* instead: x - np.floor\(x / y\) \* y; of integers it is there"),
    (lambda x: np.fmod(x, 0.5), "fmod of floats: the Spec language has no such operation; of integers it is there"),
])
def test_divisions_that_are_refused(function, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.jit(function)(np.ones(3, np.int32))


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8])
def test_division_is_jaxs(rng, dtype):
    """By 0 as well: -1, or all bits, and what is divided."""
    jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min, limits.max, 4000, endpoint=True).astype(dtype)
    b = rng.integers(max(limits.min, -100), 100, 4000).astype(dtype)
    a[:20], b[:10], b[10:20], b[3000:] = limits.min, 0, -1 if limits.min else 255, a[1000:0:-1]
    for function in (jax.lax.div, jax.lax.rem, lambda a, b: a // b, lambda a, b: a % b, jnp.fmod,
                     lambda a, b: (a // 3, a % 3, 7 % b), jnp.divmod):
        found, wanted = (jax.tree_util.tree_leaves(call(function)(a, b)) for call in (morello.jit_jax, jax.jit))
        for got, want in zip(found, wanted, strict=True):
            assert got.dtype == want.dtype and np.array_equal(got, want)
    if dtype == np.int32:
        whole = morello.jit_jax(lambda a, b: a // b).program(a, b)
        assert sum("->" in str(spec) and str(spec).startswith("div") for spec in whole.specs) == 1  # of both that it needs


@pytest.mark.parametrize("shape, axis", [((7,), None), ((6, 9), 0), ((6, 9), -1), ((5, 3, 4), (0, 2)), ((5, 3, 4), None),
                                         ((1, 3), 0), ((700,), 0), ((3, 4), ())])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8, np.bool_])
def test_products_of_all_elements(rng, shape, axis, dtype):
    x = rng.uniform(-1.5, 1.5, shape).astype(dtype) if dtype == np.float32 else rng.integers(-9, 10, shape).astype(dtype)
    if dtype in (np.int32, np.int8):
        x |= 1  # of odd numbers modulo 2^32, which is never 0
    for function in (lambda x: np.prod(x, axis), lambda x: x.prod(axis, keepdims=True)):
        got, want = morello.jit(function)(x), np.asarray(function(x))
        want = want if dtype == np.float32 else want.astype(np.int32)  # NumPy's has 64 bits
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_products_of_special_numbers(rng):
    x = np.array([[np.inf, -2, 1], [np.inf, 0, 1], [np.nan, 0, 2], [-0.0, 3, 1], [1e30, 1e30, 1e-30]], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(morello.jit(lambda x: np.prod(x[:4], 1))(x), np.prod(x[:4], 1))
    got = morello.jit(lambda x: (x > 0).prod(1))(x)
    assert got.dtype == np.int32 and np.array_equal(got, (x > 0).prod(1))
    small = rng.integers(-9, 10, (3, 12)).astype(np.int8) | np.int8(1)
    got = morello.jit(lambda x: np.cumprod(x, 1))(small)
    assert np.array_equal(got, np.cumprod(small, 1).astype(np.int32))


def test_products_of_jax(floats):
    jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
    x = floats(5, 3, 6)
    for function in (jnp.prod, lambda x: jnp.prod(x, (0, 2)), lambda x: jnp.prod(jnp.int32(x * 4), 1),
                     jax.grad(lambda x: jnp.prod(x, 1).sum())):
        np.testing.assert_allclose(morello.jit_jax(function)(x), jax.jit(function)(x), rtol=1e-5, atol=1e-6)

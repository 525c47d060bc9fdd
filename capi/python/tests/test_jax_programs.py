# SPDX-License-Identifier: MIT
"""Functions for JAX that are several kernels, or have constants of their own, against JAX."""
import math

import numpy as np
import pytest

import morello

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def same(function, *arguments):
    got = jax.tree_util.tree_leaves(morello.jit_jax(function)(*arguments))
    wanted = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float64), np.asarray(b, np.float64), rtol=1e-4, atol=2e-5)


def recurrent(x, w):
    def step(state, row):
        state = jnp.tanh(state @ w + row)
        return state, (state * 2, row.sum())
    return jax.lax.scan(step, jnp.zeros(16), x), jax.lax.scan(step, jnp.ones(16), x, reverse=True)


def turned(x):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[0])[:, None] / 10000 ** (jnp.arange(half) / half)
    a, b = x[:, :half], x[:, half:]
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)


def heads(x, w, out):
    q, k, v = (part[:, 0].transpose(1, 0, 2) for part in jnp.split((x @ w).reshape(x.shape[0], 3, 4, 4), 3, axis=1))
    return (jax.nn.softmax(q @ k.transpose(0, 2, 1) / 2, -1) @ v).transpose(1, 0, 2).reshape(x.shape) @ out


def transformer(x, layers):
    def norm(x, gamma):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * gamma
    for each in layers:
        x = x + heads(norm(x, each["g1"]), each["qkv"], each["out"])
        x = x + jax.nn.gelu(norm(x, each["g2"]) @ each["up"]) @ each["down"]
    return x


def loss(w, v, x, t):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(jax.nn.relu(x @ w) @ v) * t, -1))


@pytest.mark.parametrize("function, shapes", [
    (recurrent, [(8, 16), (16, 16)]), (turned, [(8, 16)]), (heads, [(8, 16), (16, 48), (16, 16)]),
    (jax.value_and_grad(loss, (0, 1)), [(16, 32), (32, 10), (8, 16), (8, 10)]),
    (lambda x, y: jnp.concatenate([x, y, x * 2], 1), [(8, 16), (8, 3)]),
    (lambda x, y: (jnp.stack([x, y], 1), jnp.pad(x, ((1, 1), (2, 0))), jnp.tile(x, (1, 2)), jnp.repeat(y, 2, 0)),
     [(8, 16), (8, 16)]),
    (lambda x: (jnp.roll(x, 2, 1), jnp.cumsum(x, 1), jax.lax.cummax(x, 0, reverse=True)), [(8, 16)]),
    (lambda x: (jax.lax.cumsum(x, 1, reverse=True), jax.lax.cummin(x, 1) * 2), [(60, 70)]),
    (lambda x: x * jnp.linspace(0, 1, 16) + jnp.zeros((8, 16)), [(8, 16)]),
    (lambda x: (x + 1, jnp.ones((3, 2))), [(8, 16)]),
    (lambda x: (jax.nn.softplus(x), jax.nn.log_sigmoid(x), jnp.log1p(jnp.abs(x)), jnp.expm1(x), jnp.sign(x)), [(8, 16)]),
    (lambda x: (jax.nn.elu(x), jax.nn.selu(x), jax.nn.leaky_relu(x), jax.nn.hard_swish(x), jax.nn.mish(x), jnp.tan(x)),
     [(8, 16)]),
    (lambda x: (jnp.argmax(x, -1), jnp.argmin(x), jnp.any(x > 1, 1), jnp.all(x > -2), jnp.isfinite(x).all()), [(8, 16)]),
    (lambda x, y: jax.lax.dynamic_update_slice(x, y[:2, :4], (3, 5)), [(8, 16), (8, 16)]),
    (lambda x: jax.nn.dot_product_attention(*[x.reshape(1, 8, 4, 4)] * 3, is_causal=True), [(8, 16)]),
])
def test_functions(floats, function, shapes):
    same(function, *(floats(*shape) * 0.5 for shape in shapes))


def convolved(x, w, *, strides=(1, 1), **options):
    return jax.lax.conv_general_dilated(x, w, strides, **{"padding": "SAME", **options})


ROWS = ("NHWC", "HWIO", "NHWC")


@pytest.mark.parametrize("function, shapes", [
    (lambda x, w: convolved(x, w), [(1, 3, 9, 8), (4, 3, 3, 3)]),
    (lambda x, w: convolved(x, w, strides=(2, 2), dimension_numbers=ROWS), [(1, 9, 8, 3), (3, 3, 3, 4)]),
    (lambda x, w: convolved(x, w, dimension_numbers=("HWNC", "OHWI", "CNHW")), [(9, 8, 2, 3), (4, 3, 3, 3)]),
    (lambda x, w: convolved(x, w, lhs_dilation=(2, 3), padding=((1, 2), (2, 2)), dimension_numbers=ROWS),
     [(1, 5, 4, 3), (3, 3, 3, 4)]),
    (lambda x, w: convolved(x, w, strides=(2,), padding="VALID"), [(2, 3, 17), (4, 3, 5)]),
    (jax.grad(lambda x, w: jnp.sum(jnp.tanh(convolved(x, w, dimension_numbers=ROWS))), (0, 1)),
     [(2, 6, 7, 3), (3, 3, 3, 4)]),
    (jax.grad(lambda x, w: jnp.sum(jnp.tanh(convolved(x, w, strides=(2, 2)))), (0, 1)), [(2, 3, 7, 6), (4, 3, 3, 3)]),
    (lambda x: [jax.lax.reduce_window(x, start, what, (1, 2, 3, 1), (1, 2, 1, 1), ((0, 0), (1, 0), (1, 1), (0, 0)))
                for what, start in ((jax.lax.max, -jnp.inf), (jax.lax.min, jnp.inf), (jax.lax.add, 0.0))], [(1, 6, 7, 3)]),
    (lambda x: jax.lax.pad(x, 1.5, ((1, 2, 2), (-1, 3, 0), (0, -1, 1))), [(4, 6, 3)]),
    (lambda x: (x ** -2, x ** 5, jnp.abs(x) ** 2.5), [(4, 6)]),
])
def test_windows(floats, function, shapes):
    same(function, *(floats(*shape) for shape in shapes))


def largest(x, window, steps, padding="VALID"):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, steps, padding)


@pytest.mark.parametrize("window, shape", [((1, 2, 2, 1), (2, 6, 8, 3)), ((1, 1, 3, 2), (1, 2, 7, 9)),
                                           ((1, 2, 1, 1), (1, 5, 4, 3))])
def test_gradients_of_maxima(rng, floats, window, shape):
    """Of equal ones, which steps of a half bring about, the first; what no window has gets nothing."""
    gradient = jax.grad(lambda x: jnp.sum(jnp.sin(largest(x, window, window)) * 2))
    same(gradient, floats(*shape))
    same(gradient, (rng.integers(-2, 3, shape) * 0.5).astype(np.float32))
    with pytest.raises(morello.SpecError, match="maxima of windows that do not overlap"):
        morello.jit_jax(jax.grad(lambda x: jnp.sum(largest(x, window, (1, 1, 1, 1)) ** 2)))(floats(*shape))


def test_windows_that_leave_places_out(floats):
    """Padding below zero, whose results of XLA hold what nobody wrote."""
    x, w = floats(1, 8, 9, 3), floats(3, 3, 3, 4)
    got, wanted = (morello.jit_jax(lambda x, w, sides=sides: convolved(x, w, padding=sides, dimension_numbers=ROWS))(part, w)
                   for part, sides in ((x, ((-1, 1), (0, -2))), (x[:, 1:, :-2], ((0, 1), (0, 0)))))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_choices(floats):
    """Of branches, of which all are computed, and of several cases."""
    for place in (-1, 0, 1, 2, 9):
        same(lambda x, at: jax.lax.switch(at, [jnp.sin, lambda x: x * 2, lambda x: x - 1], x), floats(4, 6),
             np.array(place, np.int32))
    for sign in (-1, 1):
        same(lambda x: jax.lax.cond(x.sum() > 0, lambda x: (x, x.sum()), lambda x: (-x, jnp.float32(0)), x),
             np.abs(floats(4, 6)) * sign)
    same(lambda x, i: jax.lax.select_n(i, x, x * 2, x * 3), floats(6), np.array([0, 1, 2, 2, 1, 0], np.int32))
    same(lambda x: jnp.cumprod(x, 1), floats(4, 6))


def test_what_is_known(floats):
    """Its shapes, its types, signs of zeros, NaN."""
    same(lambda x: jnp.where(x.sum() > 0, jnp.ones((4, 6)), jnp.zeros((4, 6))).sum(0), floats(4, 6))
    same(lambda x: jax.lax.clamp(x.min(), jnp.ones((4, 6)), x.max()), floats(4, 6))
    same(lambda x: jnp.where(jnp.isnan(x), jnp.nan, 1.0) + jnp.pad(x, 1, constant_values=jnp.nan)[1:-1, 1:-1], floats(4, 6))
    same(lambda x: x / jnp.array([0.0, -0.0]), np.ones(2, np.float32))
    same(lambda x, i: jnp.where(x > 0, i, 0), floats(6), np.arange(6, dtype=np.int32) + 2 ** 24)
    same(jax.vmap(lambda x: jax.lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x)), floats(3, 5))
    same(lambda x: jax.lax.scan(lambda c, _: (c + x, 1), x, None, length=3), floats(3, 5))


def test_gradients_of_gathers(floats, rng):
    ids = np.array([[3, 0, 3, 7]], np.int32)
    same(jax.grad(lambda w, ids: jnp.sum(jnp.square(jnp.tanh(w[ids])))), floats(8, 5), ids)
    same(jax.grad(lambda w, ids: (w[:, ids] ** 2).sum()), floats(4, 8), ids[0])
    same(jax.grad(lambda w, ids: (jnp.take(w, ids, axis=1) ** 3).sum()), floats(3, 8, 5), ids)
    # The loss of a class that is named.
    x, t = floats(4, 9), np.array([1, 8, 0, 3], np.int32)
    same(jax.grad(lambda x, t: -jnp.take_along_axis(jax.nn.log_softmax(x), t[:, None], 1).mean()), x, t)
    same(jax.grad(lambda x, t: -jax.nn.log_softmax(x)[jnp.arange(4), t].mean()), x, t)
    same(jax.grad(lambda x, t: (x[t, jnp.arange(4)] ** 2).sum()), floats(9, 4), t)
    for axis, count in ((0, 2), (1, 3), (2, 4)):
        x = floats(3, 4, 5)
        places = rng.integers(0, x.shape[axis], [count if i == axis else n for i, n in enumerate(x.shape)]).astype(np.int32)
        same(jax.grad(lambda x, places: (jnp.take_along_axis(x, places, axis) ** 2).sum()), x, places)  # pylint: disable=cell-var-from-loop


def test_gradients_along_axes_stay_there(floats):
    """A NaN that is added to one element is in no other."""
    x, t = floats(3, 4), np.array([1, 3, 0], np.int32)
    x[1, 3] = np.nan
    gradient = morello.jit_jax(jax.grad(lambda x, t: (jnp.take_along_axis(x, t[:, None], 1) ** 2).sum()))(x, t)
    assert np.isnan(gradient[1, 3]) and np.isnan(gradient).sum() == 1


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds", "drop"])
def test_gradients_outside(floats, mode):
    x, ids = floats(3, 4), np.array([1, 0, 2] if mode == "promise_in_bounds" else [5, -4, 1], np.int32)
    same(lambda x, ids, u: (x.at[ids].add(u, mode=mode), x.at[:, ids].add(u.T[:3], mode=mode)), x, ids, floats(3, 4))
    same(lambda x, ids, u: (x.at[ids, ids].add(u, mode=mode), x.at[2, 1].add(3.0)), x, ids, floats(3))
    if mode != "drop":
        same(jax.grad(lambda x, ids: (jnp.take_along_axis(x, ids[:, None], 1, mode=mode) ** 2).sum()), x, ids)


def test_integers_that_are_added_at_places():
    ids, u = np.array([0, 0, 2], np.int32), np.array([2 ** 24 + 1, 2, 2 ** 30 + 1], np.int32)
    same(lambda x, ids, u: (x.at[ids, ids].add(u), x.at[ids].add(u[:, None])), np.zeros((3, 3), np.int32), ids, u)
    same(jax.vmap(lambda x, ids, u: x.at[ids].add(u)), np.zeros((2, 3), np.int32), ids[1:, None] - ids[1:, None] // 2,
         u[1:, None])


def test_what_returns_nothing_is_refused():
    def function(x):
        jax.debug.print("{}", x)
        return x * 2
    with pytest.raises(morello.SpecError, match="JAX's primitive 'debug_"):
        morello.jit_jax(function)(np.ones(2, np.float32))


def test_orders_of_axes(floats):
    x, known = floats(4, 6), np.arange(24, dtype=np.float32).reshape(4, 6)
    same(lambda x: (jnp.ravel(x, order="F"), jnp.reshape(x, (3, 8), order="F"), jax.lax.reshape(x, (8, 3), (1, 0))), x)
    same(lambda x: (jax.lax.broadcast_in_dim(x, (6, 4), (1, 0)), jax.lax.broadcast_in_dim(x, (6, 2, 4), (2, 0))), x)
    same(lambda x: x + jax.lax.broadcast_in_dim(known, (6, 4), (1, 0)), floats(6, 4))
    for axis in (0, 1):
        same(jax.grad(lambda x: jnp.prod(x, axis).sum()), x)  # pylint: disable=cell-var-from-loop


def test_parts_without_elements(floats):
    same(lambda x: jax.lax.associative_scan(jnp.add, x), floats(16))
    same(lambda x: jax.lax.associative_scan(jnp.multiply, x, axis=1), floats(3, 5))
    same(lambda x: jnp.concatenate([x[:0], x, x[4:]]), floats(4, 3))
    same(jax.grad(lambda x: jnp.cumprod(x, 1).sum()), floats(3, 4))
    same(jax.grad(lambda x: (jnp.stack([x, x * x], 1) ** 3).sum()), floats(3, 4))


def test_erfc():
    """Where 1 - erf(x) has no digit left."""
    x = np.array([-np.inf, -9, -1, -1e-3, -1e-40, 0, 1e-40, 1e-9, 0.3, 1, 3, 5, 9, np.inf], np.float32)
    wanted = np.array([math.erfc(each) for each in x.astype(np.float64)])
    np.testing.assert_allclose(morello.jit_jax(jax.scipy.special.erfc)(x), wanted, rtol=2e-5)
    assert np.isnan(morello.jit_jax(jax.scipy.special.erfc)(np.array([np.nan, 1], np.float32))[0])
    x = np.array([-9, -5.5, -1, 0, 2, 7], np.float32)
    wanted = [0.5 * each * math.erfc(-each / math.sqrt(2)) for each in x.astype(np.float64)]
    np.testing.assert_allclose(morello.jit_jax(lambda x: jax.nn.gelu(x, approximate=False))(x), wanted, rtol=2e-5)


def test_sums_of_unsigned_integers():
    got = morello.jit_jax(lambda a: a.sum())(np.array([3, 200], np.uint8))
    assert got == 203 and got.dtype == np.int32
    with pytest.raises(morello.SpecError, match="uint32"):
        morello.jit_jax(lambda a: a.astype(jnp.uint32) - jnp.uint32(5))(np.array([3, 200], np.uint8))


def test_keys_of_random_numbers(floats):
    """Dropout without a rate: what depends on keys alone is known."""
    same(lambda x: x + jax.random.normal(jax.random.key(3), (4, 6)), floats(4, 6))


def test_products_are_computed_once(floats):
    """What a layer sums decides what its gradient is: it is kept, and not what only a part of its readers want."""
    arrays = floats(40, 24), floats(24, 10), floats(16, 40), floats(16, 10)
    program = morello.jit_jax(jax.grad(loss, (0, 1))).program(*arrays)
    specs = "\n".join(map(str, program.specs))
    assert specs.count("f32[40,24]") == 2, specs  # what it is multiplied with, and its gradient


def test_a_transformer(floats):
    layers = [{"g1": floats(16), "g2": floats(16), "qkv": floats(16, 48) * 0.3, "out": floats(16, 16) * 0.3,
               "up": floats(16, 64) * 0.3, "down": floats(64, 16) * 0.3} for _ in range(2)]
    same(transformer, floats(8, 16), layers)


def test_indices(floats):
    t, i, k = floats(4, 5, 6), np.array([0, 2, -1, 3], np.int32), np.array([4, -5, 2, 0], np.int32)
    same(lambda t, i, k: (t[i, i], t[i, :, k], t[:, k, i], t[i, 2, k], t[i[:, None], i[None]], t[i, jnp.arange(4)]), t, i, k)
    same(lambda t: (t[jnp.array([0, 3]), jnp.array([1, 1])], t[jnp.arange(3)]), t)
    for place in (-9, 0, 3, 7, 99):  # caches: wholly inside, wherever that should start
        same(lambda x, y, at: jax.lax.dynamic_update_slice(x, y, (at, 0)), floats(8, 6), floats(2, 6),
             np.array(place, np.int32))
    # A class that is named, and what is out of range, as in JAX.
    same(lambda x, ids: -jnp.take_along_axis(jax.nn.log_softmax(x), ids[:, None], -1).mean(), floats(4, 6), i % 4)
    same(lambda ids: jax.nn.one_hot(ids, 5), np.array([0, 4, 5, -1], np.int32))


@pytest.mark.parametrize("function, message", [
    (jnp.sort, "JAX's primitive 'sort'"),
    (lambda x: jax.lax.scan(lambda s, _: (s * x, None), x, None, length=300), "'scan' of 300 steps.* valid are 1 to 256"),
    (lambda x: x.at[1:3, 2].add(1.0), "'scatter-add' of .*: the Spec language has that of slices"),
    (lambda x: jax.lax.while_loop(lambda s: s[0, 0] < 9, lambda s: s + 1, x), "JAX's primitive 'while'"),
])
def test_what_there_is_not(floats, function, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.jit_jax(function)(floats(4, 6))

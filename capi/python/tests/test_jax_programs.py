# SPDX-License-Identifier: MIT
"""Functions for JAX that are several kernels, or have constants of their own, against JAX."""
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
    (lambda x: jax.lax.scan(lambda s, _: (s * x, None), x, None, length=300), "'scan' of 300 steps.* at most 256"),
    (lambda x: jax.lax.pad(x, 0.0, [(0, 0, 1), (0, 0, 0)]), "'pad' between elements"),
    (lambda x: jax.lax.while_loop(lambda s: s[0, 0] < 9, lambda s: s + 1, x), "JAX's primitive 'while'"),
])
def test_what_there_is_not(floats, function, message):
    with pytest.raises(morello.SpecError, match=message):
        morello.jit_jax(function)(floats(4, 6))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions as people write them for JAX: morello.jit_jax beside jax.jit (XLA), on one core, in turns in one process.

    python3 -m venv v && v/bin/pip install . jax
    v/bin/python bench/graphs/functions.py [NAME ...] [--effort quick] [--isa avx2] [--rounds 15] [--steps]

Prints for each how many kernels it is, how long the first call took, the median of rounds (what eight in ten lie between),
the largest difference of a result, and how many times as long XLA takes. Both read and return arrays of their own: NumPy's
and JAX's. --steps: what each kernel takes, longest first. XLA uses all instruction sets that the CPU has.
"""
import argparse
import os
import statistics
import sys
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
os.environ.setdefault("OMP_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import morello  # noqa: E402

RNG = np.random.default_rng(1)


def floats(*shape):
    return (RNG.standard_normal(shape) * shape[0] ** -0.5).astype(np.float32)


def norm(x, gamma):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * gamma


def heads(x, w):
    return (x @ w).reshape(x.shape[0], -1, 64).transpose(1, 0, 2)


def layer(x, p, mask):
    h = norm(x, p["g1"])
    q, k, v = (heads(h, p[name]) for name in "qkv")
    weights = jax.nn.softmax(q @ k.transpose(0, 2, 1) / 8 + mask, -1)
    x = x + (weights @ v).transpose(1, 0, 2).reshape(x.shape) @ p["o"]
    return x + jax.nn.gelu(norm(x, p["g2"]) @ p["up"]) @ p["down"]


def parameters(size):
    return {**{name: floats(size, size) for name in "qkvo"}, "up": floats(size, 4 * size), "down": floats(4 * size, size),
            "g1": floats(size) + 1, "g2": floats(size) + 1}


LAYERS = [parameters(256) for _ in range(4)]
KERNELS = [floats(3, 3, 3, 32), floats(3, 3, 32, 32), floats(3, 3, 32, 64)]


def transformer(x):
    mask = jnp.where(np.tri(x.shape[0]) > 0, 0.0, -jnp.inf)
    for each in LAYERS:
        x = layer(x, each, mask)
    return x


def next_word(x, keys, values, at):
    """One row; keys and values of the rows before are kept."""
    p = LAYERS[0]
    h = norm(x, p["g1"])
    q, k, v = (heads(h, p[name]) for name in "qkv")
    keys = jax.lax.dynamic_update_slice(keys, k, (0, at, 0))
    values = jax.lax.dynamic_update_slice(values, v, (0, at, 0))
    seen = jnp.where(jnp.arange(keys.shape[1]) <= at, 0.0, -jnp.inf)
    weights = jax.nn.softmax(q @ keys.transpose(0, 2, 1) / 8 + seen, -1)
    x = x + (weights @ values).transpose(1, 0, 2).reshape(x.shape) @ p["o"]
    return x + jax.nn.gelu(norm(x, p["g2"]) @ p["up"]) @ p["down"], keys, values


def convolutions(x):
    for w in KERNELS:
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return x.mean((1, 2))


def gradient(w, v, x, t):
    def loss(w, v):
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(jax.nn.relu(x @ w) @ v) * t, -1))
    return jax.value_and_grad(loss, (0, 1))(w, v)


def lstm(x, w, u):
    def step(state, row):
        hidden, cell = state
        i, f, o, z = jnp.split(row @ w + hidden @ u, 4, -1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(z)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden
    zeros = jnp.zeros((x.shape[1], u.shape[0]))
    return jax.lax.scan(step, (zeros, zeros), x)[1]


def rotated(q, k):
    half = q.shape[-1] // 2
    angles = jnp.arange(q.shape[0])[:, None, None] / 10000 ** (jnp.arange(half) / half)

    def turn(x):
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)
    return turn(q), turn(k)


def nearest(x, points):
    distances = (x * x).sum(1)[:, None] - 2 * x @ points.T + (points * points).sum(1)
    return jnp.argmin(distances, 1), jnp.sqrt(jnp.maximum(distances.min(1), 0))


def heat(x):
    for _ in range(4):
        padded = jnp.pad(x, 1)
        x = x + 0.1 * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * x)
    return x


def statistics_of(x):
    mean = x.mean(0)
    centred = x - mean
    return mean, x.std(0), centred.T @ centred / x.shape[0], (x > mean).sum(0)


FUNCTIONS = {
    "transformer": (transformer, (floats(64, 256) * 8,)),
    "next_word": (next_word, (floats(1, 256), floats(4, 512, 64) * 2, floats(4, 512, 64), np.array(300, np.int32))),
    "convolutions": (convolutions, (floats(1, 32, 32, 3),)),
    "gradient": (gradient, (floats(784, 256), floats(256, 10), floats(64, 784) * 8, np.eye(64, 10, dtype=np.float32))),
    "lstm": (lstm, (floats(16, 8, 64) * 4, floats(64, 512), floats(128, 512))),
    "rotated": (rotated, (floats(64, 8, 64) * 8, floats(64, 8, 64) * 8)),
    "nearest": (nearest, (floats(64, 32) * 8, floats(4096, 32) * 64)),
    "logits": (lambda x, w: jnp.argmax(x @ w.T, -1), (floats(4, 256) * 2, floats(8000, 256) * 90)),
    "heat": (heat, (floats(256, 256) * 16,)),
    "statistics": (statistics_of, (floats(2048, 64) * 45,)),
}

# Of no table unless they are named: what calls take, of one kernel and of two, and how long many kernels take to make.
OTHERS = {
    "one_kernel": (lambda x, w: x @ w, (floats(4, 16), floats(16, 16))),
    "two_kernels": (lambda x: jnp.concatenate([x, x]), (floats(4, 16),)),
    "lstm_gradient": (jax.grad(lambda w, u, x: jnp.sum(jnp.square(lstm(x, w, u))), (0, 1)),
                      (floats(64, 512), floats(128, 512), floats(32, 8, 64) * 4)),
}


def median_of(times):
    times = sorted(times)
    return statistics.median(times), times[len(times) // 10], times[-1 - len(times) // 10]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*FUNCTIONS, *OTHERS]))
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--isa")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", action="store_true")
    given = parser.parse_args()
    known = {**FUNCTIONS, **OTHERS}
    unknown = set(given.names) - set(known)
    if unknown:
        parser.error(f"{', '.join(unknown)}: valid are {', '.join(known)}")
    print(f"{morello.cpu_info().name}, morello {morello.__version__}, JAX {jax.__version__}: {' '.join(sys.argv)}")
    print("| function | kernels | first call, s | XLA | us (8 of 10) | XLA | largest difference | XLA / morello |")
    print("|---|---|---|---|---|---|---|---|")
    ratios = []
    for name in given.names or FUNCTIONS:
        function, arrays = known[name]
        mine = morello.jit_jax(function, effort=given.effort, isa=given.isa)
        start = time.perf_counter()
        got = mine(*arrays)
        first = [time.perf_counter() - start]
        compiled, of_jax = jax.jit(function), [jnp.asarray(x) for x in arrays]
        start = time.perf_counter()
        wanted = jax.block_until_ready(compiled(*of_jax))
        first.append(time.perf_counter() - start)
        error = max(float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max())
                    for a, b in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(wanted), strict=True))
        runs = [lambda: mine(*arrays), lambda: jax.block_until_ready(compiled(*of_jax))]
        times = [[], []]
        for _ in range(given.rounds):
            for run, mine_or_other in zip(runs, times):
                calls, start = 0, time.perf_counter()
                while time.perf_counter() - start < 0.02:
                    run()
                    calls += 1
                mine_or_other.append((time.perf_counter() - start) / calls)
        (a, low, high), (b, least, most) = map(median_of, times)
        ratios.append(b / a)
        kernels = mine.program(*arrays).kernels
        print(f"| {name} | {len(kernels)} | {first[0]:.2f} | {first[1]:.2f} | {a * 1e6:.0f} ({low * 1e6:.0f} to {high * 1e6:.0f}) | "
              f"{b * 1e6:.0f} ({least * 1e6:.0f} to {most * 1e6:.0f}) | {error:.1e} | {b / a:.2f} |", flush=True)
        if given.steps:
            program = mine.program(*arrays)
            for kernel, seconds in sorted(program.profile(*arrays), key=lambda each: -each[1])[:8]:
                print(f"    {seconds * 1e6:9.1f} us {kernel.cost:12,.0f} cycles  {kernel.spec}")
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()

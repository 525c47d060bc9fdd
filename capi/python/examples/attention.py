#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An attention head in NumPy, and the same function compiled: what becomes of it, and the time of each."""
import time

import numpy as np

import morello


def attention(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) * 0.125
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def microseconds(function, *arrays):
    best = float("inf")
    for _ in range(100):
        start = time.perf_counter()
        function(*arrays)
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def main():
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((64, 64), dtype=np.float32) for _ in range(3))
    compiled = morello.jit(attention, time_budget=2)
    error = np.abs(compiled(q, k, v) - attention(q, k, v)).max()
    assert error < 1e-5
    print(compiled.kernel(q, k, v).explain())
    print(f"largest difference {error:.1e}; NumPy {microseconds(attention, q, k, v):.0f} us, "
          f"morello {microseconds(compiled, q, k, v):.0f} us")


if __name__ == "__main__":
    main()

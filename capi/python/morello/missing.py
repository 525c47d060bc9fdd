# SPDX-License-Identifier: MIT
"""What the Spec language lacks of NumPy, and what can be written instead."""
from __future__ import annotations

_PARTS = "a @ w[:n] + b @ w[n:] for the product of [a, b] with w, or return the parts and join what the kernel computes"
_PLACES = "x == x.max(axis, keepdims=True), which is 1 at the places of the greatest"
_OUTSIDE = "return the array, and do this with what the kernel computes"

#: By the name of the function, or of the method.
_INSTEAD = {
    "remainder": "x - np.floor(x / y) * y", "mod": "x - np.floor(x / y) * y", "floor_divide": "np.floor(x / y)",
    "divmod": "np.floor(x / y), and x less y times that", "left_shift": "x * 2 ** n",
    "right_shift": "np.floor(x / 2 ** n)",
    "concatenate": _PARTS, "concat": _PARTS, "hstack": _PARTS, "vstack": _PARTS, "append": _PARTS, "stack": _PARTS,
    "pad": _OUTSIDE,
    "argmax": _PLACES, "argmin": _PLACES.replace("max", "min").replace("greatest", "least"),
    "cumsum": "a product with np.tri(n, dtype=np.float32), whose rows are ones up to the diagonal",
    "sort": _OUTSIDE, "argsort": _OUTSIDE, "item": _OUTSIDE, "tolist": _OUTSIDE, "nonzero": _OUTSIDE,
    "any": "mask.max(axis)", "all": "mask.min(axis)", "prod": "np.exp(np.log(x).sum(axis)) of what is above 0",
    "flip": "x[::-1]", "roll": "np.take(x, (np.arange(n) - shift) % n, axis)", "diff": "x[1:] - x[:-1]",
    "repeat": "np.take(x, np.arange(n).repeat(count), axis)", "tile": "np.take(x, np.tile(np.arange(n), count), axis)",
    "norm": "np.sqrt(np.square(x).sum(axis))", "inner": "np.einsum", "tensordot": "np.einsum", "vdot": "np.einsum",
    "zeros_like": "np.zeros(x.shape, x.dtype)", "ones_like": "np.ones(x.shape, x.dtype)",
    "full_like": "np.full(x.shape, value, x.dtype)",
    "log1p": "np.log(1 + x)", "expm1": "np.exp(x) - 1", "log2": "np.log(x) * (1 / np.log(2))",
    "log10": "np.log(x) * (1 / np.log(10))", "tan": "np.sin(x) / np.cos(x)",
    "sign": "np.where(x > 0, 1, np.where(x < 0, -1, 0))", "logaddexp": "morello.logsumexp of both, along an axis",
}


def refusal(written: str, name: str | None = None) -> str:
    """What is said of `written`: an expression, or a function's or a method's name, by which the remedy is found."""
    remedy = _INSTEAD.get(written if name is None else name)
    said = f"{written} of traced arrays: the Spec language has no such operation"
    return f"{said}; instead: {remedy}" if remedy else said

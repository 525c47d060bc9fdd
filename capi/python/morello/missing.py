# SPDX-License-Identifier: MIT
"""What the Spec language lacks of NumPy, and what can be written instead."""
from __future__ import annotations

_OUTSIDE = "return the array, and do this with what the kernel computes"

#: By the name of the function, or of the method.
_INSTEAD = {
    "remainder": "x - np.floor(x / y) * y", "mod": "x - np.floor(x / y) * y", "floor_divide": "np.floor(x / y)",
    "divmod": "np.floor(x / y), and x less y times that", "left_shift": "x * 2 ** n",
    "right_shift": "np.floor(x / 2 ** n)",
    "setitem": "np.where(mask, y, x), with a mask that is known",
    "append": "np.concatenate", "dstack": "np.stack(arrays, 2)",
    "sort": _OUTSIDE, "argsort": _OUTSIDE, "item": _OUTSIDE, "tolist": _OUTSIDE, "nonzero": _OUTSIDE,
    "prod": "np.exp(np.log(x).sum(axis)) of what is above 0",
    "fliplr": "x[:, ::-1]", "flipud": "x[::-1]", "inner": "np.einsum", "tensordot": "np.einsum", "vdot": "np.einsum",
    "log2": "np.log(x) * (1 / np.log(2))",
    "log10": "np.log(x) * (1 / np.log(10))", "tan": "np.sin(x) / np.cos(x)",
    "logaddexp": "morello.logsumexp of both, along an axis",
}


def refusal(written: str, name: str | None = None) -> str:
    """What is said of `written`: an expression, or a function's or a method's name, by which the remedy is found."""
    remedy = _INSTEAD.get(written if name is None else name)
    said = f"{written} of traced arrays: the Spec language has no such operation"
    return f"{said}; instead: {remedy}" if remedy else said

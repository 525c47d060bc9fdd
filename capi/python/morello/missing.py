# SPDX-License-Identifier: MIT
"""What the Spec language lacks of NumPy, and what can be written instead."""
from __future__ import annotations

from typing import Any

from .enums import Status
from .errors import SpecError

_OUTSIDE = "return the array, and do this with what the kernel computes"

#: By the name of the function, or of the method.
_INSTEAD = {
    "left_shift": "x * 2 ** n", "right_shift": "x // 2 ** n of integers",
    "setitem": "np.where(mask, y, x), with a mask that is known",
    "append": "np.concatenate", "dstack": "np.stack(arrays, 2)",
    "sort": _OUTSIDE, "argsort": _OUTSIDE, "item": _OUTSIDE, "tolist": _OUTSIDE, "nonzero": _OUTSIDE,
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


_LEAST, _MOST = -2 ** 31, 2 ** 31 - 1
_BOUNDED = ("min", "max", "fast_min", "fast_max", "clamp")
#: Of comparisons, those that hold of what is less.
_TURNED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal",
           "equal": "equal", "not_equal": "not_equal"}


def beside_integers(operation: str, values: list[Any]) -> tuple[str, list[Any]]:
    """An operation of which everything but numbers is integers, and its values, where numbers may have no 32 bits: bounds
    are as good at the limits, and comparisons with them hold for all, or none."""
    beyond = [v for v in values if isinstance(v, int) and not _LEAST <= v <= _MOST]
    if not beyond:
        return operation, values
    if operation in _BOUNDED:
        return operation, [min(max(v, _LEAST), _MOST) if isinstance(v, int) else v for v in values]
    if operation in _TURNED:
        if isinstance(values[0], int):
            operation, values = _TURNED[operation], values[::-1]
        if values[1] > _MOST:
            return "greater" if operation in ("greater", "greater_equal", "equal") else "less_equal", [values[0], _MOST]
        return "less" if operation in ("less", "less_equal", "equal") else "greater_equal", [values[0], _LEAST]
    raise SpecError(Status.UNSUPPORTED, f"{operation} of integers and {beyond[0]}, which has no 32 bits; of float({beyond[0]}) "
                                        "it is float32")

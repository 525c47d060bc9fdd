# SPDX-License-Identifier: MIT
"""Functions of traced values that are several operations of the Spec language."""
from __future__ import annotations

import math
from typing import Any

from .trace import Axis, Traced, as_traced, axes_of, compare, elementwise, reduce, where


def variance(x: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Traced:
    value = as_traced(x)
    count = math.prod(value.shape[i] for i in axes_of(axis, value.ndim))
    centred = elementwise("sub", value, reduce("mean", value, axis, True))
    result = reduce("mean", elementwise("square", centred), axis, keepdims)
    if count <= ddof:  # as NumPy: a division by 0
        return elementwise("div", result, 0.0)
    return elementwise("mul", result, count / (count - ddof)) if ddof else result


def is_finite(x: Any) -> Traced:
    return compare("less", elementwise("abs", x), math.inf)


def holds(operation: str, x: Any, axis: Axis, keepdims: bool = False) -> Traced:
    """Whether any element is not 0, by reduce_max, or all are, by reduce_min."""
    value = as_traced(x)
    return reduce(operation, value if value.truth else compare("not_equal", value, 0), axis, keepdims)


def sign(x: Any) -> Traced:
    """Zeros and NaN as they are."""
    return where(compare("greater", x, 0), 1, where(compare("less", x, 0), -1, x))


def expm1(x: Any) -> Traced:
    """tanh(x / 2) * (exp(x) + 1), which keeps what is small."""
    return elementwise("mul", elementwise("tanh", elementwise("mul", x, 0.5)),
                       elementwise("add", elementwise("exp", x), 1.0))


def log1p(x: Any) -> Traced:
    """log(u) * x / (u - 1), where u is 1 + x rounded, which makes up for that."""
    u = elementwise("add", x, 1.0)
    corrected = elementwise("mul", elementwise("log", u), elementwise("div", x, elementwise("sub", u, 1.0)))
    return where(compare("equal", u, 1), x, where(compare("equal", u, x), elementwise("log", u), corrected))

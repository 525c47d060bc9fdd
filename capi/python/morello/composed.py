# SPDX-License-Identifier: MIT
"""Functions of traced values that are several operations of the Spec language."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .enums import Dtype
from .missing import beside_integers
from .trace import (Axis, Traced, as_traced, as_value, axes_of, broadcast_to, compare, converted, elementwise, reduce,
                    result_type, unsupported)


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


_POWERS = (0.5, -0.5, -1, 1, 2, 3, 4)  # which the language has


def power(x: Any, exponent: Any) -> Traced:
    value = as_value(exponent)
    if isinstance(value, Traced):
        if not isinstance(x, Traced) and np.ndim(x) == 0 and x == 2:
            return elementwise("exp2", value)
        raise unsupported("powers whose exponent is no number: write "
                          "np.exp(x * np.log(base)) of a base above 0")
    if value in _POWERS or not 0 < abs(value) <= 64 or value * 2 != int(value * 2):
        return elementwise("square", x) if value == 2 else elementwise("pow", x, value)
    if value < 0:
        return elementwise("recip", power(x, -value))
    if value != int(value):
        return elementwise("mul", power(x, int(value)), elementwise("sqrt", x))
    half = power(x, int(value) // 2)
    return elementwise("mul", elementwise("square", half), x) if value % 2 else elementwise("square", half)


def where(condition: Any, x: Any, y: Any) -> Traced:
    """x where the condition is not 0, else y. The condition has no part in the element type of the result: integers stay
    integers, of numbers alone they are int32."""
    values = [as_value(each) for each in (condition, x, y)]
    if not isinstance(values[0], Traced):
        shapes = [value.shape for value in values[1:] if isinstance(value, Traced)]
        return broadcast_to(values[1 if values[0] else 2], np.broadcast_shapes(*shapes))
    chosen = [value for value in values[1:] if isinstance(value, Traced)]
    integers = all(value.element.is_integer if isinstance(value, Traced) else isinstance(value, int) for value in values[1:])
    if integers:
        beside_integers("where", values[1:])
    if integers and chosen and not values[0].element.is_integer:  # which f32 need not have
        truth = values[0] if values[0].truth else compare("not_equal", values[0], 0)
        return select(converted(truth, Dtype.U8), *values[1:])
    result = select(*values)
    if chosen:
        return result
    if integers and not values[0].element.is_integer:
        return converted(result, Dtype.I32)
    result.element = Dtype.I32 if integers else Dtype.F32
    return result


def select(condition: Any, x: Any, y: Any) -> Traced:
    """As the Spec language has it: f32 if any of all is."""
    values = [as_value(each) for each in (condition, x, y)]
    result = elementwise("select", *values)
    chosen = [value for value in values[1:] if isinstance(value, Traced)] or values[:1]
    integers = values[0].element.is_integer
    dtype = result_type("select", chosen + [value for value in values[1:] if isinstance(value, float)])
    result.element = dtype if integers or not dtype.is_integer else Dtype.F32
    result.truth = all(isinstance(value, Traced) and value.truth for value in values[1:])
    return result


def clip(x: Any, low: Any = None, high: Any = None) -> Traced:
    if low is not None and high is not None:
        return elementwise("clamp", x, low, high)
    if low is not None:
        return elementwise("max", x, low)
    return as_traced(x) if high is None else elementwise("min", x, high)

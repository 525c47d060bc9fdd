# SPDX-License-Identifier: MIT
"""Quotients and remainders of integers, to the last bit, of a language whose quotients are f32."""
from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import numpy_dtype
from .composed import select, where
from .enums import Dtype
from .partition import kept_as
from .trace import Traced, as_traced, as_value, compare, converted, elementwise, reshape, result_type, truncated, unsupported

#: How functions are written, and what there is of floats.
_WRITTEN = {"floor_divide": ("x // y", "np.floor(x / y)"), "remainder": ("x % y", "x - np.floor(x / y) * y"),
            "divmod": ("divmod(x, y)", "np.floor(x / y), and x less y times that")}

# Of divisors from this on, a quotient that is rounded three times to 24 bits is off by less than a half.
_LARGE = 1 << 10


def divided(name: str, a: Any, b: Any, toward_zero: bool = False, by_zero: Any = (0, 0)) -> tuple[Traced, Traced]:
    """Quotient and remainder of integers, rounded down, or toward zero. by_zero: both of a divisor of 0, None: a."""
    a, b = _integers(name, a), _integers(name, b)
    element = result_type("floor_divide", [a, b])
    limits = np.iinfo(numpy_dtype(element))
    for number in (a, b):
        if isinstance(number, int) and not limits.min <= number <= limits.max:
            raise unsupported(f"{_WRITTEN.get(name, (name,))[0]} of {element.text} and {number}, which is none of "
                              f"{limits.min} to {limits.max}, and which NumPy refuses as well: convert the array to a wider type")
    if not isinstance(b, Traced) and b == 0:
        b = reshape(as_traced(np.zeros(1, np.int32)), ())
    quotient, rest = (_of_bytes if _has_bytes(a) and _has_bytes(b) else _of_words)(a, b, toward_zero)
    if isinstance(b, Traced):
        quotient = select(b, quotient, a if by_zero[0] is None else by_zero[0])
        rest = select(b, rest, a if by_zero[1] is None else by_zero[1])
    if element == Dtype.I8:  # -128 / -1, which wraps
        quotient = where(compare("equal", quotient, 128), -128, quotient)
    return converted(quotient, element), converted(rest, element)


def _integers(name: str, x: Any) -> Any:
    value = as_value(x)
    if isinstance(value, Traced) and value.truth:
        return converted(value, Dtype.I32)
    if not (value.element.is_integer if isinstance(value, Traced) else isinstance(value, int)):
        written, *instead = _WRITTEN.get(name, (name,))
        raise unsupported(f"{written} of floats: the Spec language has no such operation"
                          + "".join(f"; instead: {each}" for each in instead) + "; of integers it is there")
    return value


def _has_bytes(x: Any) -> bool:
    """Whether that is all that is in x: values that are computed from bytes are not rounded to such."""
    return not isinstance(x, Traced) or kept_as(x).size == 1


def _of_bytes(a: Any, b: Any, toward_zero: bool) -> tuple[Traced, Traced]:
    """In f32, where no quotient of such numbers is rounded to a whole one that it is not."""
    quotient = elementwise("div", a, b)
    quotient = truncated(quotient) if toward_zero else elementwise("floor", quotient)
    return quotient, elementwise("sub", a, elementwise("mul", quotient, b))


def _of_words(a: Any, b: Any, toward_zero: bool) -> tuple[Traced, Traced]:
    """a / b in f32 is off by less than 3 * 2^-24 of itself. The nearest integer is off by 385 at most, which leaves a rest of at
    most |b| / 2 + 384: exact in i32, where products wrap. The rest divided once more is off by less than 2^-13, so that
    what then is left is nearly |b| / 2 at most, and has the wrong sign at worst, which a step of one mends."""
    quotient = converted(elementwise("div", a, b), Dtype.I32)
    if not _has_bytes(a) and not (isinstance(b, int) and abs(b) >= _LARGE) or not isinstance(a, Traced):
        quotient = elementwise("add", quotient, converted(elementwise("div", _rest(a, quotient, b), b), Dtype.I32))
    beyond = _of_other_sign(_rest(a, quotient, b), a if toward_zero else b)
    if toward_zero:  # the quotient is then not 0, and its sign the right one
        beyond = elementwise("mul", beyond, elementwise("clamp", quotient, -1, 1))
    quotient = elementwise("sub", quotient, beyond)
    return quotient, _rest(a, quotient, b)


def _rest(a: Any, quotient: Traced, b: Any) -> Traced:
    return elementwise("sub", a, elementwise("mul", quotient, b))


def _of_other_sign(x: Traced, y: Any) -> Traced:
    """1 where x is not 0 and has another sign than y, else 0."""
    above, below = compare("greater", x, 0), compare("less", x, 0)
    if not isinstance(y, Traced):
        return above if y < 0 else below
    return select(compare("less", y, 0), above, below)

# SPDX-License-Identifier: MIT
"""The few greatest or smallest elements along an axis, one after another."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .composed import where
from .enums import Dtype, Status
from .errors import SpecError
from .indexing import gather
from .trace import Traced, axes_of, both, compare, converted, either, elementwise, ended, reduce, unsupported, whole

MOST = 64  # for each of which there are two kernels
_PLACES = 1 << 23  # of which twice as many are exact in f32


def top(x: Any, count: int, axis: int, largest: bool, join: Callable[[Sequence[Traced], int], Traced]) -> tuple[Traced, Traced]:
    """The `count` greatest elements along an axis, or the smallest, in order, and their places, in int32: of equal ones the
    first come first, NaN is greater than all. join: of values with this axis, one after another; it may write down what
    is in them, in which each `final` one ends a kernel."""
    value = whole("top", x)
    axis, = axes_of(axis, value.ndim)
    size, element = value.shape[axis], value.element
    if not 1 <= count <= size:
        raise SpecError(Status.INVALID_SHAPE, f"the first {count} of axis {axis} of {value!r}: valid are 1 to {size}")
    if count > MOST or size > _PLACES:
        raise unsupported(f"the first {count} of {size} elements: valid are at most {MOST} of {_PLACES}, which are found one "
                          "after another")
    if value.operation != "input":
        value = ended(value)
    operation, least = ("reduce_max", -math.inf) if largest else ("reduce_min", math.inf)
    order: Any = value
    places: Any = np.arange(size, dtype=np.int32).reshape([size if i == axis else 1 for i in range(value.ndim)])
    if value.element.is_integer:
        least = -2 ** 31 if largest else 2 ** 31 - 1
    else:  # NaN as infinity, but before all of these, or behind them
        unordered = compare("not_equal", value, value)
        order = where(unordered, math.inf, value)
        places = elementwise("add", elementwise("mul", unordered, -size if largest else size), places)
    found: list[Traced] = []
    extreme: Any = None
    for _ in range(count):
        left: Any = None  # what is behind the last one that was found
        if found:
            left = either(compare("less" if largest else "greater", order, extreme),
                          both(compare("equal", order, extreme), compare("greater", places, found[-1])))
        extreme = ended(reduce(operation, order if left is None else where(left, order, least), axis, True))
        same = compare("equal", order, extreme)
        same = same if left is None else both(left, same)
        found.append(ended(converted(reduce("reduce_min", where(same, places, 2 * size), axis, True), Dtype.I32)))
    joined = join(found, axis)
    if not value.element.is_integer:
        joined = where(compare("less", joined, 0), elementwise("add", joined, size), joined) if largest else \
            where(compare("less", joined, size), joined, elementwise("sub", joined, size))
    return converted(gather(value, joined, axis, True), element), joined

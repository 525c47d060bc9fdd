# SPDX-License-Identifier: MIT
"""Elements of traced values at places that other values name."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .enums import Dtype, Status
from .errors import SpecError
from .trace import Traced, as_traced, as_value, axes_of, elementwise, reshape, unsupported, whole

_KNOWN = (bool, int, float, np.generic, Sequence, np.ndarray)


def gather(x: Any, index: Any, axis: int, by_elements: bool = False) -> Traced:
    """As the Spec language has it: an index below zero is 0, and one past the end the last."""
    value, places = whole("gather", x), _places(index)
    axis, = axes_of(axis, value.ndim)
    shape = (*value.shape[:axis], *places.shape, *value.shape[axis + 1:])
    if by_elements:
        shape = places.shape
        if shape[:axis] + shape[axis + 1:] != value.shape[:axis] + value.shape[axis + 1:]:
            raise SpecError(Status.INVALID_SHAPE, f"elements of {value!r} along axis {axis} at {places!r}: the other "
                                                  "axes differ")
    return Traced(f"{'gather_elements' if by_elements else 'gather'} axis={axis}", [value, places], shape, value.element)


def _places(index: Any) -> Traced:
    if isinstance(index, _KNOWN):
        array = _integers(index).astype(np.int32, order="C")
        return Traced("input", (), array.shape, Dtype.I32, array=array)
    value = whole("gather", index)
    if not value.element.is_integer:
        raise unsupported(f"an index of {value.element.text}: valid are integers")
    return value


def _integers(index: Any) -> Any:
    array = np.asarray(index)
    if array.dtype.kind not in "iu":
        raise unsupported(f"an index of {array.dtype}: valid are integers")
    if array.size and not -2 ** 31 <= int(array.min()) <= int(array.max()) < 2 ** 31:
        raise unsupported(f"an index with numbers beyond 32 bits, {array.min()} to {array.max()}")
    return array.astype(np.int64)


def from_the_end(index: Any, size: int) -> Any:
    """Indices below zero count from there, as in NumPy."""
    if isinstance(index, _KNOWN):
        array = _integers(index)
        return np.where(array < 0, array + size, array)
    value = as_value(index)
    if not isinstance(value, Traced) or value.element == Dtype.U8:
        return value
    return elementwise("add", value, elementwise("mul", elementwise("less", value, 0), size))


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Traced:
    """numpy.take, but that what is outside is the nearest place: a kernel raises nothing."""
    value = as_traced(a)
    if mode not in ("raise", "clip"):
        raise unsupported(f"take in mode {mode!r}: valid are 'raise' and 'clip'")
    if axis is None:
        value, axis = reshape(value, -1), 0
    axis, = axes_of(axis, value.ndim)
    return gather(value, indices if mode == "clip" else from_the_end(indices, value.shape[axis]), axis)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Traced:
    """numpy.take_along_axis of what has the same shape but for the axis; outside as in `take`."""
    value = as_traced(arr)
    if axis is None:
        value, axis = reshape(value, -1), 0
    axis, = axes_of(axis, value.ndim)
    return gather(value, from_the_end(indices, value.shape[axis]), axis, True)


def indexed(value: Traced, index: Any) -> Traced | None:
    """value[.., index, ..] with one traced index, or array of integers, among whole axes; None: there is no index."""
    parts = list(index) if isinstance(index, tuple) else [index]
    found = [i for i, part in enumerate(parts) if isinstance(part, (Traced, np.ndarray, list))]
    if not found:
        return None
    place = found[0]
    if len(found) > 1 or any(part is not Ellipsis and not (isinstance(part, slice) and part == slice(None))
                             for i, part in enumerate(parts) if i != place):
        raise unsupported(f"{value!r} by {len(found)} indices among others: the Spec language has one "
                          "index of integers among whole axes, x[:, ids]")
    if isinstance(parts[place], Traced) and parts[place].truth:
        raise unsupported(f"{value!r} where a comparison holds, whose shape depends on elements")
    return take(value, parts[place], place - len(parts) if any(part is Ellipsis for part in parts[:place]) else place)

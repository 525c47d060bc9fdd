# SPDX-License-Identifier: MIT
"""Elements of traced values at places that other values name."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .enums import Dtype
from .trace import Traced, as_traced, as_value, elementwise, reshape, unsupported, whole


def gather(x: Any, index: Any, axis: int, by_elements: bool = False) -> Traced:
    """As the Spec language has it: an index below zero is 0, and one past the end the last."""
    value, places = whole("gather", x), _places(index)
    axis %= value.ndim
    shape = places.shape if by_elements else (*value.shape[:axis], *places.shape, *value.shape[axis + 1:])
    return Traced(f"{'gather_elements' if by_elements else 'gather'} axis={axis}", [value, places], shape, value.element)


def _places(index: Any) -> Traced:
    if isinstance(index, (int, np.integer, Sequence, np.ndarray)):
        array = np.asarray(index)
        if array.dtype.kind not in "iu" or (array.astype(np.int32) != array).any():
            raise unsupported(f"an index of {array.dtype}, or beyond 32 bits")
        return Traced("input", (), array.shape, Dtype.I32, array=np.array(array, np.int32))
    value = whole("gather", index)
    if not value.element.is_integer:
        raise unsupported(f"an index of {value.element.text}: valid are i32, i8 and u8")
    return value


def from_the_end(index: Any, size: int) -> Any:
    """Indices below zero count from there, as in NumPy."""
    if not isinstance(index, Traced):
        array = np.asarray(index)
        return np.where(array < 0, array + size, array)
    if index.element == Dtype.U8:
        return index
    return elementwise("add", index, elementwise("mul", elementwise("less", index, 0), size))


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Traced:
    """numpy.take, but that what is outside is the nearest place in every mode but "wrap"."""
    value = as_traced(a)
    if mode not in ("raise", "clip"):
        raise unsupported(f"take in mode {mode!r}: valid are 'raise' and 'clip'")
    if axis is None:
        value, axis = reshape(value, -1), 0
    axis %= value.ndim
    return gather(value, indices if mode == "clip" else from_the_end(as_index(indices), value.shape[axis]), axis)


def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Traced:
    """numpy.take_along_axis, of the same shape but for the axis."""
    value = as_traced(arr)
    axis %= value.ndim
    return gather(value, from_the_end(as_index(indices), value.shape[axis]), axis, True)


def as_index(index: Any) -> Any:
    return index if isinstance(index, (int, np.integer, Sequence, np.ndarray)) else as_value(index)


def indexed(value: Traced, index: Any) -> Traced | None:
    """value[.., index, ..] with one traced index, or array of integers, among whole axes; None: it is no such index."""
    parts = list(index) if isinstance(index, tuple) else [index]
    arrays = [i for i, part in enumerate(parts) if isinstance(part, (Traced, np.ndarray, list))]
    if len(arrays) != 1 or any(part != slice(None) for i, part in enumerate(parts) if i not in arrays):
        return None
    return take(value, parts[arrays[0]], arrays[0])


# SPDX-License-Identifier: MIT
"""Elements of traced values at places that other values name."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .enums import Dtype, Status
from .errors import SpecError
from .trace import Traced, as_traced, as_value, axes_of, elementwise, reshape, transpose, unsupported, whole

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
    operation = "gather_elements" if by_elements else "gather"
    result = Traced(f"{operation} axis={axis}", [value, places], shape, value.element)
    result.truth = value.truth
    return result


def _places(index: Any) -> Traced:
    if isinstance(index, _KNOWN):
        array = _integers(index).astype(np.int32, order="C")
        return Traced("input", (), array.shape, Dtype.I32, array=array)
    value = whole("gather", index)
    if value.truth:
        raise _mask(value)
    if not value.element.is_integer:
        raise unsupported(f"an index of {value.element.text}: valid are integers")
    return value


def _mask(index: Any) -> SpecError:
    return unsupported(f"elements where a comparison or an array of bool holds, {index}, whose shape depends on "
                       "elements: np.where(mask, x, 0) keeps the shape")


def _integers(index: Any) -> Any:
    array = np.asarray(index)
    if array.dtype == np.bool_:
        raise _mask("an array of bool")
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
    if isinstance(value, Traced) and value.truth:
        raise _mask(value)
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


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    """numpy.split: parts of one size, or those between places."""
    value, sections = as_traced(ary), indices_or_sections
    axis, = axes_of(axis, value.ndim)
    size = value.shape[axis]
    if isinstance(sections, (int, np.integer)):
        if sections < 1 or size % sections:
            raise SpecError(Status.INVALID_SHAPE, f"split of {value!r} into {sections} equal parts along axis {axis}, "
                                                  f"which has {size} elements")
        sections = range(size // int(sections), size, size // int(sections))
    edges = [None, *(int(place) for place in sections), None]
    return [part(value, axis, slice(start, stop)) for start, stop in zip(edges, edges[1:])]


def part(value: Traced, axis: int, wanted: slice) -> Traced:
    """value[.., wanted, ..], which is value if it is the whole axis in its order."""
    size = value.shape[axis]
    for bound in (wanted.start, wanted.stop, wanted.step):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, (int, np.integer))):
            raise unsupported(f"a slice from, to or by {bound!r}: valid are integers, since shapes are known before "
                              "elements are")
    places = range(*wanted.indices(size))
    if not places:
        raise SpecError(Status.INVALID_SHAPE, f"{wanted} of axis {axis}, which has {size} elements, takes none of "
                                              "them: arrays have at least one")
    return value if places == range(size) else gather(value, _known_places(places), axis)


@functools.lru_cache(maxsize=64)
def _known_places(places: range) -> Traced:
    """One operand, however many values are cut at the same places."""
    return _places(places)


def _element(value: Traced, axis: int, index: int) -> Traced:
    """The element of an axis, which stays with size 1."""
    size = value.shape[axis]
    if not -size <= index < size:
        raise SpecError(Status.INVALID_SHAPE, f"index {index} of axis {axis}, which has {size} elements: valid are "
                                              f"{-size} to {size - 1}")
    place = int(index) % size
    return part(value, axis, slice(place, place + 1))


def _spread(value: Traced, index: Any) -> list[Any]:
    """An index for each axis of value, and None for each new one."""
    parts = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, each in enumerate(parts) if each is Ellipsis]
    given = sum(1 for each in parts if each is not None and each is not Ellipsis)
    if len(dots) > 1:
        raise SpecError(Status.INVALID_SHAPE, f"{value!r} by more than one '...'")
    if given > value.ndim:
        raise SpecError(Status.INVALID_SHAPE, f"{given} indices of a value with {value.ndim} axes, {value!r}")
    at = dots[0] if dots else len(parts)
    return [*parts[:at], *[slice(None)] * (value.ndim - given), *parts[at + 1:]]


def indexed(value: Traced, index: Any) -> Traced:
    """value[index]: slices, integers, new axes, and one value or array of integers, each along its axis, one axis
    after another. A slice of a whole axis is nothing."""
    parts = _spread(value, index)
    shape: list[int] = []
    chosen: list[int] = []  # where integers and arrays are among parts
    ids: Any = None
    axis = at = ids_axis = 0
    for place, each in enumerate(parts):
        if each is None:
            shape.append(1)
            continue
        if isinstance(each, slice):
            value = part(value, axis, each)
            shape.append(value.shape[axis])
        elif isinstance(each, (int, np.integer)) and not isinstance(each, bool):
            value = _element(value, axis, int(each))
            chosen.append(place)
        elif isinstance(each, (Traced, np.ndarray, list)):
            count = sum(1 for other in parts if isinstance(other, (Traced, np.ndarray, list)))
            if count > 1:
                raise unsupported(f"{value!r} by {count} indices among others: the Spec language has one index of "
                                  "integers, x[:, ids]")
            ids, ids_axis, at = each, axis, len(shape)
            chosen.append(place)
        else:
            raise unsupported(f"{value!r} by an index of {type(each).__name__}: valid are integers, slices, None, "
                              "'...', and one value or array of integers")
        axis += 1
    if ids is None:
        return reshape(value, shape)
    before = value.ndim
    value = take(value, ids, ids_axis)
    count = value.ndim - before + 1
    places = range(ids_axis, ids_axis + count)
    sizes = [value.shape[i] for i in places]
    if chosen[-1] - chosen[0] >= len(chosen):  # apart from one another: as in NumPy, the axes of ids come first
        value, at = transpose(value, [*places, *(i for i in range(value.ndim) if i not in places)]), 0
    return reshape(value, shape[:at] + sizes + shape[at:])

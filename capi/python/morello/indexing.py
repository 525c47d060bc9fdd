# SPDX-License-Identifier: MIT
"""Elements of traced values at places that other values name."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .composed import select, where
from .enums import Dtype, Status
from .errors import SpecError
from .trace import (Axis, Traced, as_traced, as_value, axes_of, compare, converted, either, elementwise, ended, reduce,
                    reshape, transpose, unsupported, whole, without)

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


def gather_points(x: Any, ids: Sequence[Any], axes: Sequence[int]) -> Traced:
    """x[.., ids[0], .., ids[1], ..] with an index for each of some axes: the axes of the indices, and then all others of
    x. Each is the nearest place in its axis."""
    value = whole("gather", x)
    sizes = [value.shape[axis] for axis in axes]
    value = transpose(value, [*axes, *(i for i in range(value.ndim) if i not in axes)])
    flat = reshape(value, [math.prod(sizes), *value.shape[len(sizes):]])
    place: Any = 0
    for index, size in zip(ids, sizes):
        if isinstance(index, _KNOWN):
            near: Any = np.clip(_integers(index), 0, size - 1)
            place = place * size + near if not isinstance(place, Traced) else \
                elementwise("add", elementwise("mul", place, size), near.astype(np.int32))
            continue
        near = elementwise("clamp", _places(index), 0, size - 1)
        place = np.asarray(place * size, np.int32) if not isinstance(place, Traced) else elementwise("mul", place, size)
        place = elementwise("add", near, place)
    return gather(flat, place, 0)


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


def extreme_place(operation: str, x: Any, axis: int | None, keepdims: bool = False, last: bool = False) -> Traced:
    """Where the extremum along an axis is that `operation` finds, the first or the last such place, or NaN if there is
    one: int32. axis None: of what is flattened."""
    value = as_traced(x)
    shape = [1] * value.ndim
    if axis is None:
        value, axis = reshape(value, -1), 0
    axis, = axes_of(axis, value.ndim)
    size = value.shape[axis]
    chosen = compare("equal", value, reduce(operation, value, axis, True))
    if not value.element.is_integer:
        chosen = either(chosen, compare("not_equal", value, value))
    places = np.arange(size, dtype=np.int32).reshape([size if i == axis else 1 for i in range(value.ndim)])
    found = select(chosen, places, -1 if last else size)
    result = converted(reduce("reduce_max" if last else "reduce_min", found, axis, keepdims), Dtype.I32)
    return reshape(result, shape) if keepdims and len(shape) != result.ndim else result


def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Traced:
    return extreme_place("reduce_max", a, axis, keepdims)


def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Traced:
    return extreme_place("reduce_min", a, axis, keepdims)


_LARGE = 1 << 12  # elements, which are worth a kernel of their own


def cumulated(operation: str, x: Any, axis: int | None = None, back: bool = False) -> Traced:
    """What `operation` makes of all elements up to each one, or from the last back to it: in steps that double how many
    have come together."""
    value = as_traced(x)
    if axis is None:
        value, axis = reshape(value, -1), 0
    axis, = axes_of(axis, value.ndim)
    size, distance = value.shape[axis], 1
    if operation in ("add", "mul") and value.element.is_integer:
        value = converted(value, Dtype.I32)
    if axis == value.ndim - 1 > 0 and value.size > _LARGE:  # what is gathered is rows then, not elements
        turned = [axis, *range(axis)]
        rows = cumulated(operation, ended(transpose(value, turned)), 0, back)
        return transpose(ended(rows), [*range(1, value.ndim), 0])
    places = np.arange(size)[::-1] if back else np.arange(size)
    while distance < size:
        there = (places >= distance).reshape([size if i == axis else 1 for i in range(value.ndim)])
        others = gather(value, np.arange(size) + (distance if back else -distance), axis)
        value = where(there, elementwise(operation, value, others), value)
        distance *= 2
    return value


def product(x: Any, axis: Axis = None, keepdims: bool = False) -> Traced:
    """Of all elements along axes: of integers modulo 2^32, as sums are. Parts of equal length are multiplied, four of long
    axes, and what is left over, until one element is left."""
    value = as_traced(x)
    element = Dtype.I32 if value.element.is_integer or value.truth else value.element
    axes = axes_of(axis, value.ndim)
    shape = without(value.shape, axes, keepdims)
    value = converted(value, element)
    for each in axes:
        rest: list[Traced] = []
        while (size := value.shape[each]) > 1:
            if value.size > _LARGE and value.operation != "input":
                value = ended(value)
            length = max(size // 4, 1)
            parts = [part(value, each, slice(i, i + length)) for i in range(0, size - length + 1, length)]
            rest += [part(value, each, slice(i, i + 1)) for i in range(len(parts) * length, size)]
            value = _multiplied(parts)
        value = _multiplied([value, *rest])
    return converted(reshape(value, shape), element)


def _multiplied(values: Sequence[Traced]) -> Traced:
    return functools.reduce(lambda a, b: elementwise("mul", a, b), values)


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


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    """numpy.array_split: as split, but that the first parts are longer by one where sizes are not equal."""
    value = as_traced(ary)
    if isinstance(indices_or_sections, (int, np.integer)) and indices_or_sections > 0:
        size = value.shape[axes_of(axis, value.ndim)[0]]
        each, more = divmod(size, int(indices_or_sections))
        indices_or_sections = np.cumsum([each + (i < more) for i in range(int(indices_or_sections) - 1)])
    return split(value, indices_or_sections, axis)


def difference(a: Any, axis: int = -1) -> Traced:
    """Of neighbours along an axis."""
    value = as_traced(a)
    axis, = axes_of(axis, value.ndim)
    return elementwise("sub", part(value, axis, slice(1, None)), part(value, axis, slice(None, -1)))


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
    """value[index]: slices, integers, new axes, and values or arrays of integers, one axis after another. A slice of a
    whole axis is nothing."""
    parts = _spread(value, index)
    shape: list[int] = []
    chosen: list[int] = []  # where integers and arrays are among parts
    ids: list[Any] = []
    axes: list[int] = []  # of ids
    axis = at = 0
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
            at = at if ids else len(shape)
            ids.append(from_the_end(each, value.shape[axis]))
            axes.append(axis)
            chosen.append(place)
        else:
            raise unsupported(f"{value!r} by an index of {type(each).__name__}: valid are integers, slices, None, "
                              "'...', and values or arrays of integers")
        axis += 1
    if not ids:
        return reshape(value, shape)
    rest = value.ndim - len(ids)
    value = gather(value, ids[0], axes[0]) if len(ids) == 1 else gather_points(value, ids, axes)
    count = value.ndim - rest
    first = axes[0] if len(ids) == 1 else 0
    places = list(range(first, first + count))
    others = [i for i in range(value.ndim) if i not in places]
    sizes = [value.shape[i] for i in places]
    if chosen[-1] - chosen[0] >= len(chosen):  # apart from one another: as in NumPy, the axes of ids come first
        at, before = 0, 0
    else:
        before = axes[0]
    value = transpose(value, [*others[:before], *places, *others[before:]])
    return reshape(value, shape[:at] + sizes + shape[at:])

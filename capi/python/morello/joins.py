# SPDX-License-Identifier: MIT
"""Arrays put together out of others: several kernels, each of which writes to its part."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import numpy_dtype
from .enums import Dtype, Status
from .errors import SpecError
from .indexing import take
from .trace import Axis, Traced, as_traced, axes_of, expand_dims, reshape, result_type, unsupported

#: Operations of no Spec, which a `Writer` knows.
JOINS = ("concatenate", "pad", "spread")


def concatenate(arrays: Any, axis: int | None = 0) -> Traced:
    """numpy.concatenate; axis None: of what is flattened."""
    values = [as_traced(x) for x in arrays]
    if not values:
        raise SpecError(Status.INVALID_SHAPE, "concatenate of nothing: it needs at least one array")
    if axis is None:
        values, axis = [reshape(value, -1) for value in values], 0
    first = values[0]
    axis, = axes_of(axis, first.ndim)
    for value in values:
        if value.ndim != first.ndim or any(a != b for i, (a, b) in enumerate(zip(value.shape, first.shape)) if i != axis):
            raise SpecError(Status.INVALID_SHAPE, f"concatenate of {', '.join(map(repr, values))} along axis {axis}: "
                                                  "the other axes differ")
    if len(values) == 1:
        return first
    shape = [*first.shape[:axis], sum(value.shape[axis] for value in values), *first.shape[axis + 1:]]
    result = Traced(f"concatenate axis={axis}", values, shape, result_type("concatenate", values))
    result.truth = all(value.truth for value in values)
    return result


def stack(arrays: Any, axis: int = 0) -> Traced:
    values = [as_traced(x) for x in arrays]
    return concatenate([expand_dims(value, axis) for value in values], axes_of(axis, values[0].ndim + 1)[0] if values else 0)


def hstack(tup: Any) -> Traced:
    values = [reshape(value, (1,)) if not value.ndim else value for value in map(as_traced, tup)]
    return concatenate(values, 0 if values and values[0].ndim == 1 else 1)


def vstack(tup: Any) -> Traced:
    values = [value if value.ndim > 1 else reshape(value, (1, -1)) for value in map(as_traced, tup)]
    return concatenate(values, 0)


def column_stack(tup: Any) -> Traced:
    values = [value if value.ndim > 1 else reshape(value, (-1, 1)) for value in map(as_traced, tup)]
    return concatenate(values, 1)


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Traced:
    """numpy.pad with one number around it, or in a mode that repeats elements."""
    value = as_traced(array)
    try:
        sides = [(int(low), int(high)) for low, high in np.broadcast_to(pad_width, (value.ndim, 2))]
    except ValueError:
        raise SpecError(Status.INVALID_SHAPE, f"pad of {value!r} by {pad_width}: valid are a number, (before, after), "
                                              "or such a pair for each axis") from None
    if min((side for pair in sides for side in pair), default=0) < 0:
        raise SpecError(Status.INVALID_SHAPE, f"pad of {value!r} by {pad_width}: valid are numbers of at least 0")
    if mode == "constant":
        return padded(value, sides, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise unsupported(f"pad in mode {mode!r}: valid are constant, edge, reflect, symmetric and wrap")
    for axis, pair in enumerate(sides):
        if any(pair):
            value = take(value, np.pad(np.arange(value.shape[axis]), pair, mode), axis)  # type: ignore[call-overload]
    return value


def padded(value: Traced, sides: Sequence[tuple[int, int]], number: Any) -> Traced:
    """number: what is before and after each axis."""
    if np.ndim(number) or isinstance(number, Traced):
        raise unsupported("pad with numbers that differ, or that are computed: valid is one number")
    known = number.item() if isinstance(number, np.generic) else number
    if isinstance(known, float) and value.element.is_integer:
        if not known.is_integer():
            raise unsupported(f"pad of {value!r} with {known}: valid are integers")
        known = int(known)
    elif not value.element.is_integer:
        with np.errstate(over="ignore"):
            known = float(np.asarray(known, numpy_dtype(value.element)))
    if not any(map(any, sides)):
        return value
    text = ",".join(f"{low}:{high}" for low, high in sides)
    result = Traced(f"pad sides={text}", [value, known],
                    [size + low + high for size, (low, high) in zip(value.shape, sides)], value.element)
    result.truth = value.truth and known in (0, 1)
    return result


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Traced:
    value = as_traced(a)
    if axis is None:
        value, axis = reshape(value, -1), 0
    axis, = axes_of(axis, value.ndim)
    return take(value, np.arange(value.shape[axis]).repeat(repeats), axis)


def tile(A: Any, reps: Any) -> Traced:  # pylint: disable=invalid-name
    value = as_traced(A)
    times = [int(reps)] if isinstance(reps, (int, np.integer)) else [int(each) for each in reps]
    value = reshape(value, [1] * (len(times) - value.ndim) + list(value.shape))
    times = [1] * (value.ndim - len(times)) + times
    if min(times) < 1:
        raise SpecError(Status.INVALID_SHAPE, f"tile of {value!r} by {reps}: valid are numbers of at least 1")
    for axis, count in enumerate(times):
        if count > 1:
            value = take(value, np.tile(np.arange(value.shape[axis]), count), axis)
    return value


def roll(a: Any, shift: Any, axis: Axis = None) -> Traced:
    value = as_traced(a)
    if axis is None:
        return reshape(roll(reshape(value, -1), shift, 0), value.shape)
    axes = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
    for each, count in zip(axes, np.broadcast_to(shift, (len(axes),))):
        place, = axes_of(int(each), value.ndim)
        value = take(value, np.roll(np.arange(value.shape[place]), int(count)), place)
    return value


def flip(m: Any, axis: Axis = None) -> Traced:
    value = as_traced(m)
    for each in axes_of(axis, value.ndim):
        value = take(value, np.arange(value.shape[each])[::-1], each)
    return value


def kept_together(values: Sequence[Traced], kept: Sequence[Dtype]) -> Dtype:
    """The type of the buffer to whose parts kernels write: that in which all are kept, or one that has them all."""
    if len(set(kept)) == 1:
        return kept[0]
    return Dtype.I32 if all(value.element.is_integer for value in values) else Dtype.F32

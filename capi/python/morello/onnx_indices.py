# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: those that read elements at places that integers name."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import composed, trace
from .indexing import from_the_end, gather
from .onnx_lowering import Node, Row, Value, narrowed, numpy_of
from .onnx_operators import later, op, truncated
from .program import at
from .trace import Traced, unsupported


def _inside(node: Node, places: Any, size: int) -> Any:
    """Known places from 0 on."""
    index = np.asarray(places).astype(np.int64)
    if index.size and (index.min() < -size or index.max() >= size):
        raise unsupported(f"{node.op} of places {index.min()} to {index.max()}, of {size}")
    return np.where(index < 0, index + size, index)


def taken(node: Node, x: Traced, places: Any, axis: int) -> Traced:
    """The elements at places of an axis that are known: a view, where they are at equal distances."""
    index = _inside(node, places, x.shape[axis])
    line = index.reshape(-1)
    steps = np.diff(line)
    step = int(steps[0]) if steps.size else 1
    if step < 0 or (steps != step).any():
        return gather(x, index, axis)
    view = node.view(x, at(*(slice(None),) * axis, slice(int(line[0]), int(line[-1]) + 1, max(step, 1))))
    if step == 0:
        repeats = [line.size if i == axis else length for i, length in enumerate(x.shape)]
        view = node.view(view, lambda array: np.broadcast_to(array, repeats))
    return trace.reshape(view, (*x.shape[:axis], *index.shape, *x.shape[axis + 1:]))


def _gather(node: Node) -> Any:
    x, index = node.input(0), node.input(1)
    axis = node.get("axis", 0) % len(x.shape)
    if 0 in index.shape:  # all of its elements are known
        return Value(np.empty((*x.shape[:axis], *index.shape, *x.shape[axis + 1:]), numpy_of(x.type)), x.type)
    if index.known:
        return taken(node, node.traced(0), index.value, axis)
    return gather(node.traced(0), from_the_end(node.traced(1), x.shape[axis]), axis)


def _gather_elements(node: Node) -> Any:
    axis = node.get("axis", 0) % len(node.shape())
    x, index = node.traced(0), node.input(1)
    if 0 in index.shape:
        return Value(np.empty(index.shape, numpy_of(node.type())), node.type())
    for other, length in enumerate(index.shape):
        if other != axis and length != x.shape[other]:
            x = taken(node, x, np.arange(length), other)
    places = index.value if index.known else node.traced(1)
    return gather(x, from_the_end(places, x.shape[axis]), axis, by_elements=True)


def _gather_nd(node: Node) -> Any:
    """Places along several axes are those of one, in which they lie one after another."""
    shape, index, batches = node.shape(), node.input(1), node.get("batch_dims", 0)
    axes = range(batches, batches + index.shape[-1])
    whole = math.prod(shape[:axes.stop])
    x = trace.reshape(node.traced(0), (whole, *shape[axes.stop:]))
    place: Any = None
    if batches:
        blocks = math.prod(shape[:batches])
        line = np.arange(blocks, dtype=np.int32) * np.int32(whole // blocks)
        place = line.reshape(*shape[:batches], *(1,) * (len(index.shape) - 1 - batches))
    for i, axis in enumerate(axes):
        inside = math.prod(shape[axis + 1:axes.stop])
        if index.known:
            part = _inside(node, index.value[..., i], shape[axis]) * inside
            place = part if place is None else place + part
        else:
            part = trace.reshape(node.view(node.traced(1), at(..., slice(i, i + 1))), index.shape[:-1])
            part = op("clamp", from_the_end(part, shape[axis]), 0, shape[axis] - 1)
            part = op("mul", part, inside)
            place = part if place is None else op("add", part, place)
    return taken(node, x, place, 0) if index.known else gather(x, place, 0)


def _reverse_sequence(node: Node) -> Any:
    """The first elements of each sequence backwards: places along both axes, as one."""
    x, axis = node.traced(0), node.get("time_axis", 0)
    step, batch = np.indices(x.shape[:2])[::1 if axis == 0 else -1]
    lengths = node.known(1, "sequence_lens")[batch]
    step = np.where(step < lengths, lengths - 1 - step, step)
    places = step * x.shape[1] + batch if axis == 0 else batch * x.shape[1] + step
    return taken(node, trace.reshape(x, (-1, *x.shape[2:])), places, 0)


def _trilu(node: Node) -> Any:
    distance = int(node.known(1, "k").reshape(-1)[0]) if node.has(1) else 0
    ones = np.ones(node.shape()[-2:], np.bool_)
    kept = np.triu(ones, distance) if node.get("upper", 1) else np.tril(ones, distance)
    return composed.select(kept, node.traced(0), 0)


def _one_hot(node: Node) -> Any:
    depth = int(node.known(1, "depth").reshape(-1)[0])
    axis = node.get("axis", -1) % (len(node.shape()) + 1)
    index, values = node.traced(0), node.input(2)
    if node.floats():
        index = truncated(index)
    places = np.arange(depth, dtype=np.float32 if node.floats() else np.int32)
    places = places.reshape([depth if i == axis else 1 for i in range(index.ndim + 1)])
    chosen = later("equal", trace.expand_dims(from_the_end(index, depth), axis), places)
    off, on = narrowed(values.value).tolist() if values.known else (
        trace.reshape(node.view(node.traced(2), at(slice(i, i + 1))), ()) for i in range(2))
    return Value(composed.select(chosen, on, off), values.type)


INDICES: dict[str, Row] = {
    "Gather": Row(_gather, "`gather`; of known places at equal distances a view"),
    "GatherElements": Row(_gather_elements, "`gather_elements`"),
    "GatherND": Row(_gather_nd, "`mul`, `add` of places, `gather`"),
    "ReverseSequence": Row(_reverse_sequence, "`gather`", known=(1,)),
    "Trilu": Row(_trilu, "`select`", known=(1,)),
    "OneHot": Row(_one_hot, "`equal`, `select`", known=(1,)),
}

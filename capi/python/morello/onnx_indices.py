# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: those that read elements at places that integers name."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import trace
from .indexing import from_the_end, gather
from .onnx_lowering import Node, Row, Value
from .onnx_moves import sliced
from .onnx_operators import later, op
from .onnx_program import at
from .trace import Traced, unsupported


def taken(node: Node, x: Value, places: Any, axis: int) -> Traced:
    """The elements at places of an axis that are known: a view, where they are at equal distances."""
    index = np.asarray(places).astype(np.int64)
    size = x.shape[axis]
    if index.size and (index.min() < -size or index.max() >= size):
        raise unsupported(f"{node.op} of places {index.min()} to {index.max()}, of {size}")
    index = np.where(index < 0, index + size, index)
    line = index.reshape(-1)
    steps = np.diff(line)
    if line.size == 1 or (steps[0] >= 0 and (steps == steps[0]).all()):
        step = int(steps[0]) if line.size > 1 else 1
        part = (slice(None),) * axis + (slice(int(line[0]), int(line[-1]) + 1, max(step, 1)),)
        view = node.view(node.lowering.traced(x), at(*part))
        if line.size > 1 and step == 0:
            shape = list(x.shape)
            shape[axis] = line.size
            view = trace.broadcast_to(view, shape)
        return trace.reshape(view, (*x.shape[:axis], *index.shape, *x.shape[axis + 1:]))
    return gather(node.lowering.traced(x), index.astype(np.int32), axis)


def _gather(node: Node) -> Any:
    axis = node.get("axis", 0) % len(node.shape())
    if node.input(1).known:
        return taken(node, node.input(0), node.input(1).value, axis)
    return gather(node.traced(0), from_the_end(node.traced(1), node.shape()[axis]), axis)


def _gather_elements(node: Node) -> Any:
    axis = node.get("axis", 0) % len(node.shape())
    x, index = node.input(0), node.input(1)
    size = x.shape[axis]
    for other, length in enumerate(index.shape):
        if other != axis and length != x.shape[other]:
            x = sliced(node, x, other, 0, length)
    return gather(node.lowering.traced(x), from_the_end(node.traced(1), size), axis, by_elements=True)


def _gather_nd(node: Node) -> Any:
    """Places along several axes are those of one, in which they lie one after another."""
    shape, index = node.shape(), node.input(1)
    count = index.shape[-1]
    if node.get("batch_dims", 0):
        raise unsupported("operator GatherND with batches")
    x = trace.reshape(node.traced(0), (math.prod(shape[:count]), *shape[count:]))
    place: Any = None
    for axis in range(count):
        inside = math.prod(shape[axis + 1:count])
        if index.known:
            part = np.asarray(index.value)[..., axis]
            part = np.where(part < 0, part + shape[axis], part).astype(np.int32) * inside
            place = part if place is None else place + part
            continue
        part = trace.reshape(node.view(node.traced(1), at(Ellipsis, slice(axis, axis + 1))), index.shape[:-1])
        part = op("mul", from_the_end(part, shape[axis]), inside)
        place = part if place is None else op("add", place, part)
    return gather(x, place, 0)


def _one_hot(node: Node) -> Any:
    depth = int(node.known(1, "depth").reshape(-1)[0])
    axis = node.get("axis", -1) % (len(node.shape()) + 1)
    if not node.floats() and node.input(2).known:
        off, on = node.input(2).value.tolist()
        line = [1] * (len(node.shape()) + 1)
        line[axis] = depth
        index = trace.expand_dims(from_the_end(node.traced(0), depth), axis)
        places = np.arange(depth, dtype=np.int32).reshape(line)
        chosen = later("equal", index, places)
        return Value(op("add", op("mul", chosen, on - off), off), node.type(2))
    raise unsupported("operator OneHot of floats, or of values that are computed")


INDICES: dict[str, Row] = {
    "Gather": Row(_gather, "`gather`; of known places at equal distances a view"),
    "GatherElements": Row(_gather_elements, "`gather_elements`"),
    "GatherND": Row(_gather_nd, "`mul`, `add` of places, `gather`"),
    "OneHot": Row(_one_hot, "`equal`, `mul`, `add`", known=(1, 2)),
}

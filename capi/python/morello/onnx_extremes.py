# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: those that find the greatest or the smallest elements."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import trace
from .extremes import top
from .indexing import extreme_place
from .onnx_lowering import Node, Row, Value
from .onnx_moves import concatenated
from .trace import Traced


def _arg(node: Node) -> Any:
    """Of the places of the extreme, the first or the last; NaN is that, as in NumPy."""
    operation = "reduce_max" if node.op == "ArgMax" else "reduce_min"
    return extreme_place(operation, node.traced(0), node.get("axis", 0), bool(node.get("keepdims", 1)),
                         bool(node.get("select_last_index", 0)))


def _top_k(node: Node) -> Any:
    """Of equal elements the first come first, and NaN is greater than all, as ONNX's own evaluator has it."""
    def join(places: Sequence[Traced], axis: int) -> Traced:
        for each in places:
            node.writer.rooms.number(each)
        node.settled(places[-1])
        node.writer.keep(places[-1])
        return concatenated(node, [Value(each, TensorProto.INT32) for each in places], axis)
    from onnx import TensorProto  # pylint: disable=import-outside-toplevel
    count, = node.listed(1, "k") or [0]
    values, places = top(node.writer.leaf(node.traced()), count, node.get("axis", -1), bool(node.get("largest", 1)), join)
    return [values, places]


def _hardmax(node: Node) -> Any:
    x, axis = node.traced(), node.get("axis", -1 if node.version >= 13 else 1)
    flat = x if node.version >= 13 else trace.reshape(x, (math.prod(x.shape[:axis % x.ndim]), -1))
    axis = axis % x.ndim if node.version >= 13 else 1
    places = np.arange(flat.shape[axis], dtype=np.int32).reshape([-1 if i == axis else 1 for i in range(flat.ndim)])
    chosen = node.settled(trace.compare("equal", extreme_place("reduce_max", flat, axis, True), places))
    return trace.reshape(trace.converted(chosen, x.element), x.shape)


EXTREMES: dict[str, Row] = {
    "ArgMax": Row(_arg, "`reduce_max`, `equal`, `select`, `reduce_min`"),
    "ArgMin": Row(_arg, "`reduce_min`, `equal`, `select`, `reduce_min`"),
    "Hardmax": Row(_hardmax, "as ArgMax, and `equal`"),
    "TopK": Row(_top_k, "for each of 64 elements at most `reduce_max`, and `reduce_min` of places; `gather_elements`",
                known=(1,)),
}

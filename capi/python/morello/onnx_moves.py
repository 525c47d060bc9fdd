# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: those that move elements, or sum them along letters."""
from __future__ import annotations

import math
import string
from typing import Any

import numpy as np

from . import trace
from .composed import where
from .indexing import cumulated, gather
from .onnx_indices import taken
from .onnx_lowering import Node, Row, Value, narrowed, numpy_of, traced_type
from .program import at
from .writer import Writer
from .products import einsum
from .trace import Traced, unsupported


def _bit_cast(node: Node) -> Any:
    to = node.get("to")
    target = numpy_of(to)
    if numpy_of(node.type()).itemsize != target.itemsize or target.itemsize > 4:
        raise unsupported("operator BitCast between types of different sizes, or of 64 bits")
    traced_type(to)
    return Value(node.view(node.traced(), lambda array: array.view(target)), to)


def _reshape(node: Node) -> Any:
    sizes = node.listed(1, "shape") or []
    if not node.get("allowzero", 0):
        sizes = [node.shape()[i] if size == 0 else size for i, size in enumerate(sizes)]
    return trace.reshape(node.traced(), sizes)


def _flatten(node: Node) -> Any:
    axis = node.get("axis", 1)
    axis += len(node.shape()) if axis < 0 else 0
    return trace.reshape(node.traced(), (math.prod(node.shape()[:axis]), math.prod(node.shape()[axis:])))


def _expand(node: Node) -> Any:
    shape = np.broadcast_shapes(node.shape(), tuple(node.listed(1, "shape") or ()))
    return trace.broadcast_to(node.traced(), shape)


def sliced(node: Node, value: Value, axis: int, start: int | None, stop: int | None, step: int = 1) -> Value:
    index = (slice(None),) * axis + (slice(start, stop, step),)
    shape = list(value.shape)
    shape[axis] = len(range(*index[-1].indices(shape[axis])))
    if 0 in shape:  # all of its elements are known
        return Value(np.empty(shape, numpy_of(value.type)), value.type)
    return Value(node.view(node.lowering.traced(value), at(*index)), value.type)


def _slice(node: Node) -> Any:
    starts, ends = node.listed(1, "starts") or [], node.listed(2, "ends") or []
    value = node.input(0)
    axes = node.listed(3, "axes") if node.has(3) or node.get("axes") else list(range(len(starts)))
    steps = node.listed(4, "steps") if node.has(4) else [1] * len(starts)
    for axis, start, end, step in zip(axes or [], starts, ends, steps or []):
        axis %= len(node.shape())
        if step < 0:
            places = range(*slice(start, end, step).indices(value.shape[axis]))
            if places:
                value = Value(taken(node, node.lowering.traced(value), places, axis), value.type)
                continue
            start, end, step = 0, 0, 1
        value = sliced(node, value, axis, start, end, step)
    return value


def _split(node: Node) -> Any:
    axis = node.get("axis", 0) % len(node.shape())
    size = node.shape()[axis]
    sizes = node.listed(1, "split")
    if not sizes:
        count = node.get("num_outputs", node.outputs)
        most = -(-size // count)
        sizes = [min(most, size - i * most) for i in range(count)]
    starts = np.cumsum([0, *sizes])
    return [sliced(node, node.input(0), axis, int(start), int(start) + length)
            for start, length in zip(starts, sizes)]


def _concat(node: Node) -> Any:
    return concatenated(node, [value for value in node.inputs if value is not None], node.get("axis", 1))


def concatenated(node: Node, values: list[Value], axis: int) -> Traced:
    values = [value for value in values if 0 not in value.shape]
    axis %= len(values[0].shape)
    if len(values) == 1:
        return node.lowering.traced(values[0])
    shape = list(values[0].shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    parts = [node.lowering.traced(value) for value in values]
    return node.writer.concatenated(parts, traced_type(values[0].type), shape, axis)


def _tile(node: Node) -> Any:
    repeats = node.listed(1, "repeats") or []
    return repeated(node.writer, node.traced(), [[(n, 1), (1, size)] for n, size in zip(repeats, node.shape())])


def repeated(writer: Writer, x: Traced, parts: list[list[tuple[int, int]]]) -> Traced:
    """Of each axis parts of (how often, how many): a copy of a view with stride 0."""
    spread = trace.reshape(x, [size for part in parts for _, size in part])
    spread = trace.broadcast_to(spread, [n * size for part in parts for n, size in part])
    out = writer.buffer(x.element, spread.shape)
    writer.write(spread, out)
    return trace.reshape(writer.written(out), [math.prod(n * size for n, size in part) for part in parts])


def _pad(node: Node) -> Any:
    pads = node.listed(1, "pads") or []
    axes = (node.listed(3, "axes") if node.has(3) else None) or list(range(len(node.shape())))
    mode = node.get("mode", "constant")
    sides = {axis % len(node.shape()): (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    if min(pads, default=0) < 0:
        raise unsupported("operator Pad that cuts off")
    if mode == "constant":
        number = narrowed(node.known(2, "constant_value")).item() if node.has(2) else node.get("value", 0)
        return padded(node, node.traced(), sides, number)
    x = node.traced()
    for axis, widths in sides.items():
        if any(widths):  # modes are NumPy's
            x = taken(node, x, np.pad(np.arange(x.shape[axis]), widths, mode), axis)
    return x


def padded(node: Node, x: Traced, pads: dict[int, tuple[int, int]], number: Any) -> Traced:
    """number: what is put around it, which may be a traced one."""
    return node.writer.padded(x, [pads.get(axis, (0, 0)) for axis in range(x.ndim)], number)


def _blocks(node: Node) -> Any:
    n, c, h, w = node.shape()
    b, x = node.get("blocksize"), node.traced()
    if node.op == "SpaceToDepth":
        order = (0, 3, 5, 1, 2, 4) if node.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
        x = trace.transpose(trace.reshape(x, (n, c, h // b, b, w // b, b)), order)
        return trace.reshape(x, (n, c * b * b, h // b, w // b))
    rest = c // (b * b)
    if node.get("mode", "DCR") == "DCR":
        x = trace.transpose(trace.reshape(x, (n, b, b, rest, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        x = trace.transpose(trace.reshape(x, (n, rest, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return trace.reshape(x, (n, rest, h * b, w * b))


def _einsum(node: Node) -> Any:
    text = node.get("equation").replace(" ", "")
    values = [node.traced(i) for i in range(len(node.inputs))]
    free = iter(letter for letter in string.ascii_letters if letter not in text)
    names: list[str] = []
    terms = text.split("->")[0].split(",")
    longest = max((value.ndim - len(term) + 3 for term, value in zip(terms, values) if "..." in term), default=0)
    names = [next(free) for _ in range(longest)]
    terms = [term.replace("...", "".join(names[longest - (value.ndim - len(term) + 3):]))
             for term, value in zip(terms, values)]
    joined = "".join(terms)
    result = text.split("->")[1].replace("...", "".join(names)) if "->" in text else \
        "".join(names) + "".join(sorted(x for x in set(joined) if joined.count(x) == 1 and x not in names))
    if any(len(set(term)) < len(term) for term in terms):
        raise unsupported("operator Einsum with a letter twice in one tensor")
    if len(values) == 1:
        x = trace.reduce("reduce_sum", values[0], [i for i, name in enumerate(terms[0]) if name not in result])
        left = [name for name in terms[0] if name in result]
        return trace.transpose(x, [left.index(name) for name in result]) if result else x
    return einsum(f"{','.join(terms)}->{result}", *values)


def _cumulate(node: Node) -> Any:
    x = node.traced()
    axis = int(node.known(1, "axis").reshape(-1)[0]) % x.ndim
    if node.floats() or node.op == "CumProd":
        return _cumulate_by_steps(node, x, axis)
    ones = np.tri(x.shape[axis], k=-1 if node.get("exclusive", 0) else 0, dtype=np.int32)
    if node.get("reverse", 0):
        ones = ones[::-1, ::-1]
    ones = np.ascontiguousarray(ones.T)
    letters = string.ascii_lowercase[:x.ndim]
    result = letters.replace(letters[axis], "z")
    return einsum(f"{letters},{letters[axis]}z->{result}", x, ones)


def _cumulate_by_steps(node: Node, x: Traced, axis: int) -> Any:
    """A product with ones and zeros would make NaN of infinities."""
    size, back = x.shape[axis], bool(node.get("reverse", 0))
    operation, nothing = ("mul", 1) if node.op == "CumProd" else ("add", 0)
    result = node.settled(cumulated(operation, x, axis, back))
    if not node.get("exclusive", 0):
        return result
    places = np.arange(size) + (1 if back else -1)
    inside = ((places >= 0) & (places < size)).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return where(inside, gather(node.writer.leaf(result), places.clip(0, size - 1), axis), nothing)


MOVES: dict[str, Row] = {
    "Identity": Row(lambda node: node.traced(), "nothing, or `move`"),
    "Reshape": Row(_reshape, "`reshape`", known=(1,)),
    "Flatten": Row(_flatten, "`reshape`"),
    "Squeeze": Row(lambda node: trace.squeeze(node.traced(), node.listed(1, "axes")), "`reshape`", known=(1,)),
    "Unsqueeze": Row(lambda node: trace.expand_dims(node.traced(), node.listed(1, "axes")), "`reshape`", known=(1,)),
    "Transpose": Row(lambda node: trace.transpose(node.traced(), node.get("perm")), "`transpose`"),
    "Expand": Row(_expand, "broadcasting, or a view with stride 0", known=(1,)),
    "Slice": Row(_slice, "a view; backwards `gather`", known=(1, 2, 3, 4)),
    "Split": Row(_split, "views", known=(1,)),
    "Concat": Row(_concat, "parts of an array, to which the kernels of the parts write"),
    "Tile": Row(_tile, "a view with stride 0, `move`", known=(1,)),
    "Pad": Row(_pad, "`fill`, and a kernel that writes to the inner part; in other modes `gather` along each axis",
               known=(1, 2, 3)),
    "DepthToSpace": Row(_blocks, "`reshape`, `transpose`"), "SpaceToDepth": Row(_blocks, "`reshape`, `transpose`"),
    "Einsum": Row(_einsum, "`einsum` of two, or `reduce_sum` and `transpose` of one"),
    "CumSum": Row(_cumulate, "of integers: `einsum` with ones and zeros; of floats as CumProd", known=(1,)),
    "CumProd": Row(_cumulate, "`mul` of elements that are 1, 2, 4, .. apart, by `gather` and `select`", known=(1,)),
    "BitCast": Row(_bit_cast, "a view, `move`"),
}

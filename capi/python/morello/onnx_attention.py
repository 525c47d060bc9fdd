# SPDX-License-Identifier: MIT
"""ONNX's operator Attention: one Spec, whatever is masked."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import trace
from .onnx_lowering import Node, Value
from .onnx_moves import concatenated, padded
from .onnx_operators import op
from .products import matmul
from .trace import Traced

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = 2.0 ** -126


def _heads(node: Node, index: int, name: str) -> Traced:
    """[batch, heads, length, size], of that or [batch, length, heads * size]."""
    x = node.traced(index)
    if x.ndim == 4:
        return x
    heads = node.get(name)
    return trace.transpose(trace.reshape(x, (x.shape[0], x.shape[1], heads, x.shape[2] // heads)), (0, 2, 1, 3))


def _window(node: Node, rows: int, columns: int, before: int) -> Any:
    """What may be looked at by position, but for what is causal: 0 or -inf; None if that is everything."""
    distance = np.arange(rows)[:, None] + before - np.arange(columns)
    left, right = node.get("left_window_size", -1), node.get("right_window_size", -1)
    allowed = np.ones(distance.shape, np.bool_)
    if left >= 0:
        allowed &= distance <= left
    if right >= 0:
        allowed &= -distance <= right
    return None if allowed.all() else np.where(allowed, np.float32(0), np.float32(-np.inf))


def _mask(node: Node, columns: int, shared: tuple[int, ...]) -> Any:
    """The mask as what is added: a traced value whose heads are two axes, as those of keys."""
    x = node.traced(3)
    truth = node.type(3) == 9
    if x.shape[-1] < columns:
        x = padded(node, x, {x.ndim - 1: (0, columns - x.shape[-1])}, 0 if truth else -math.inf)
    if x.ndim > 2:
        heads = x.shape[-3]
        x = trace.reshape(x, (*x.shape[:-3], *(shared if heads > 1 else (1,) * len(shared)), *x.shape[-2:]))
    if truth:  # 0, or -1 times twice the largest power of two
        x = op("mul", op("mul", op("sub", x, 1), 2.0 ** 127), 2.0 ** 127)
    return x


def _softmax(x: Any) -> Any:
    """Along the last axis; zeros where all is -inf."""
    most = op("max", trace.reduce("reduce_max", x, -1, True), -LARGEST)
    powers = op("exp", op("sub", x, most))
    return op("div", powers, op("max", trace.reduce("reduce_sum", powers, -1, True), SMALLEST))


def lower(node: Node) -> Any:
    if node.has(6):
        return None
    q = _heads(node, 0, "q_num_heads")
    keys, values = (Value(_heads(node, i, "kv_num_heads"), node.type(i)) for i in (1, 2))
    before = 0
    if node.has(4):
        before = node.shape(4)[2]
        keys, values = (Value(concatenated(node, [node.input(past), new], 2), new.type)
                        for past, new in ((4, keys), (5, values)))
    k, v = keys.value, values.value
    batch, heads, rows, size = q.shape
    groups, columns = k.shape[1], k.shape[2]
    shared = groups, heads // groups
    scale = node.get("scale") or 1 / math.sqrt(size)
    if groups != heads:  # queries of several heads share keys: an axis with stride 0
        q = trace.reshape(q, (batch, *shared, rows, size))
        k, v = (node.view(x, lambda array: np.broadcast_to(
            array[:, :, None], (batch, *shared, columns, array.shape[3]))) for x in (k, v))
    bias: Any = _window(node, rows, columns, before)
    if node.has(3):
        mask = _mask(node, columns, shared if groups != heads else (heads,))
        bias = mask if bias is None else op("add", mask, bias)
    softcap, mode = node.get("softcap", 0.0), node.get("qk_matmul_output_mode", 0)
    scores = op("mul", matmul(q, trace.swapaxes(k, -1, -2)), scale)
    seen = [scores]
    if softcap:
        scores = op("mul", op("tanh", op("mul", scores, 1 / softcap)), softcap)
    seen.append(scores)
    if bias is not None:
        scores = op("add", scores, bias)
    causal = f"offset={before}" if node.get("is_causal", 0) else ""
    if causal:
        scores = Traced(f"causal_mask {causal}", [scores], scores.shape, scores.element)
    seen.append(scores)
    weights = trace.along("softmax", scores, -1) if bias is None else _softmax(scores)
    seen.append(weights)
    result = matmul(weights, v)
    if bias is None and not softcap:
        result = Traced(f"attention scale={scale:.9g}{causal and ' causal ' + causal}", [q, k, v], result.shape,
                        result.element)
    result = trace.reshape(result, (batch, heads, rows, result.shape[-1]))
    if len(node.shape()) == 3:
        result = trace.reshape(trace.transpose(result, (0, 2, 1, 3)), (batch, rows, heads * result.shape[-1]))
    return [result, keys, values, trace.reshape(seen[mode], (batch, heads, rows, columns))]

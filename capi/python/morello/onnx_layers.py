# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: windows and norms."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import composed, functions, onnx_attention, trace
from .onnx_lowering import Lower, Node, Row, Value
from .onnx_moves import padded
from .onnx_operators import op
from .program import at
from .trace import Traced, unsupported


def number_or(node: Node, index: int, default: Any) -> Any:
    return node.operand(index) if node.has(index) else default


def per_axis(value: Any, axis: int, ndim: int) -> Any:
    """A vector as one that broadcasts along an axis."""
    if not isinstance(value, Traced) or value.ndim != 1:
        return value
    return trace.reshape(value, [value.shape[0] if i == axis % ndim else 1 for i in range(ndim)])


def tensor_of(x: Any) -> Traced:
    return trace.as_traced(x)


# -- Windows

class Windows:
    """Sizes of windows along the spatial axes of a node's first input, with padding for rounding up."""

    def __init__(self, node: Node, window: Sequence[int], shape: Sequence[int]):
        count = len(window)
        self.sizes, self.window = list(shape[2:]), list(window)
        self.stride = list(node.get("strides") or [1] * count)
        self.dilation = list(node.get("dilations") or [1] * count)
        pads = list(node.get("pads") or [0] * 2 * count)
        self.begin, self.end = pads[:count], pads[count:]
        auto = node.get("auto_pad", "NOTSET")
        for i in range(count):
            span = (self.window[i] - 1) * self.dilation[i] + 1
            if auto in ("SAME_UPPER", "SAME_LOWER"):
                places = -(-self.sizes[i] // self.stride[i])
                total = max((places - 1) * self.stride[i] + span - self.sizes[i], 0)
                self.begin[i] = total // 2 if auto == "SAME_UPPER" else total - total // 2
                self.end[i] = total - self.begin[i]
            elif auto == "VALID":
                self.begin[i] = self.end[i] = 0
        self.over = [0] * count  # beyond the padding, which a window that is rounded up reaches
        self.out = []
        for i in range(count):
            span = (self.window[i] - 1) * self.dilation[i] + 1
            room = self.sizes[i] + self.begin[i] + self.end[i] - span
            places = room // self.stride[i] + 1
            if node.get("ceil_mode", 0):
                places = -(-room // self.stride[i]) + 1
                if (places - 1) * self.stride[i] >= self.sizes[i] + self.begin[i]:
                    places -= 1
                self.over[i] = max((places - 1) * self.stride[i] + span - self.sizes[i] - self.begin[i] - self.end[i],
                                   0)
            self.out.append(places)

    def counts(self, padding: bool) -> Any:
        """Elements of each window that are inside, or in the padding as well."""
        result: Any = np.ones((), np.float32)
        for i, size in enumerate(self.sizes):
            low, high = (-self.begin[i], size + self.end[i]) if padding else (0, size)
            at = np.arange(self.out[i])[:, None] * self.stride[i] - self.begin[i] \
                + np.arange(self.window[i]) * self.dilation[i]
            inside = ((at >= low) & (at < high)).sum(axis=1).astype(np.float32)
            result = result[..., None] * inside
        return result


def pooled(node: Node, x: Traced, windows: Windows, operation: Any) -> Traced:
    """A pool over the spatial axes: two at a time, the last ones first."""
    count = len(windows.window)
    axes = list(range(count))
    for i in axes:
        sides = windows.begin[i], windows.end[i] + windows.over[i]
        if any(sides) and (windows.stride[i] > 1 < windows.dilation[i] or windows.out[i] == 1):
            x = padded(node, x, {2 + i: sides}, -math.inf if operation is functions.max_pool else 0)
            windows.begin[i] = windows.end[i] = windows.over[i] = 0
    while axes:
        pair = axes[-2:] if len(axes) > 1 else [axes[-1]]
        axes = axes[:-len(pair)]
        before, after = x.shape[:2 + pair[0]], x.shape[2 + pair[-1] + 1:]
        inner = math.prod(after)
        if inner > 1 or len(pair) == 1:
            assert len(pair) == 1
            i = pair[0]
            image = trace.reshape(x, (math.prod(before), 1, x.shape[2 + i], inner))
            result = operation(image, (windows.window[i], 1), (windows.stride[i], 1), (windows.dilation[i], 1), False,
                               ((windows.begin[i], windows.end[i] + windows.over[i]), (0, 0)))
            x = trace.reshape(result, (*before, windows.out[i], *after))
        else:
            i, j = pair
            image = trace.reshape(x, (math.prod(before[:1]), math.prod(before[1:]), *x.shape[2 + i:2 + j + 1]))
            result = operation(image, *((each[i], each[j]) for each in (windows.window, windows.stride,
                                                                        windows.dilation)), False,
                               tuple((windows.begin[k], windows.end[k] + windows.over[k]) for k in pair))
            x = trace.reshape(result, (*before, windows.out[i], windows.out[j]))
    return x


def _max_pool(node: Node) -> Any:
    if node.wants(1):
        raise unsupported("operator MaxPool with indices")
    return pooled(node, node.traced(), Windows(node, node.get("kernel_shape"), node.shape()), functions.max_pool)


def averaged(node: Node, x: Traced, windows: Windows, padding: bool) -> Traced:
    counts = windows.counts(padding)
    whole = math.prod(windows.window)
    result = pooled(node, x, windows, functions.avg_pool)
    return result if (counts == whole).all() else op("mul", result, np.float32(whole) / counts)


def _average_pool(node: Node) -> Any:
    windows = Windows(node, node.get("kernel_shape"), node.shape())
    return averaged(node, node.traced(), windows, bool(node.get("count_include_pad", 0)))


def to_power(x: Any, p: float) -> Any:
    """Of numbers of at least 0."""
    if p == 1:
        return x
    if p in (2, 0.5):
        return op("square" if p == 2 else "sqrt", x)
    return op("exp", op("mul", op("log", x), p))


def _lp_pool(node: Node) -> Any:
    p, windows = node.get("p", 2), Windows(node, node.get("kernel_shape"), node.shape())
    terms = op("square", node.traced()) if p == 2 else to_power(op("abs", node.traced()), p)
    sums = op("mul", pooled(node, tensor_of(terms), windows, functions.avg_pool), math.prod(windows.window))
    return to_power(sums, 1 / p)


def _global(operation: str) -> Lower:
    return lambda node: trace.reduce(operation, node.traced(), list(range(2, len(node.shape()))), True)


def _touching(node: Node, windows: Windows, w: Traced) -> Traced:
    """The weights at points of windows which are inside for some place: with a dilation of nearly the size of the image
    others multiply nothing but padding."""
    kept = [slice(None), slice(None)]
    for i, size in enumerate(windows.sizes):
        starts = np.arange(windows.out[i]) * windows.stride[i] - windows.begin[i]
        points = starts[:, None] + np.arange(windows.window[i]) * windows.dilation[i]
        touching = np.flatnonzero(((points >= 0) & (points < size)).any(axis=0))
        first, last = (int(touching[0]), int(touching[-1]) + 1) if touching.size else (0, windows.window[i])
        begin = windows.begin[i] - first * windows.dilation[i]
        end = windows.end[i] - (windows.window[i] - last) * windows.dilation[i]
        if min(begin, end) < 0:  # windows of these points alone have other places
            kept.append(slice(None))
            continue
        windows.begin[i], windows.end[i], windows.window[i] = begin, end, last - first
        kept.append(slice(first, last))
    if w.array is not None:
        array = np.ascontiguousarray(w.array[tuple(kept)])
        return w if array.shape == w.shape else Traced("input", (), array.shape, w.element, array=array)
    return node.view(w, at(*kept))


def convolved(node: Node, x: Traced, w: Traced, outside: Any = 0) -> Traced:
    """outside: the number that is read past the ends, which may be a traced one."""
    windows = Windows(node, w.shape[2:], x.shape)
    count = len(windows.window)
    if count > 2:
        raise unsupported(f"a convolution over {count} axes")
    sides_of = {2 + i: (windows.begin[i], windows.end[i]) for i in range(count)}
    if (isinstance(outside, Traced) or outside != 0) and any(map(any, sides_of.values())):
        x = padded(node, x, sides_of, outside)
        windows.begin, windows.end, windows.sizes = [0] * count, [0] * count, list(x.shape[2:])
    w = _touching(node, windows, w)
    if count == 1:
        x, w = trace.expand_dims(x, 2), trace.expand_dims(w, 2)
        pairs = [(1, each[0]) for each in (windows.stride, windows.dilation)]
        sides = ((0, 0), (windows.begin[0], windows.end[0]))
    else:
        pairs = [(each[0], each[1]) for each in (windows.stride, windows.dilation)]
        sides = ((windows.begin[0], windows.end[0]), (windows.begin[1], windows.end[1]))
    result = tensor_of(functions.conv2d(x, w, pairs[0], pairs[1], node.get("group", 1), False, sides))
    return trace.squeeze(result, 2) if count == 1 else result


def _lrn(node: Node) -> Any:
    x, size = node.traced(), node.get("size")
    n, c, rest = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    squares = op("square", trace.reshape(x, (n, 1, c, rest)))
    low = (size - 1) // 2
    means = functions.avg_pool(tensor_of(squares), (size, 1), (1, 1), 1, False, ((low, size - 1 - low), (0, 0)))
    base = op("add", op("mul", means, node.get("alpha", 1e-4)), node.get("bias", 1.0))
    scale = op("exp", op("mul", op("log", base), -node.get("beta", 0.75)))
    return op("mul", x, trace.reshape(scale, x.shape))


# -- Norms

def _softmax(node: Node) -> Any:
    x, operation = node.traced(), {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[node.op]
    if node.version >= 13:
        return trace.along(operation, x, node.get("axis", -1))
    axis = node.get("axis", 1) % x.ndim
    flat = trace.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return trace.reshape(trace.along(operation, flat, 1), x.shape)


def _layer_norm(node: Node) -> Any:
    x, axis, eps = node.traced(), node.get("axis", -1), node.get("epsilon", 1e-5)
    axes = list(range(axis % x.ndim, x.ndim))
    if node.op == "RMSNormalization":
        return op("mul", trace.along("rmsnorm", x, axes, settings=f" eps={eps:.9g}"), node.operand(1))
    result = op("mul", trace.along("layernorm", x, axes, settings=f" eps={eps:.9g}"), node.operand(1))
    results = [op("add", result, node.operand(2)) if node.has(2) else result]
    if node.wants(1) or node.wants(2):
        variance = composed.variance(x, axes, True)
        results += [trace.reduce("mean", x, axes, True), op("rsqrt", op("add", variance, eps))]
    return results


def _batch_norm(node: Node) -> Any:
    if node.get("training_mode", 0) or node.wants(1):
        raise unsupported("operator BatchNormalization that trains")
    x, eps = node.traced(), node.get("epsilon", 1e-5)
    if all(node.input(i).known for i in range(1, 5)):
        scale, shift, mean, variance = (np.asarray(node.known(i), np.float64) for i in range(1, 5))
        factor = scale / np.sqrt(variance + eps)
        factor, shift = (per_axis(trace.as_value(each.astype(np.float32)), 1, x.ndim)
                         for each in (factor, shift - mean * factor))
        return op("add", op("mul", x, factor), shift)
    scale, shift, mean, variance = (per_axis(node.operand(i), 1, x.ndim) for i in range(1, 5))
    factor = op("mul", op("rsqrt", op("add", variance, eps)), scale)
    return op("add", op("mul", op("sub", x, mean), factor), shift)


def _group_norm(node: Node) -> Any:
    x = node.traced()
    groups = node.get("num_groups", x.shape[1])
    split = trace.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    normed = trace.along("layernorm", split, list(range(2, split.ndim)),
                         settings=f" eps={node.get('epsilon', 1e-5):.9g}")
    scale, shift = node.operand(1), node.operand(2)
    of_groups = node.op == "GroupNormalization" and node.version < 21
    for i, value in enumerate((scale, shift)):
        if isinstance(value, Traced):
            shape = (groups, 1 if of_groups else x.shape[1] // groups) + (1,) * (x.ndim - 2)
            value = trace.reshape(value, shape)
        normed = op("add" if i else "mul", normed, value)
    return trace.reshape(normed, x.shape)


def _lp_norm(node: Node) -> Any:
    x, axis = node.traced(), node.get("axis", -1)
    if node.get("p", 2) == 1:
        norm: Any = trace.reduce("reduce_sum", op("abs", x), axis, True)
    else:
        norm = op("sqrt", trace.reduce("reduce_sum", op("square", x), axis, True))
    return op("div", x, op("max", norm, 2.0 ** -126))  # a row of zeros stays one


def _dropout(node: Node) -> Any:
    if node.has(2) and node.known(2, "training_mode").item() and not (
            node.has(1) and node.known(1, "ratio").item() == 0):
        raise unsupported("operator Dropout that trains")
    mask = Value(np.ones(node.shape(), np.bool_), 9)
    return [node.traced(), mask]


DEFINED = "the operators of its definition"
_POOLS = "; a pair of axes at a time"
LAYERS: dict[str, Row] = {
    "MaxPool": Row(_max_pool, "`max_pool`" + _POOLS),
    "AveragePool": Row(_average_pool, "`avg_pool`, and `mul` where windows are cut off" + _POOLS),
    "LpPool": Row(_lp_pool, "`abs` or `square`, `avg_pool`, `mul`, a root" + _POOLS),
    "GlobalAveragePool": Row(_global("mean"), "`mean`"),
    "GlobalMaxPool": Row(_global("reduce_max"), "`reduce_max`"),
    "LRN": Row(_lrn, "`square`, `avg_pool`, `log`, `exp`, `mul`"),
    "Softmax": Row(_softmax, "`softmax`"), "LogSoftmax": Row(_softmax, "`log_softmax`"),
    "LayerNormalization": Row(_layer_norm, "`layernorm`, `mul`, `add`; mean and deviation are kernels of their own"),
    "RMSNormalization": Row(_layer_norm, "`rmsnorm`, `mul`"),
    "BatchNormalization": Row(_batch_norm, "of inference: `mul`, `add`; with parameters that are computed also `sub`"),
    "InstanceNormalization": Row(_group_norm, "`layernorm`, `mul`, `add`"),
    "GroupNormalization": Row(_group_norm, "`reshape`, `layernorm`, `mul`, `add`"),
    "LpNormalization": Row(_lp_norm, "`reduce_sum` of `abs` or `square`, `div`"),
    "Attention": Row(onnx_attention.lower, "`attention`, causal or not; by parts if masked otherwise or capped: `matmul`, "
                     "`mul`, `add`, `causal_mask`, `reduce_max`, `exp`, `reduce_sum`, `div`, `matmul`; with numbers of keys the "
                     "operators of its definition"),
    "AffineGrid": Row(None, DEFINED, known=(1,)), "CenterCropPad": Row(None, DEFINED, known=(1,)),
    "DynamicQuantizeLinear": Row(None, DEFINED), "MeanVarianceNormalization": Row(None, DEFINED),
    "RotaryEmbedding": Row(None, DEFINED), "SwiGLU": Row(None, DEFINED), "CausalConvWithState": Row(None, DEFINED),
    "FlexAttention": Row(None, DEFINED),
    "Dropout": Row(_dropout, "of inference: nothing, or `move`", known=(1, 2)),
}

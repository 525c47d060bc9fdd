# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: products, of numbers and of integers that stand for numbers."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import trace
from .enums import Dtype
from .onnx_layers import convolved, number_or, per_axis
from .onnx_lowering import Node, Quantized, Row, Value, traced_type
from .onnx_operators import op
from .program import at
from .products import einsum, matmul
from .trace import Traced, unsupported

U8, I8, I32 = 2, 3, 6  # types of ONNX


@dataclasses.dataclass(frozen=True)
class Product:
    """How two tensors are multiplied. multiply: also takes what is read past the ends of the first. sums: of the second,
    over what is summed, so that they broadcast to the result. axes: along which zero points of the factors run. column:
    of the second, along which its scales may run, and of the result."""
    node: Node
    multiply: Callable[[Traced, Traced, Any], Traced]
    sums: Callable[[Any], Any]
    axes: tuple[int, int]
    column: tuple[int, int]

    def of(self, x: Value, w: Value) -> Traced:
        """Of numbers; where integers stand for both, and those of w have one scale for each column, of these integers;
        where for w alone, of numbers and integers."""
        lowering = self.node.lowering
        if w.of is None or not self._has_scales(w.of):
            return self.multiply(lowering.traced(x), lowering.traced(w), 0)
        scale: Any = np.asarray(w.of.scale.value, np.float32)
        if x.of is None or not _is_scaled(x.of):
            result = self.multiply(lowering.traced(x), lowering.traced(w.of.x), 0)
        else:
            result = trace.converted(self.of_integers(x.of.x, x.of.zero, w.of.x, w.of.zero), Dtype.F32)
            factor = lowering.operand(x.of.scale)
            scale = op("mul", trace.reshape(factor, ()), trace.as_value(scale)) if isinstance(factor, Traced) \
                else scale * np.float32(factor)
        return trace.as_traced(op("mul", result, per_axis(trace.as_value(scale), self.column[1], result.ndim)))

    def of_integers(self, x: Value, x_zero: Value | None, w: Value, w_zero: Value | None) -> Traced:
        """Of integers less their zero points, in i32. Where w is known, so is what (x - zero) w is less than x w: bytes
        are multiplied as they are, by instructions for bytes."""
        lowering = self.node.lowering
        zero = 0 if x_zero is None else lowering.operand(x_zero)
        if _are_bytes(x) and _are_bytes(w) and w.known and _is_zero(w_zero):
            result = self.multiply(lowering.traced(x), lowering.traced(w), zero)
            sums = self.sums(w.value.astype(np.int32)).astype(np.int32)
            if isinstance(zero, Traced):
                zero = per_axis(trace.converted(zero, Dtype.I32), self.axes[0], result.ndim)
                return trace.as_traced(op("sub", result, op("mul", zero, trace.as_value(sums))))
            return trace.as_traced(op("sub", result, trace.as_value(sums * np.int32(zero)))) if zero else result
        return self.multiply(_centred(self.node, x, x_zero, self.axes[0]), _centred(self.node, w, w_zero, self.axes[1]), 0)

    def _has_scales(self, w: Quantized) -> bool:
        """Known bytes, one scale for each column of the product, and no zero points?"""
        rank = len(w.x.shape)
        if not _are_bytes(w.x) or not w.x.known or not w.scale.known or not _is_zero(w.zero):
            return False
        return w.scale.size == 1 or (len(w.scale.shape) == 1 and w.axis % rank == self.column[0] % rank)


def _is_scaled(x: Quantized) -> bool:
    """Bytes with one scale and one zero point?"""
    return _are_bytes(x.x) and x.scale.size == 1 and (x.zero is None or x.zero.size == 1)


def _are_bytes(x: Value) -> bool:
    """A factor that instructions multiply as it is?"""
    return x.type in (U8, I8) and len(x.shape) > 1


def _is_zero(value: Value | None) -> bool:
    return value is None or (value.known and not np.any(value.value))


def _centred(node: Node, x: Value, zero: Value | None, axis: int) -> Traced:
    result = trace.converted(node.lowering.traced(x), Dtype.I32)
    centre = 0 if zero is None else node.lowering.operand(zero)
    if not isinstance(centre, Traced) and centre == 0:
        return result
    return trace.as_traced(op("sub", result, per_axis(centre, axis, result.ndim)))


# -- Matrices

def _matrices(node: Node) -> Product:
    return Product(node, lambda x, w, _: matmul(x, w), lambda w: w.sum(axis=-2, keepdims=True), (-2, -1), (-1, -1))


def _matmul(node: Node) -> Any:
    return _matrices(node).of(node.input(0), node.input(1))


def _gemm(node: Node) -> Any:
    a, b = (_transposed(node, node.input(i)) if node.get(name, 0) else node.input(i)
            for i, name in enumerate(("transA", "transB")))
    result = _matrices(node).of(a, b)
    if node.get("alpha", 1.0) != 1:
        result = op("mul", result, node.get("alpha"))
    if not node.has(2) or not node.get("beta", 1.0):
        return result
    c = node.operand(2)
    return op("add", result, c if node.get("beta", 1.0) == 1 else op("mul", c, node.get("beta")))


def _transposed(node: Node, x: Value) -> Value:
    result = Value(trace.transpose(node.lowering.traced(x)), x.type)
    if x.of is not None and x.of.x.known:
        integers = Value(np.ascontiguousarray(x.of.x.value.T), x.of.x.type)
        result.of = Quantized(integers, x.of.scale, x.of.zero, 1 - x.of.axis % 2)
    return result


def _matmul_integer(node: Node) -> Any:
    return _matrices(node).of_integers(node.input(0), node.optional(2), node.input(1), node.optional(3))


def _qlinear_matmul(node: Node) -> Any:
    rank = len(node.shape(3))
    x = _matrices(node).of_integers(node.input(0), node.input(2), node.input(3), node.input(5))
    scales = per_axis(node.operand(1), -2, rank), per_axis(node.operand(4), -1, rank), node.operand(6)
    return requantized(node, x, scales, 7, node.type(7))


# -- Convolutions

def _convolution(node: Node) -> Product:
    return Product(node, lambda x, w, outside: convolved(node, x, w, outside),
                   lambda w: w.sum(axis=tuple(range(1, w.ndim))).reshape(-1, *(1,) * (w.ndim - 2)), (1, 0), (0, 1))


def _conv(node: Node) -> Any:
    result = _convolution(node).of(node.input(0), node.input(1))
    return op("add", result, per_axis(node.operand(2), 1, result.ndim)) if node.has(2) else result


def _conv_integer(node: Node) -> Any:
    return _convolution(node).of_integers(node.input(0), node.optional(2), node.input(1), node.optional(3))


def _qlinear_conv(node: Node) -> Any:
    x = _convolution(node).of_integers(node.input(0), node.input(2), node.input(3), node.input(5))
    if node.has(8):
        x = op("add", x, per_axis(node.operand(8), 1, x.ndim))
    return requantized(node, x, (node.operand(1), per_axis(node.operand(4), 1, x.ndim), node.operand(6)), 7,
                       node.type(7))


def _conv_transpose(node: Node) -> Any:
    """A kernel for each element of the window, which adds its products to every stride-th element of the result."""
    x, w, groups = node.traced(0), node.traced(1), node.get("group", 1)
    count, window = x.ndim - 2, w.shape[2:]
    stride, dilation = (list(node.get(name) or [1] * count) for name in ("strides", "dilations"))
    extra = list(node.get("output_padding") or [0] * count)
    whole = [stride[i] * (x.shape[2 + i] - 1) + (window[i] - 1) * dilation[i] + 1 + extra[i] for i in range(count)]
    begin, end = _transposed_pads(node, x, whole, stride, count)
    for i in range(count):  # what nothing is added to stays 0
        whole[i], end[i] = whole[i] + max(-end[i], 0), max(end[i], 0)
    n, c, channels = x.shape[0], x.shape[1] // groups, w.shape[1]
    out = node.writer.buffer(Dtype.F32, (n, groups, channels, *whole))
    node.writer.fill(0, out)
    places = "xyz"[:count]
    split = node.view(w, lambda array: array.reshape(groups, c, *array.shape[1:]))
    for offset in np.ndindex(*window):
        part = (slice(None),) * 3 + tuple(
            slice(offset[i] * dilation[i], offset[i] * dilation[i] + stride[i] * (x.shape[2 + i] - 1) + 1, stride[i])
            for i in range(count))
        weights = node.view(split, at(*(slice(None),) * 3, *offset))
        image = trace.reshape(x, (n, groups, c, *x.shape[2:]))
        products = einsum(f"ngc{places},gco->ngo{places}", image, weights)
        node.writer.write(products, out.view(at(*part)), accumulate=True)
    inner = (slice(None),) * 2 + tuple(slice(begin[i], whole[i] - end[i]) for i in range(count))
    result = node.view(trace.reshape(node.writer.written(out), (n, groups * channels, *whole)),
                       at(*inner))
    return op("add", result, per_axis(node.operand(2), 1, result.ndim)) if node.has(2) else result


def _transposed_pads(node: Node, x: Traced, whole: list[int], stride: list[int],
                     count: int) -> tuple[list[int], list[int]]:
    pads = list(node.get("pads") or [0] * 2 * count)
    auto = node.get("auto_pad", "NOTSET")
    sizes = node.get("output_shape")
    if auto in ("SAME_UPPER", "SAME_LOWER") and not sizes:
        sizes = [x.shape[2 + i] * stride[i] for i in range(count)]
    if not sizes:
        return (pads[:count], pads[count:]) if auto == "NOTSET" else ([0] * count, [0] * count)
    total = [whole[i] - sizes[len(sizes) - count + i] for i in range(count)]
    begin = [max(each, 0) for each in total]
    if min(total) < 0:
        return [each // 2 for each in begin], [each - most // 2 for each, most in zip(total, begin)]
    less, more = [each // 2 for each in total], [each - each // 2 for each in total]
    return (less, more) if auto == "SAME_UPPER" else (more, less)


# -- Integers that stand for numbers

def requantized(node: Node, x: Traced, scales: Sequence[Any], zero: int, element: int) -> Traced:
    """x * scales[0] * scales[1] / scales[2] + zero, rounded and converted."""
    a, b, y = scales
    scale = op("div", a * b if not isinstance(a, Traced) and not isinstance(b, Traced) else op("mul", a, b), y) \
        if any(isinstance(s, Traced) for s in scales) else a * b / y
    rounded = op("round", op("mul", x, scale))
    return trace.converted(op("add", rounded, per_axis(node.operand(zero), -1, x.ndim)), traced_type(element))


def _quantize(node: Node) -> Any:
    x, scale = node.traced(), node.operand(1)
    zero = number_or(node, 2, 0)
    to = node.type(2) if node.has(2) else node.get("output_dtype", 0) or 2
    target = traced_type(to)
    if not target.is_integer or target == Dtype.I32:
        raise unsupported(f"operator QuantizeLinear to {target.text}")
    if isinstance(scale, Traced) and scale.ndim > 1:
        x, scale, zero = _blocked(node, x, scale, zero)
    else:
        scale, zero = (per_axis(each, node.get("axis", 1), x.ndim) for each in (scale, zero))
    rounded = op("round", op("div", x, scale))
    result = Value(trace.converted(trace.reshape(op("add", rounded, zero), node.shape()), target), to)
    if target == Dtype.I8 and not isinstance(zero, Traced):
        more = trace.reshape(op("add", rounded, zero + 128), node.shape())
        result.unsigned = Value(trace.converted(more, Dtype.U8), U8)
    return result


def _dequantize(node: Node) -> Any:
    value, zeros = node.input(0), node.optional(2)
    if value.unsigned is not None and (zeros is None or zeros.known):
        value = value.unsigned
        zeros = Value(np.asarray(0 if zeros is None else zeros.value, np.int32) + 128, I32)
    x, scale = trace.converted(node.lowering.traced(value), Dtype.I32), node.operand(1)
    zero = 0 if zeros is None else node.lowering.operand(zeros)
    if isinstance(scale, Traced) and scale.ndim > 1:
        x, scale, zero = _blocked(node, x, scale, zero)
    else:
        scale, zero = (per_axis(each, node.get("axis", 1), x.ndim) for each in (scale, zero))
    result = op("mul", x if isinstance(zero, int) and zero == 0 else op("sub", x, zero), scale)
    of = Quantized(value, node.input(1), zeros, node.get("axis", 1))
    return Value(trace.reshape(result, node.shape()), node.type(1), of)


def _blocked(node: Node, x: Traced, scale: Traced, zero: Any) -> tuple[Traced, Traced, Any]:
    """A scale for each block along an axis: the axis as two."""
    axis = node.get("axis", 1) % x.ndim
    blocks = scale.shape[axis]
    if x.shape[axis] % blocks:
        raise unsupported("scales of blocks that do not divide the axis")
    split = trace.reshape(x, [*x.shape[:axis], blocks, x.shape[axis] // blocks, *x.shape[axis + 1:]])
    return split, trace.expand_dims(scale, axis + 1), \
        trace.expand_dims(zero, axis + 1) if isinstance(zero, Traced) else zero


PRODUCTS: dict[str, Row] = {
    "MatMul": Row(_matmul, "`matmul`, `einsum`"),
    "Gemm": Row(_gemm, "`matmul`, `mul`, `add`"),
    "MatMulInteger": Row(_matmul_integer, "`matmul`, and `sub` of zero points times sums of weights that are known; else `sub`, `matmul`"),
    "QLinearMatMul": Row(_qlinear_matmul, "as MatMulInteger, then `mul`, `round`, `add`"),
    "QuantizeLinear": Row(_quantize, "`div`, `round`, `add`"),
    "DequantizeLinear": Row(_dequantize, "`sub`, `mul`"),
    "Conv": Row(_conv, "`conv2d`, `add`"),
    "ConvInteger": Row(_conv_integer, "`conv2d`, and `sub` likewise; else `sub`, `conv2d`"),
    "QLinearConv": Row(_qlinear_conv, "as ConvInteger, then `mul`, `round`, `add`"),
    "ConvTranspose": Row(_conv_transpose, "a kernel for each element of the window, which adds its products"),
}

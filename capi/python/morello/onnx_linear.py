# SPDX-License-Identifier: MIT
"""ONNX's operators that are products with matrices which are known: transforms, and resampling."""
from __future__ import annotations

import string
from typing import Any

import numpy as np

from . import composed, trace
from .onnx_indices import taken
from .onnx_lowering import Node, Row
from .onnx_moves import repeated
from .products import einsum
from .trace import Traced, unsupported


def along(x: Traced, axis: int, matrix: Any) -> Traced:
    """Sums along an axis, by a matrix of old by new places."""
    letters = string.ascii_lowercase[:x.ndim]
    result = letters.replace(letters[axis], "z")
    return einsum(f"{letters},{letters[axis]}z->{result}", x, np.ascontiguousarray(matrix, dtype=np.float32))


# -- Fourier transforms

def transform(size: int, length: int, inverse: bool, onesided: bool, parts: int) -> Any:
    """Of `size` numbers with `parts` (real, imaginary) to numbers likewise: [size, parts, places, parts]."""
    units = np.eye(size)
    rows = [units, units * 1j][:parts]
    if inverse and onesided:
        return np.stack([np.fft.irfft(row, length) for row in rows], 1)[..., None]
    if onesided:
        found = np.stack([np.fft.fft(row, length)[:, :length // 2 + 1] for row in rows], 1)
    else:
        found = np.stack([(np.fft.ifft if inverse else np.fft.fft)(row, length) for row in rows], 1)
    return np.stack([found.real, found.imag], -1)


def transformed(x: Traced, axis: int, table: Any) -> Traced:
    letters = string.ascii_lowercase[:x.ndim]
    result = letters.replace(letters[axis], "z")[:-1] + "y"
    return einsum(f"{letters},{letters[axis]}{letters[-1]}zy->{result}", x,
                        np.ascontiguousarray(table, dtype=np.float32))


def _dft(node: Node) -> Any:
    x = node.traced()
    axis = int(node.known(2, "axis").reshape(-1)[0]) if node.has(2) else -2
    axis = (node.get("axis", 1) if node.version < 20 else axis) % x.ndim
    inverse, onesided = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    length = int(node.known(1, "dft_length").reshape(-1)[0]) if node.has(1) else \
        2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
    return transformed(x, axis, transform(x.shape[axis], length, inverse, onesided, x.shape[-1]))


def _stft(node: Node) -> Any:
    x = node.traced()
    if x.ndim == 2:
        x = trace.expand_dims(x, 2)
    step = int(node.known(1, "frame_step").reshape(-1)[0])
    length = int(node.known(3, "frame_length").reshape(-1)[0]) if node.has(3) else node.shape(2)[0]
    frames = node.view(x, lambda array: np.moveaxis(np.lib.stride_tricks.sliding_window_view(
        array, length, axis=1)[:, ::step], -1, 2))
    table = transform(length, length, False, bool(node.get("onesided", 1)), x.shape[-1])
    if node.has(2):
        frames = trace.elementwise("mul", frames, trace.reshape(node.traced(2), (length, 1)))
    return transformed(frames, 2, table)


# -- Resampling

_SETTINGS = ("antialias", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "mode", "nearest_mode")


def _scales(node: Node) -> tuple[list[int], list[float], list[int]]:
    """Axes, factors and new sizes."""
    shape = node.shape()
    axes = [axis % len(shape) for axis in node.get("axes") or range(len(shape))]
    scales_at, sizes_at = (1, 9) if node.op == "Upsample" or len(node.inputs) == 2 else (2, 3)
    if sizes_at < len(node.inputs) and node.has(sizes_at):
        sizes = [int(x) for x in node.known(sizes_at, "sizes")]
        policy = node.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            factors = [size / shape[axis] for size, axis in zip(sizes, axes)]
            factor = min(factors) if policy == "not_larger" else max(factors)
            return axes, [factor] * len(axes), [int(factor * shape[axis] + 0.5) for axis in axes]
        return axes, [size / shape[axis] for size, axis in zip(sizes, axes)], sizes
    scales = [float(x) for x in (node.known(scales_at, "scales") if node.has(scales_at) else node.get("scales"))]
    return axes, scales, [int(shape[axis] * scale) for scale, axis in zip(scales, axes)]


def _weights(node: Node, size: int, scale: float, length: int, part: tuple[float, float]) -> Any:
    """What ONNX's own evaluator makes of one axis, element by element. part: of the axis, from 0 to 1, where it crops;
    there are zeros for what is outside."""
    import onnx  # pylint: disable=import-outside-toplevel
    import onnx.reference  # pylint: disable=import-outside-toplevel
    settings = {name: node.attributes[name] for name in _SETTINGS if name in node.attributes}
    by_size = len(node.inputs) > 3 and node.has(3)
    if by_size and node.get("keep_aspect_ratio_policy", "stretch") == "stretch":
        names, given = ["x", "part", "", "given"], np.array([size, length], np.int64)
    else:
        names, given = ["x", "part", "given"], np.array([1, scale], np.float32)
    proto = onnx.helper.make_node("Resize", names, ["y"], **settings)
    evaluator = onnx.reference.ReferenceEvaluator(proto, opsets={"": max(node.version, 19)})
    results: Any = evaluator.run(None, {"x": np.eye(size, dtype=np.float32), "given": given,
                                            "part": np.array([0, part[0], 1, part[1]], np.float32)})
    matrix = results[0]
    if matrix.shape != (size, length):
        raise unsupported(f"operator Resize to {length} elements, where factors give {matrix.shape[1]}")
    return matrix


def _resize(node: Node) -> Any:
    x, outside = node.traced(), np.zeros((), np.bool_)
    axes, scales, lengths = _scales(node)
    crops = node.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    parts = np.reshape(node.known(1, "roi"), (2, -1)).T.tolist() if crops else [(0.0, 1.0)] * len(axes)
    for axis, scale, length, part in zip(axes, scales, lengths, parts):
        if length == x.shape[axis] and scale == 1 and tuple(part) == (0, 1):
            continue
        matrix = _weights(node, x.shape[axis], scale, length, part)
        if crops:
            outside = outside | (matrix == 0).all(axis=0).reshape([length if i == axis else 1 for i in range(x.ndim)])
        x = along(x, axis, matrix) if node.get("mode", "nearest") != "nearest" else _picked(node, x, axis, matrix)
    return composed.select(outside, node.get("extrapolation_value", 0.0), x) if outside.any() else x


def _picked(node: Node, x: Traced, axis: int, matrix: Any) -> Traced:
    """The nearest elements: products with zeros would make NaN of infinities."""
    found = matrix.argmax(axis=0)
    count, size = len(found), x.shape[axis]
    if count % size == 0 and (found == np.arange(count) // (count // size)).all():
        parts = [[(1, each)] for each in x.shape]
        parts[axis] = [(1, size), (count // size, 1)]
        return repeated(node.writer, x, parts)
    return taken(node, x, found, axis)


LINEAR: dict[str, Row] = {
    "DFT": Row(_dft, "`einsum` with sines and cosines", known=(1, 2)),
    "STFT": Row(_stft, "a view of frames, `mul`, `einsum` with sines and cosines", known=(1, 3)),
    "Resize": Row(_resize, "`einsum` with the weights of each axis; of nearest elements a view, or `gather`; `select` of "
                  "what is outside", known=(1, 2, 3)),
    "Upsample": Row(_resize, "as Resize", known=(1,)),
}

# SPDX-License-Identifier: MIT
"""Convolutions, pools and pads of JAX."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import composed, trace
from .arrays import numpy_dtype
from .enums import Dtype
from .functions import avg_pool, conv2d, max_pool
from .indexing import part
from .joins import padded
from .trace import Traced, as_traced, elementwise, unsupported

# Where x, w and the result have batch (or output) channels, channels, height and width: NCHW with OIHW, NHWC with HWIO.
_LAYOUTS = {((0, 1, 2, 3),) * 3: False, ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)): True}


def preferred(params: Any, result: Traced, factor: Traced) -> Traced:
    """A product in the element type that is asked for: converted once, from f32 or i32. Integers ask for their own
    unless the function says more, and have i32."""
    wanted = params["preferred_element_type"]
    if wanted is None or (result.element == Dtype.I32 and np.dtype(wanted) == numpy_dtype(factor.element)):
        return result
    if np.dtype(wanted) == np.float32 and not result.element.is_integer:
        result.element = Dtype.F32  # as which it is computed
        return result
    return trace.converted(result, wanted)


def padded_between(x: Traced, config: Sequence[tuple[int, int, int]], number: Any) -> Traced:
    """config: for each axis what is put before it, after it and between its elements; below zero it is cut off."""
    for axis, (_, _, between) in enumerate(config):
        size = x.shape[axis]
        if between and size > 1:
            apart = trace.reshape(x, (*x.shape[:axis + 1], 1, *x.shape[axis + 1:]))
            apart = padded(apart, [(0, between if i == axis + 1 else 0) for i in range(apart.ndim)], number)
            x = part(trace.reshape(apart, (*x.shape[:axis], size * (between + 1), *x.shape[axis + 1:])), axis,
                     slice(0, (size - 1) * (between + 1) + 1))
    x = padded(x, [(max(low, 0), max(high, 0)) for low, high, _ in config], number)
    for axis, (low, high, _) in enumerate(config):
        x = part(x, axis, slice(max(-low, 0), x.shape[axis] - max(-high, 0)))
    return x


def convolution(params: Any, x: Traced, w: Traced) -> Traced:
    """Other orders of axes than those of the language are transposed, one axis of places is two."""
    orders = [tuple(order) for order in params["dimension_numbers"]]
    settings = {name: tuple(params[name]) for name in ("window_strides", "rhs_dilation", "lhs_dilation", "padding")}
    if len(settings["window_strides"]) not in (1, 2) or params["batch_group_count"] != 1:
        raise unsupported(f"JAX's primitive 'conv_general_dilated' of {x!r} and {w!r}: the Spec language has windows over two "
                          "axes, and no groups of batches")
    if len(settings["window_strides"]) == 1:
        x, w = (trace.reshape(each, (*each.shape, 1)) for each in (x, w))
        orders = [(*order, 3) for order in orders]
        neutral = {"window_strides": 1, "rhs_dilation": 1, "lhs_dilation": 1, "padding": (0, 0)}
        result = convolution({**params, "dimension_numbers": orders,
                              **{name: (*values, neutral[name]) for name, values in settings.items()}}, x, w)
        return trace.squeeze(result, 3)
    if set(settings["lhs_dilation"]) != {1}:
        config = [(0, 0, 0)] * 4
        for axis, step in zip(orders[0][2:], settings["lhs_dilation"]):
            config[axis] = (0, 0, step - 1)
        x = padded_between(x, config, 0)
    sides = settings["padding"]
    if min(width for side in sides for width in side) < 0:
        config = [(0, 0, 0)] * 4
        for axis, (low, high) in zip(orders[0][2:], sides):
            config[axis] = (min(low, 0), min(high, 0), 0)
        x = padded_between(x, config, 0)
    nhwc = _LAYOUTS.get((orders[0], orders[1], orders[2]))
    if nhwc is None:
        x, w = trace.transpose(x, orders[0]), trace.transpose(w, orders[1])
    rows, columns = (tuple(max(width, 0) for width in side) for side in sides)
    result = as_traced(conv2d(x, w, settings["window_strides"], settings["rhs_dilation"], params["feature_group_count"],
                              bool(nhwc), (rows, columns)))
    if nhwc is None:
        result = trace.transpose(result, [orders[2].index(axis) for axis in range(4)])
    return preferred(params, result, x)


def pool(kind: str, params: Any, x: Traced) -> Traced:
    windows, steps, sides = (tuple(params[key]) for key in ("window_dimensions", "window_strides", "padding"))
    gaps = tuple(params["window_dilation"])
    if len(windows) == 4 and set(params["base_dilation"]) == {1}:
        for nhwc, still, moved in ((False, [0, 1], slice(2, 4)), (True, [0, 3], slice(1, 3))):
            if all(windows[i] == 1 and steps[i] == 1 and not any(sides[i]) for i in still):
                rows, columns = sides[moved]
                settings = windows[moved], steps[moved], gaps[moved], nhwc, (tuple(rows), tuple(columns))
                if kind == "max":
                    return as_traced(max_pool(x, *settings))
                if kind == "min":
                    return elementwise("neg", max_pool(elementwise("neg", x), *settings))
                return elementwise("mul", avg_pool(x, *settings), math.prod(windows))
    raise unsupported(f"JAX's primitive 'reduce_window_{kind}' of {x!r} by {windows}: the Spec language has windows over two "
                      "axes of NCHW and NHWC")


def pool_gradient(params: Any, source: Traced, x: Traced) -> Traced:
    """What the gradient of a maximum of windows is: each goes to the first place of its window that has the maximum."""
    windows, steps = tuple(params["window_dimensions"]), tuple(params["window_strides"])
    if params["select_prim"].name != "ge" or windows != steps or any(map(any, params["padding"])):
        raise unsupported(f"JAX's primitive 'select_and_scatter_add' of {x!r} by {windows}: the Spec language has that of "
                          "maxima of windows that do not overlap, without padding")
    whole = x.shape
    shape: list[int] = []  # in parts, and places in them
    inner: list[int] = []
    for axis, (count, window) in enumerate(zip(source.shape, windows)):
        x = part(x, axis, slice(0, count * window))
        shape += [count] if window == 1 else [count, window]
        if window > 1:
            inner.append(len(shape) - 1)
    kept = [1 if i in inner else size for i, size in enumerate(shape)]
    x = trace.reshape(x, shape)
    sizes = [size if i in inner else 1 for i, size in enumerate(shape)]
    places = np.arange(math.prod(windows), dtype=np.float32).reshape(sizes)
    chosen = trace.compare("equal", x, trace.reduce("reduce_max", x, inner, True))
    first = trace.reduce("reduce_min", composed.select(chosen, places, math.prod(windows)), inner, True)
    result = composed.select(trace.compare("equal", first, places), trace.reshape(source, kept), 0)
    result = trace.reshape(result, [count * window for count, window in zip(source.shape, windows)])
    return padded(result, [(0, size - have) for size, have in zip(whole, result.shape)], 0)

# SPDX-License-Identifier: MIT
"""NumPy's functions, called with values that are being traced."""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import trace
from .indexing import take, take_along_axis
from .trace import elementwise, reduce, unsupported

_ELEMENTWISE = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div", np.maximum: "max", np.minimum: "min",
    np.negative: "neg", np.absolute: "abs", np.fabs: "abs", np.sqrt: "sqrt", np.square: "square",
    np.reciprocal: "recip", np.exp: "exp", np.exp2: "exp2", np.log: "log", np.tanh: "tanh", np.sin: "sin",
    np.cos: "cos", np.floor: "floor", np.ceil: "ceil", np.rint: "round",
}
_COMPARISONS = {
    np.less: "less", np.less_equal: "less_equal", np.greater: "greater", np.greater_equal: "greater_equal",
    np.equal: "equal", np.not_equal: "not_equal",
}
_TRUTH: dict[Any, Callable[..., Any]] = {
    np.logical_and: trace.both, np.bitwise_and: trace.both, np.logical_or: trace.either, np.bitwise_or: trace.either,
    np.logical_not: trace.negated, np.invert: trace.negated, np.isnan: lambda x: trace.compare("not_equal", x, x),
}
_REDUCTIONS = {np.add: "reduce_sum", np.maximum: "reduce_max", np.minimum: "reduce_min"}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    if method == "reduce" and ufunc in _REDUCTIONS and not set(options) - {"axis", "keepdims"}:
        return reduce(_REDUCTIONS[ufunc], inputs[0], options.get("axis", 0), options.get("keepdims", False))
    if method == "__call__" and not options:
        if ufunc in _ELEMENTWISE:
            return elementwise(_ELEMENTWISE[ufunc], *inputs)
        if ufunc in _COMPARISONS:
            return trace.compare(_COMPARISONS[ufunc], *inputs)
        if ufunc in _TRUTH:
            return _TRUTH[ufunc](*inputs)
        if ufunc is np.matmul:
            return trace.matmul(*inputs)
        if ufunc in (np.power, np.float_power):
            return trace.power(*inputs)
        if ufunc is np.positive:
            return inputs[0]
    what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if options:
        what += f" with {', '.join(options)}"
    raise unsupported(f"{what} of traced arrays: the Spec language has no such operation")


def _reduction(operation: str) -> Callable[..., Any]:
    def call(a: Any, axis: trace.Axis = None, keepdims: bool = False) -> Any:
        return reduce(operation, a, axis, keepdims)
    return call


def _round(a: Any, decimals: int = 0) -> Any:
    if decimals:
        raise unsupported("rounding to decimals")
    return elementwise("round", a)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction("reduce_sum"), np.max: _reduction("reduce_max"), np.min: _reduction("reduce_min"),
    np.mean: _reduction("mean"), np.amax: _reduction("reduce_max"), np.amin: _reduction("reduce_min"),
    np.var: trace.variance,
    np.std: lambda a, axis=None, keepdims=False, ddof=0: elementwise(
        "sqrt", trace.variance(a, axis, keepdims, ddof)),
    np.clip: lambda a, a_min=None, a_max=None: trace.clip(a, a_min, a_max),
    np.round: _round, np.around: _round,
    np.reshape: lambda a, shape: trace.reshape(a, shape),
    np.ravel: lambda a: trace.reshape(a, -1),
    np.transpose: lambda a, axes=None: trace.transpose(a, axes),
    np.swapaxes: lambda a, axis1, axis2: trace.swapaxes(a, axis1, axis2),
    np.moveaxis: lambda a, source, destination: trace.moveaxis(a, source, destination),
    np.squeeze: lambda a, axis=None: trace.squeeze(a, axis),
    np.expand_dims: lambda a, axis: trace.expand_dims(a, axis),
    np.broadcast_to: lambda array, shape: trace.broadcast_to(array, shape),
    np.dot: trace.dot,
    np.where: lambda condition, x, y: trace.where(condition, x, y),
    np.einsum: trace.einsum, np.take: take, np.take_along_axis: take_along_axis,
    np.outer: lambda a, b: elementwise("mul", trace.reshape(a, (-1, 1)), trace.reshape(b, (1, -1))),
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
}


def call_function(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    name = getattr(function, "__name__", str(function))
    call = _FUNCTIONS.get(function)
    if call is None:
        raise unsupported(f"numpy.{name} of traced arrays: the Spec language has no such operation")
    given = {key: value for key, value in options.items() if value is not np._NoValue}
    try:
        return functools.partial(call, *args, **given)()
    except TypeError as error:
        raise unsupported(f"numpy.{name} of traced arrays: {error}") from error

# SPDX-License-Identifier: MIT
"""NumPy's functions, called with values that are being traced."""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import composed, trace
from .indexing import argmax, argmin, array_split, cumulated, difference, product, split, take, take_along_axis
from .integers import divided
from .joins import column_stack, concatenate, flip, hstack, pad, repeat, roll, stack, tile, vstack
from .missing import refusal
from .products import dot, einsum, matmul
from .trace import elementwise, reduce, unsupported

_ARITHMETIC = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.negative: "neg"}
_ELEMENTWISE = {
    np.divide: "div", np.maximum: "max", np.minimum: "min", np.absolute: "abs", np.fabs: "abs", np.sqrt: "sqrt",
    np.square: "square", np.reciprocal: "recip", np.exp: "exp", np.exp2: "exp2", np.log: "log", np.tanh: "tanh",
    np.sin: "sin", np.cos: "cos", np.floor: "floor", np.ceil: "ceil", np.rint: "round",
}
_COMPARISONS = {
    np.less: "less", np.less_equal: "less_equal", np.greater: "greater", np.greater_equal: "greater_equal",
    np.equal: "equal", np.not_equal: "not_equal",
}
_TRUTH: dict[Any, Callable[..., Any]] = {
    np.logical_and: trace.both, np.bitwise_and: trace.both, np.logical_or: trace.either, np.bitwise_or: trace.either,
    np.logical_xor: trace.unlike, np.bitwise_xor: trace.unlike, np.logical_not: trace.negated, np.invert: trace.negated,
    np.isnan: lambda x: trace.compare("not_equal", x, x),
    np.isfinite: composed.is_finite,
    np.isinf: lambda x: trace.compare("equal", elementwise("abs", x), math.inf),
}
_COMPOSED: dict[Any, Callable[..., Any]] = {
    np.log1p: composed.log1p, np.expm1: composed.expm1, np.sign: composed.sign,
    np.floor_divide: lambda a, b: divided("floor_divide", a, b)[0], np.remainder: lambda a, b: divided("remainder", a, b)[1],
    np.divmod: lambda a, b: divided("divmod", a, b), np.fmod: lambda a, b: divided("fmod", a, b, toward_zero=True)[1],
}
_REDUCTIONS = {np.add: "reduce_sum", np.maximum: "reduce_max", np.minimum: "reduce_min"}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    if method == "reduce" and ufunc in _REDUCTIONS and not set(options) - {"axis", "keepdims"}:
        return reduce(_REDUCTIONS[ufunc], inputs[0], options.get("axis", 0), options.get("keepdims", False))
    if method == "__call__" and not options:
        if ufunc in _ARITHMETIC:
            return trace.arithmetic(_ARITHMETIC[ufunc], *inputs)
        if ufunc in _ELEMENTWISE:
            return elementwise(_ELEMENTWISE[ufunc], *inputs)
        if ufunc in _COMPARISONS:
            return trace.compare(_COMPARISONS[ufunc], *inputs)
        if ufunc in _COMPOSED:
            return _COMPOSED[ufunc](*inputs)
        if ufunc in _TRUTH:
            return _TRUTH[ufunc](*inputs)
        if ufunc is np.matmul:
            return matmul(*inputs)
        if ufunc in (np.power, np.float_power):
            return composed.power(*inputs)
        if ufunc is np.positive:
            return inputs[0]
    what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if options:
        what += f" with {', '.join(options)}"
    raise unsupported(refusal(what, ufunc.__name__))


def _sum(a: Any, axis: trace.Axis = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    return trace.typed(reduce("reduce_sum", a, axis, keepdims), dtype)


def _prod(a: Any, axis: trace.Axis = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    return trace.typed(product(a, axis, keepdims), dtype)


def _mean(a: Any, axis: trace.Axis = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    return trace.typed(reduce("mean", a, axis, keepdims), dtype)


def _max(a: Any, axis: trace.Axis = None, *, keepdims: bool = False) -> Any:
    return reduce("reduce_max", a, axis, keepdims)


def _min(a: Any, axis: trace.Axis = None, *, keepdims: bool = False) -> Any:
    return reduce("reduce_min", a, axis, keepdims)


def _var(a: Any, axis: trace.Axis = None, *, keepdims: bool = False, ddof: int = 0, dtype: Any = None) -> Any:
    return trace.typed(composed.variance(a, axis, keepdims, ddof), dtype)


def _std(a: Any, axis: trace.Axis = None, *, keepdims: bool = False, ddof: int = 0, dtype: Any = None) -> Any:
    return trace.typed(elementwise("sqrt", composed.variance(a, axis, keepdims, ddof)), dtype)


def _round(a: Any, decimals: int = 0) -> Any:
    if decimals:
        raise unsupported("rounding to decimals")
    return elementwise("round", a)


def _below(m: Any, diagonal: int) -> Any:
    """Places of a matrix on a diagonal and below it."""
    rows, columns = (int(size) for size in m.shape[-2:])
    return np.tri(rows, columns, diagonal) > 0


def _norm(x: Any, order: Any, axis: trace.Axis, keepdims: bool) -> Any:
    if order not in (None, 2) or order == 2 and not isinstance(axis, (int, np.integer)):
        raise unsupported(f"linalg.norm of order {order!r} along {axis}: valid is the square root of the sum of squares")
    return elementwise("sqrt", reduce("reduce_sum", elementwise("square", x), axis, keepdims))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _sum, np.prod: _prod, np.mean: _mean,
    np.max: _max, np.amax: _max, np.min: _min, np.amin: _min, np.var: _var, np.std: _std,
    np.clip: lambda a, a_min=None, a_max=None: composed.clip(a, a_min, a_max),
    np.round: _round, np.around: _round,
    np.reshape: lambda a, shape: trace.reshape(a, shape),
    np.ravel: lambda a: trace.reshape(a, -1),
    np.transpose: lambda a, axes=None: trace.transpose(a, axes),
    np.swapaxes: lambda a, axis1, axis2: trace.swapaxes(a, axis1, axis2),
    np.moveaxis: lambda a, source, destination: trace.moveaxis(a, source, destination),
    np.squeeze: lambda a, axis=None: trace.squeeze(a, axis),
    np.expand_dims: lambda a, axis: trace.expand_dims(a, axis),
    np.broadcast_to: lambda array, shape: trace.broadcast_to(array, shape),
    np.dot: dot,
    np.where: lambda condition, x, y: composed.where(condition, x, y),
    np.any: lambda a, axis=None, *, keepdims=False: composed.holds("reduce_max", a, axis, keepdims),
    np.all: lambda a, axis=None, *, keepdims=False: composed.holds("reduce_min", a, axis, keepdims),
    np.cumsum: lambda a, axis=None: cumulated("add", a, axis),
    np.cumprod: lambda a, axis=None: cumulated("mul", a, axis), np.diff: lambda a, axis=-1: difference(a, axis),
    np.column_stack: column_stack, np.array_split: array_split, np.argmax: argmax, np.argmin: argmin,
    np.concatenate: concatenate, np.stack: stack, np.hstack: hstack, np.vstack: vstack, np.pad: pad,
    np.repeat: repeat, np.tile: tile, np.roll: roll, np.flip: flip,
    np.tril: lambda m, k=0: composed.where(_below(m, k), m, 0),
    np.triu: lambda m, k=0: composed.where(_below(m, k - 1), 0, m),
    np.linalg.norm: lambda x, ord=None, axis=None, keepdims=False: _norm(x, ord, axis, keepdims),
    np.zeros_like: lambda a, dtype=None: np.zeros(a.shape, dtype or a.dtype),
    np.ones_like: lambda a, dtype=None: np.ones(a.shape, dtype or a.dtype),
    np.full_like: lambda a, fill_value, dtype=None: np.full(a.shape, fill_value, dtype or a.dtype),
    np.einsum: einsum, np.take: take, np.take_along_axis: take_along_axis, np.split: split, np.copy: lambda a: a,
    np.outer: lambda a, b: elementwise("mul", trace.reshape(a, (-1, 1)), trace.reshape(b, (1, -1))),
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
}


def call_function(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    name = getattr(function, "__name__", str(function))
    call = _FUNCTIONS.get(function)
    if call is None:
        raise unsupported(refusal(f"numpy.{name}", name))
    given = {key: value for key, value in options.items() if value is not np._NoValue}
    signature = inspect.signature(call)
    try:
        bound = signature.bind(*args, **given)
    except TypeError as error:
        raise unsupported(f"numpy.{name} of traced arrays: {error}; arguments are "
                          f"{', '.join(signature.parameters)}") from None
    try:
        return call(*bound.args, **bound.kwargs)
    except TypeError as error:
        raise unsupported(f"numpy.{name} of traced arrays: {error}") from error

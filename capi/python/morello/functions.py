# SPDX-License-Identifier: MIT
"""Operations of the Spec language that NumPy lacks. On values that are being traced they become a part of the
graph; called with arrays, each is a kernel of its own."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from .arrays import Array
from .enums import Dtype, Status
from .errors import SpecError
from .jit import jit
from . import composed, indexing
from .trace import Axis, Traced, along, as_value, elementwise, listed, reduce, result_type, whole

F = TypeVar("F", bound=Callable[..., Any])


def _function(function: F) -> F:
    alone = jit(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if any(isinstance(x, Traced) for x in (*args, *options.values())):
            return function(*args, **options)
        return alone(*args, **options)
    return call  # type: ignore[return-value]


@_function
def relu(x: Array) -> Any:
    """x < 0 ? 0 : x; NaN stays NaN."""
    return elementwise("relu", x)


@_function
def sigmoid(x: Array) -> Any:
    """1 / (1 + exp(-x))."""
    return elementwise("sigmoid", x)


@_function
def silu(x: Array) -> Any:
    """x * sigmoid(x)."""
    return elementwise("silu", x)


@_function
def gelu(x: Array) -> Any:
    """x / 2 * (1 + erf(x / sqrt(2)))."""
    return elementwise("gelu", x)


@_function
def gelu_tanh(x: Array) -> Any:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    return elementwise("gelu_tanh", x)


@_function
def erf(x: Array) -> Any:
    """The error function."""
    return elementwise("erf", x)


@_function
def rsqrt(x: Array) -> Any:
    """1 / sqrt(x)."""
    return elementwise("rsqrt", x)


@_function
def fast_max(a: Array, b: Array) -> Any:
    """a > b ? a : b: faster than numpy.maximum, and another result where there is a NaN."""
    return elementwise("fast_max", a, b)


@_function
def fast_min(a: Array, b: Array) -> Any:
    """a < b ? a : b."""
    return elementwise("fast_min", a, b)


@_function
def where(condition: Array, x: Array, y: Array) -> Any:
    """x where the condition is not 0, else y; the condition may be a comparison, or an array of bool."""
    return composed.where(condition, x, y)


@_function
def take(a: Array, indices: Array, axis: int | None = None, mode: str = "raise") -> Any:
    """numpy.take, also of arrays at places that are traced; what is outside is the nearest place."""
    return indexing.take(a, indices, axis, mode)


@_function
def softmax(x: Array, axis: Axis = -1) -> Any:
    """exp(x - max) / sum(exp(x - max)) along `axis`."""
    return along("softmax", x, axis)


@_function
def log_softmax(x: Array, axis: Axis = -1) -> Any:
    """The logarithm of softmax."""
    return along("log_softmax", x, axis)


@_function
def logsumexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))), without overflow."""
    return reduce("logsumexp", x, axis, keepdims)


@_function
def layernorm(x: Array, gamma: Array | None = None, beta: Array | None = None, axis: Axis = -1,
              eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + eps) * gamma + beta."""
    if gamma is None and beta is not None:
        return elementwise("add", along("layernorm", x, axis, settings=f" eps={eps:.9g}"), beta)
    others = [other for other in (gamma, beta) if other is not None]
    return along("layernorm", x, axis, *others, settings=f" eps={eps:.9g}")


@_function
def rmsnorm(x: Array, gamma: Array | None = None, axis: Axis = -1, eps: float = 1e-5) -> Any:
    """x / sqrt(mean(x^2) + eps) * gamma."""
    return along("rmsnorm", x, axis, *([] if gamma is None else [gamma]), settings=f" eps={eps:.9g}")


@_function
def attention(q: Array, k: Array, v: Array, mask: Array | None = None, scale: float | None = None,
              causal: bool = False, offset: int = 0) -> Any:
    """softmax(q k^T * scale + mask) v, of q[..,m,d], k[..,n,d] and v[..,n,e]; scale: 1/sqrt(d).

    With `causal`, query i sees keys 0 to i + `offset`, and what is masked is skipped.
    """
    values = [whole("attention", x) for x in (q, k, v)]
    shape = [*values[0].shape[:-1], values[2].shape[-1]]
    inputs = values if mask is None else [*values, as_value(mask)]
    settings = "" if scale is None else f" scale={scale:.9g}"
    if causal:
        settings += f" causal offset={offset}" if offset else " causal"
    elif offset:
        raise SpecError(Status.INVALID_ARGUMENT, "offset is of a causal mask; pass causal=True as well")
    return Traced("attention" + settings, inputs, shape, result_type("attention", inputs))


@_function
def scaled_matmul(a: Array, b: Array, scales: Array, a_scales: Array | None = None) -> Any:
    """a[..,m,k] times b[..,k,n], summed in groups along k: the sums of each group are multiplied by
    scales[..,groups,n] of b, and by a_scales[..,m,groups] of a if there are any, and added up."""
    inputs = [whole("scaled_matmul", x) for x in ([a, b, scales] if a_scales is None else [a, b, scales, a_scales])]
    return Traced("scaled_matmul", inputs, [*inputs[0].shape[:-1], inputs[1].shape[-1]],
                  result_type("scaled_matmul", inputs))


def _counts(number: Any, least: int) -> bool:
    return isinstance(number, Real) and float(number).is_integer() and float(number) >= least


def _pair(what: str, number: int | tuple[int, int]) -> tuple[int, int]:
    both: Any = (number, number) if isinstance(number, Real) else number
    if not isinstance(both, (Sequence, np.ndarray)) or len(both) != 2 or not all(_counts(n, 1) for n in both):
        raise SpecError(Status.INVALID_ARGUMENT, f"{what} {number!r}: valid are an integer of 1 at least, and two, of rows "
                                                 "and columns")
    rows, columns = both
    return int(rows), int(columns)


def _windows(sizes: tuple[int, int], window: tuple[int, int], stride: tuple[int, int],
             dilation: tuple[int, int]) -> list[int]:
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
    if any(span > size for span, size in zip(spans, sizes)):
        raise SpecError(Status.INVALID_SHAPE, f"windows of {spans} in {sizes}")
    return [(size - span) // step + 1 for size, span, step in zip(sizes, spans, stride)]


Padding = int | tuple[int, int] | tuple[int, int, int, int] | tuple[tuple[int, int], tuple[int, int]]


def _sides(padding: Padding) -> tuple[tuple[int, int], tuple[int, int]]:
    """(above, below), (left, right)."""
    kinds = (Sequence, np.ndarray)
    sides: Any = (padding, padding) if isinstance(padding, Real) else padding
    if isinstance(sides, kinds) and len(sides) == 4:
        above, left, below, right = sides
        sides = (above, below), (left, right)
    if isinstance(sides, kinds) and len(sides) == 2:
        both: list[Any] = [(side, side) if isinstance(side, Real) else side for side in sides]
        if all(isinstance(side, kinds) and len(side) == 2 and all(_counts(n, 0) for n in side) for side in both):
            return (int(both[0][0]), int(both[0][1])), (int(both[1][0]), int(both[1][1]))
    raise SpecError(Status.INVALID_ARGUMENT, f"padding {padding!r}: valid are a width of 0 at least, (rows, columns), "
                                             "((above, below), (left, right)) and (above, left, below, right)")


def _settings(stride: tuple[int, int], dilation: tuple[int, int], sides: tuple[tuple[int, int], tuple[int, int]],
              nhwc: bool) -> str:
    (above, below), (left, right) = sides
    padding = f" padding={above},{left},{below},{right}" if any((above, below, left, right)) else ""
    return f" stride={listed(stride)} dilation={listed(dilation)}{padding}" + (" nhwc" if nhwc else "")


@_function
def conv2d(x: Array, w: Array, stride: int | tuple[int, int] = 1, dilation: int | tuple[int, int] = 1, groups: int = 1,
           nhwc: bool = False, padding: Padding = 0) -> Any:
    """x[n,c,h,w] by w[o,c/groups,r,s]; nhwc: x[n,h,w,c] by w[r,s,c/groups,o].

    padding: zeros on all sides; (rows, columns); ((above, below), (left, right)); or (above, left, below, right).
    """
    image, kernel = whole("conv2d", x), whole("conv2d", w)
    if image.ndim != 4 or kernel.ndim != 4:
        raise SpecError(Status.INVALID_SHAPE, f"conv2d of {image!r} and {kernel!r}: four axes each")
    steps, gaps, sides = _pair("stride", stride), _pair("dilation", dilation), _sides(padding)
    batch, height, width = image.shape[0], *(image.shape[1:3] if nhwc else image.shape[2:])
    window = kernel.shape[:2] if nhwc else kernel.shape[2:]
    sizes = _windows((height + sum(sides[0]), width + sum(sides[1])), (window[0], window[1]), steps, gaps)
    channels = kernel.shape[3] if nhwc else kernel.shape[0]
    dtype = result_type("conv2d", [image, kernel])
    return Traced(f"conv2d{_settings(steps, gaps, sides, nhwc)} groups={groups}", [image, kernel],
                  [batch, *sizes, channels] if nhwc else [batch, channels, *sizes],
                  Dtype.I32 if dtype.is_integer else dtype)


def _pool(operation: str, x: Array, window: int | tuple[int, int], stride: int | tuple[int, int] | None,
          dilation: int | tuple[int, int], nhwc: bool, padding: Padding) -> Traced:
    image = whole(operation, x)
    if image.ndim != 4:
        raise SpecError(Status.INVALID_SHAPE, f"{operation} of {image!r}: four axes")
    size, gaps, sides = _pair("window", window), _pair("dilation", dilation), _sides(padding)
    steps = size if stride is None else _pair("stride", stride)
    n, c = image.shape[0], image.shape[3 if nhwc else 1]
    height, width = image.shape[1:3] if nhwc else image.shape[2:]
    places = _windows((height + sum(sides[0]), width + sum(sides[1])), size, steps, gaps)
    return Traced(f"{operation} window={listed(size)}{_settings(steps, gaps, sides, nhwc)}", [image],
                  [n, *places, c] if nhwc else [n, c, *places], result_type(operation, [image]))


@_function
def max_pool(x: Array, window: int | tuple[int, int], stride: int | tuple[int, int] | None = None,
             dilation: int | tuple[int, int] = 1, nhwc: bool = False, padding: Padding = 0) -> Any:
    """The greatest of each window of x[n,c,h,w], or nhwc; stride: that of the window; padding as conv2d()."""
    return _pool("max_pool", x, window, stride, dilation, nhwc, padding)


@_function
def avg_pool(x: Array, window: int | tuple[int, int], stride: int | tuple[int, int] | None = None,
             dilation: int | tuple[int, int] = 1, nhwc: bool = False, padding: Padding = 0) -> Any:
    """The mean of each window, likewise; what is outside counts as zeros."""
    return _pool("avg_pool", x, window, stride, dilation, nhwc, padding)

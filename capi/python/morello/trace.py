# SPDX-License-Identifier: MIT
"""Values that stand for arrays while a function is traced: each operation on them is written down."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union

import numpy as np

from .arrays import dtype_of, numpy_dtype
from .enums import Dtype, Status
from .errors import NoAttribute, SpecError
from .missing import beside_integers, refusal

Axis = Union[int, Sequence[int], None]
_numpy: Any = np  # whose functions come back, by __array_function__ and __array_ufunc__

# Operations on integers that give floats.
_FLOAT = frozenset("div sqrt recip exp exp2 log tanh sigmoid erf gelu gelu_tanh silu sin cos rsqrt mean softmax log_softmax "
                   "logsumexp layernorm rmsnorm attention avg_pool pow".split())


def unsupported(message: str) -> SpecError:
    return SpecError(Status.UNSUPPORTED, message)


def _no_operator(written: str, name: str) -> Callable[..., Any]:
    def method(*_: Any) -> Any:
        raise unsupported(refusal(written, name))
    return method


class Traced:
    """The value of an operation of the Spec language, not yet computed: what a function that `morello.jit` traces
    gets in place of arrays. It has operators, NumPy's functions on arrays as far as the language has them, and
    morello's own. `shape` is what it is for the program; `stored`, which has 1 in place of some sizes, is what is
    computed before broadcasting.
    """
    __array_priority__ = 1000

    def __init__(self, operation: str, inputs: Sequence[Any], shape: Sequence[int], dtype: Dtype,
                 stored: Sequence[int] | None = None, array: Any = None):
        self.operation = operation  # "input": a leaf; its array is there if it was captured
        self.inputs = tuple(inputs)  # values and numbers
        self.shape = tuple(int(size) for size in shape)
        self.stored = self.shape if stored is None else tuple(stored)
        self.element = dtype
        self.array = array
        self.final = False  # converted to integers, which ends a kernel
        self.light = False  # an operation on single elements: computing it again costs little
        # 1 or 0: what NumPy has as bool
        self.truth: bool = operation.partition(" ")[0] in ("", "reshape", "transpose", "spread") and self.inputs[0].truth

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self.element)

    @property
    def T(self) -> Traced:  # pylint: disable=invalid-name
        return transpose(self)

    @property
    def mT(self) -> Traced:  # pylint: disable=invalid-name
        return swapaxes(self, -1, -2)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Traced({self.element.text}[{','.join(map(str, self.shape))}])"

    def _unknown(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self!r} stands for an array while a function is traced: its elements are not known, and it "
                        "cannot be converted or compared. Write np.maximum(a, b) for max(a, b), "
                        "np.where(x > 0, a, b) for a if x > 0 else b, & and | for and and or, and morello.take(W, ids, "
                        "axis=0) for W[ids], where the function finds W elsewhere")

    __bool__ = __int__ = __float__ = __index__ = __array__ = __contains__ = _unknown
    __setitem__ = _no_operator("x[i] = y", "setitem")

    def __add__(self, other: Any) -> Traced: return arithmetic("add", self, other)
    def __radd__(self, other: Any) -> Traced: return arithmetic("add", other, self)
    def __sub__(self, other: Any) -> Traced: return arithmetic("sub", self, other)
    def __rsub__(self, other: Any) -> Traced: return arithmetic("sub", other, self)
    def __mul__(self, other: Any) -> Traced: return arithmetic("mul", self, other)
    def __rmul__(self, other: Any) -> Traced: return arithmetic("mul", other, self)
    def __truediv__(self, other: Any) -> Traced: return elementwise("div", self, other)
    def __rtruediv__(self, other: Any) -> Traced: return elementwise("div", other, self)
    def __matmul__(self, other: Any) -> Any: return np.matmul(self, other)
    def __rmatmul__(self, other: Any) -> Any: return np.matmul(other, self)
    def __pow__(self, exponent: Any) -> Any: return _numpy.power(self, exponent)
    def __rpow__(self, base: Any) -> Any: return _numpy.power(base, self)
    def __neg__(self) -> Traced: return arithmetic("neg", self)
    def __pos__(self) -> Traced: return self
    def __abs__(self) -> Traced: return elementwise("abs", self)
    def __lt__(self, other: Any) -> Traced: return compare("less", self, other)
    def __le__(self, other: Any) -> Traced: return compare("less_equal", self, other)
    def __gt__(self, other: Any) -> Traced: return compare("greater", self, other)
    def __ge__(self, other: Any) -> Traced: return compare("greater_equal", self, other)
    def __eq__(self, other: Any) -> Traced: return compare("equal", self, other)  # type: ignore[override]
    def __ne__(self, other: Any) -> Traced: return compare("not_equal", self, other)  # type: ignore[override]
    def __and__(self, other: Any) -> Traced: return both(self, other)
    def __rand__(self, other: Any) -> Traced: return both(other, self)
    def __or__(self, other: Any) -> Traced: return either(self, other)
    def __ror__(self, other: Any) -> Traced: return either(other, self)
    def __xor__(self, other: Any) -> Traced: return unlike(self, other)
    def __rxor__(self, other: Any) -> Traced: return unlike(other, self)
    def __invert__(self) -> Traced: return negated(self)
    def __floordiv__(self, other: Any) -> Any: return np.floor_divide(self, other)
    def __rfloordiv__(self, other: Any) -> Any: return np.floor_divide(other, self)
    def __mod__(self, other: Any) -> Any: return np.remainder(self, other)
    def __rmod__(self, other: Any) -> Any: return np.remainder(other, self)
    def __divmod__(self, other: Any) -> Any: return np.divmod(self, other)
    def __rdivmod__(self, other: Any) -> Any: return np.divmod(other, self)
    __lshift__ = __rlshift__ = _no_operator("x << y", "left_shift")
    __rshift__ = __rrshift__ = _no_operator("x >> y", "right_shift")
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python and NumPy ask all objects for
            raise AttributeError(name)
        there = ", ".join(each for each in vars(Traced) if not each.startswith("_"))
        raise NoAttribute(Status.UNSUPPORTED, f"{refusal(name)}; attributes and methods are {there}")

    def __getitem__(self, index: Any) -> Traced:
        """Integers, slices and new axes; and one value, or array, of integers: x[0, ..., :4], x[:, None], x[:, ids]."""
        from .indexing import indexed  # pylint: disable=import-outside-toplevel,cyclic-import
        return indexed(self, index)

    def sum(self, axis: Axis = None, *, keepdims: bool = False, dtype: Any = None) -> Traced:
        return typed(reduce("reduce_sum", self, axis, keepdims), dtype)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Traced:
        return reduce("reduce_max", self, axis, keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Traced:
        return reduce("reduce_min", self, axis, keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False, dtype: Any = None) -> Traced:
        return typed(reduce("mean", self, axis, keepdims), dtype)

    def prod(self, axis: Axis = None, **options: Any) -> Any: return _numpy.prod(self, axis, **options)
    def any(self, axis: Axis = None, **options: Any) -> Any: return _numpy.any(self, axis, **options)
    def all(self, axis: Axis = None, **options: Any) -> Any: return _numpy.all(self, axis, **options)
    def argmax(self, axis: int | None = None, **options: Any) -> Any: return _numpy.argmax(self, axis, **options)
    def argmin(self, axis: int | None = None, **options: Any) -> Any: return _numpy.argmin(self, axis, **options)
    def cumsum(self, axis: int | None = None) -> Any: return _numpy.cumsum(self, axis)
    def repeat(self, repeats: Any, axis: int | None = None) -> Any: return _numpy.repeat(self, repeats, axis)
    def reshape(self, *shape: Any, order: str = "C") -> Traced:
        if order != "C":
            raise unsupported(f"reshape in order {order!r}: valid is 'C', in which the last axis is the fastest")
        return reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Traced: return reshape(self, -1)
    def flatten(self) -> Traced: return reshape(self, -1)
    def copy(self) -> Traced: return self
    def squeeze(self, axis: Axis = None) -> Traced: return squeeze(self, axis)
    def swapaxes(self, a: int, b: int) -> Traced: return swapaxes(self, a, b)
    def clip(self, min: Any = None, max: Any = None) -> Any: return _numpy.clip(self, min, max)
    def dot(self, other: Any) -> Any: return np.dot(self, other)
    def astype(self, dtype: Any, **_: Any) -> Traced: return astype(self, dtype)

    def transpose(self, *axes: Any) -> Traced:
        return transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)

    def var(self, axis: Axis = None, **options: Any) -> Any: return _numpy.var(self, axis, **options)
    def std(self, axis: Axis = None, **options: Any) -> Any: return _numpy.std(self, axis, **options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from .numpy_functions import call_ufunc  # pylint: disable=import-outside-toplevel,cyclic-import
        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable[..., Any], _types: Any, args: Any, options: Any) -> Any:
        from .numpy_functions import call_function  # pylint: disable=import-outside-toplevel,cyclic-import
        return call_function(function, args, options)


def as_value(x: Any) -> Any:
    """A traced value or a number; arrays that the function found elsewhere become operands, as they are now."""
    if isinstance(x, Traced):
        return x
    if isinstance(x, (bool, int, np.bool_, np.integer)):
        return int(x)
    if isinstance(x, (float, np.floating)):
        return float(x)
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        raise unsupported(f"a {type(x).__name__}, whose operations are not those of arrays")
    array = np.array(x, order="C")  # a copy
    if array.dtype == np.float64:
        array = array.astype(np.float32)  # as numbers are
    elif array.dtype == np.int64:
        if array.size and not -2 ** 31 <= int(array.min()) <= int(array.max()) < 2 ** 31:
            raise unsupported(f"an array of int64 with numbers beyond 32 bits, {array.min()} to {array.max()}")
        array = array.astype(np.int32)
    truth = array.dtype == np.bool_ and array.ndim > 0
    if array.ndim == 0 and array.dtype.kind in "biuf":
        return array.item()
    dtype = Dtype.U8 if truth else dtype_of(array.dtype)
    if dtype is None:
        raise unsupported(f"an array of {array.dtype}: element types are {', '.join(d.text for d in Dtype)}")
    captured = Traced("input", (), array.shape, dtype, array=array.view(np.uint8) if truth else array)
    captured.truth = truth
    return captured


def as_traced(x: Any) -> Traced:
    value = as_value(x)
    if not isinstance(value, Traced):
        raise unsupported("an operation on the axes of a number")
    return value


def result_type(operation: str, values: Sequence[Any]) -> Dtype:
    """As the Spec language has it, where numbers have no type of their own."""
    types = {value.element for value in values if isinstance(value, Traced)}
    integers = all(dtype.is_integer for dtype in types)
    if integers and (operation in _FLOAT or any(isinstance(value, float) for value in values)):
        return Dtype.F32
    if len(types) == 1:
        return types.pop()
    return Dtype.I32 if integers else Dtype.F32


def elementwise(operation: str, *args: Any) -> Traced:
    values = [as_value(x) for x in args]
    traced = [value for value in values if isinstance(value, Traced)]
    try:
        shape = np.broadcast_shapes(*(value.shape for value in traced))
        stored = np.broadcast_shapes(*(value.stored for value in traced))
    except ValueError:
        raise SpecError(Status.INVALID_SHAPE, f"{operation}: the shapes {', '.join(str(v.shape) for v in traced)} do "
                                              "not broadcast to one") from None
    element = result_type(operation, values)
    if element.is_integer:
        operation, values = beside_integers(operation, values)
    result = Traced(operation, values, shape, element, stored)
    result.light = True
    return result


def arithmetic(operation: str, *args: Any) -> Traced:
    """add, sub, mul or neg, which of what NumPy has as bool are as NumPy has them: a sum is `either`, a product `both`,
    and numbers make int32 of it."""
    values = [as_value(x) for x in args]
    traced = [value for value in values if isinstance(value, Traced)]
    if not traced or not all(value.truth for value in traced):
        return elementwise(operation, *values)
    if len(traced) == len(values):
        if operation not in ("add", "mul"):
            raise unsupported(f"{operation} of bool, which NumPy refuses as well: write a ^ b, or ~a")
        return either(*values) if operation == "add" else both(*values)
    result = elementwise(operation, *values)
    if result.element.is_integer:
        result.element = Dtype.I32
    return result


def compare(operation: str, a: Any, b: Any) -> Traced:
    """1 or 0, in the element type that both have."""
    result = elementwise(operation, a, b)
    result.truth = True
    return result


def _truth(x: Any) -> Any:
    value = as_value(x)
    if isinstance(value, Traced) and not value.truth:
        raise unsupported(f"and, or and not of {value!r}, which is no comparison and no array of bool: write x != 0")
    return value


def both(a: Any, b: Any) -> Traced:
    result = elementwise("mul", _truth(a), _truth(b))
    result.truth = True
    return result


def either(a: Any, b: Any) -> Traced:
    result = elementwise("fast_max", _truth(a), _truth(b))
    result.truth = True
    return result


def unlike(a: Any, b: Any) -> Traced:
    return compare("not_equal", _truth(a), _truth(b))


def negated(x: Any) -> Traced:
    return compare("equal", _truth(x), 0)


def whole(operation: str, x: Any) -> Traced:
    """An operand of what does not broadcast."""
    value = as_traced(x)
    if not isinstance(value, Traced):
        raise unsupported(f"{operation} of a number")
    if value.stored != value.shape:  # graphs broadcast operands of elementwise operations only
        return Traced("spread", [value], value.shape, value.element)
    return value


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    axes = range(ndim) if axis is None else [axis] if isinstance(axis, (int, np.integer)) else axis
    found = []
    for each in axes:
        if not -ndim <= each < ndim:
            raise SpecError(Status.INVALID_SHAPE, f"axis {each} of a value with {ndim} axes")
        found.append(int(each) % ndim)
    return tuple(sorted(found))


def without(shape: Sequence[int], axes: Sequence[int], keep: bool) -> list[int]:
    return [1 if i in axes else size for i, size in enumerate(shape) if keep or i not in axes]


def listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def reduce(operation: str, x: Any, axis: Axis = None, keepdims: bool = False) -> Traced:
    value = as_traced(x)
    axes = axes_of(axis, value.ndim)
    if not axes:
        return value if value.truth and operation != "reduce_sum" else elementwise("mul", value, 1)
    if operation == "reduce_sum" and value.truth and not value.element.is_integer:  # f32 counts to 2^24
        few = math.prod(value.shape[i] for i in axes) <= 1 << 24
        counted = Traced("", [value], value.shape, value.element, value.stored)
        counted.truth = False
        return converted(reduce(operation, counted, axis, keepdims), Dtype.I32) if few else \
            reduce(operation, converted(value, Dtype.U8), axis, keepdims)
    if operation == "mean" and value.element == Dtype.I32:  # whose sums need not fit
        value = converted(value, Dtype.F32)
    dtype = result_type(operation, [value])
    if operation == "reduce_sum" and value.element.is_integer:
        dtype = Dtype.I32
    text = f"{operation} axis={listed(axes)}" + (" keep" if keepdims else "")
    repeated = math.prod(value.shape[i] for i in axes if value.stored[i] != value.shape[i])
    result = Traced(text, [value], without(value.shape, axes, keepdims), dtype,
                    without(value.stored, axes, keepdims))
    result.truth = value.truth and operation in ("reduce_max", "reduce_min")
    return elementwise("mul", result, repeated) if operation == "reduce_sum" and repeated > 1 else result


def typed(result: Traced, dtype: Any) -> Traced:
    """The result of a reduction in the element type that is asked for, after it was computed in f32 or i32."""
    if dtype is None:
        return result
    target = dtype_of(np.dtype(dtype))
    if target is not None and target.is_integer and target != result.element:
        raise unsupported(f"dtype {np.dtype(dtype)} of a reduction: valid are {result.dtype}, as which it is computed, "
                          "and float32, float16 and bfloat16; write .astype() to round its result")
    return converted(result, dtype)


def along(operation: str, x: Any, axis: Axis, *others: Any, settings: str = "") -> Traced:
    """An operation along axes that keeps the shape, such as softmax."""
    value = whole(operation, x)
    rest = [as_value(other) for other in others]
    return Traced(f"{operation} axis={listed(axes_of(axis, value.ndim))}{settings}", [value, *rest], value.shape,
                  result_type(operation, [value, *rest]))


def reshape(x: Any, shape: Any) -> Traced:
    value = as_traced(x)
    sizes = [int(size) for size in (shape if isinstance(shape, (tuple, list)) else [shape])]
    if sizes.count(-1) == 1:
        rest = -math.prod(sizes)
        sizes[sizes.index(-1)] = value.size // rest if rest else 0
    if math.prod(sizes) != value.size or min(sizes, default=1) < 1:
        raise SpecError(Status.INVALID_SHAPE, f"reshape of {value!r} to {shape}")
    stored = sizes
    if value.stored != value.shape:
        # Only axes of size 1 come and go.
        if [s for s in sizes if s > 1] != [s for s in value.shape if s > 1]:
            return reshape(whole("reshape", value), sizes)
        long = iter([kept for kept, size in zip(value.stored, value.shape) if size > 1])
        stored = [next(long) if size > 1 else 1 for size in sizes]
    if tuple(sizes) == value.shape:
        return value
    return Traced(f"reshape shape={listed(stored)}", [value], sizes, value.element, stored)


def squeeze(x: Any, axis: Axis = None) -> Traced:
    value = as_traced(x)
    axes = [i for i, size in enumerate(value.shape) if size == 1] if axis is None else axes_of(axis, value.ndim)
    if any(value.shape[i] != 1 for i in axes):
        raise SpecError(Status.INVALID_SHAPE, f"squeeze of axes {axis} of {value!r}, which are not of size 1")
    return reshape(value, without(value.shape, axes, False))


def expand_dims(x: Any, axis: Axis) -> Traced:
    value = as_traced(x)
    count = 1 if isinstance(axis, int) else len(axis or ())
    axes = axes_of(axis, value.ndim + count)
    sizes = iter(value.shape)
    return reshape(value, [1 if i in axes else next(sizes) for i in range(value.ndim + count)])


def broadcast_to(x: Any, shape: Sequence[int]) -> Traced:
    value = as_traced(x)
    shape = tuple(shape)
    if np.broadcast_shapes(value.shape, shape) != shape:
        raise SpecError(Status.INVALID_SHAPE, f"broadcast of {value!r} to {shape}")
    value = reshape(value, [1] * (len(shape) - value.ndim) + list(value.shape))
    return value if value.shape == shape else Traced("", [value], shape, value.element, value.stored)


def transpose(x: Any, axes: Sequence[int] | None = None) -> Traced:
    value = as_traced(x)
    order = [int(i) % value.ndim for i in (reversed(range(value.ndim)) if axes is None else axes)]
    if sorted(order) != list(range(value.ndim)):
        raise SpecError(Status.INVALID_SHAPE, f"transpose of {value!r} by {axes}")
    if order == sorted(order):
        return value
    return Traced(f"transpose perm={listed(order)}", [value], [value.shape[i] for i in order], value.element,
                  [value.stored[i] for i in order])


def swapaxes(x: Any, a: int, b: int) -> Traced:
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def moveaxis(x: Any, source: Any, destination: Any) -> Traced:
    pairs = [([axis] if isinstance(axis, (int, np.integer)) else list(axis)) for axis in (source, destination)]
    moved, places = ([axes_of(int(axis), x.ndim)[0] for axis in axes] for axes in pairs)
    if len(moved) != len(places) or len(set(moved)) != len(moved) or len(set(places)) != len(places):
        raise SpecError(Status.INVALID_SHAPE, f"moveaxis of {x!r} from {source} to {destination}")
    order = [i for i in range(x.ndim) if i not in moved]
    for place, axis in sorted(zip(places, moved)):
        order.insert(place, axis)
    return transpose(x, order)


#: What gives whole numbers.
_WHOLE = ("round", "floor", "ceil")


def astype(x: Any, dtype: Any) -> Traced:
    """As NumPy has it: to integers toward zero. What does not fit saturates."""
    value = as_traced(x)
    target = dtype if isinstance(dtype, Dtype) else dtype_of(np.dtype(dtype))
    if target is not None and target.is_integer and not value.element.is_integer and not value.truth \
            and value.operation not in _WHOLE:
        value = truncated(value)
    return converted(value, dtype)


def truncated(x: Traced) -> Traced:
    """Toward zero."""
    return elementwise("add", elementwise("max", elementwise("floor", x), 0), elementwise("min", elementwise("ceil", x), 0))


def ended(x: Traced) -> Traced:
    """The same value, in memory: a kernel ends here. Floats are f32, so that nothing is rounded."""
    result = x if x.final else Traced("", [x], x.shape, x.element if x.element.is_integer else Dtype.F32, x.stored)
    result.final = True
    return result


def converted(x: Any, dtype: Any) -> Traced:
    """As the Spec language has it: to integers to the nearest one, of two the even one."""
    value = as_traced(x)
    if not isinstance(dtype, Dtype) and np.dtype(dtype) == np.bool_:
        return value if value.truth else compare("not_equal", value, 0)
    target = dtype if isinstance(dtype, Dtype) else dtype_of(np.dtype(dtype))
    if target is None:
        raise unsupported(f"conversion to {np.dtype(dtype)}: element types are {', '.join(d.text for d in Dtype)}")
    if target == value.element and not value.truth:
        return value
    if not target.is_integer and target != value.element:
        return Traced(f"cast {target.text}", [value], value.shape, target, value.stored)
    result = Traced("", [value], value.shape, target, value.stored)
    result.truth = False  # numbers, which are an index, and can be added
    result.final = target != value.element and not (value.element.is_integer and target == Dtype.I32)
    return result

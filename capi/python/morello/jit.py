# SPDX-License-Identifier: MIT
"""Kernels of Python functions: one, or several, for each set of shapes and element types, made when first needed."""
from __future__ import annotations

import array as arrays_of_python
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from . import dlpack
from .arrays import Packed, as_numpy, dtype_of
from .enums import Dtype, Effort, Layout, Status
from .errors import Error, OperandError, SpecError, mendable
from .kernel import Kernel, compile as compile_spec
from .program import Program, Step
from .programs import buildable, compiled, is_several, program_of, program_of_kernel
from .spec import Spec
from .tensor import Tensor, row_major
from .trace import Traced, converted, unsupported
from .writer import MOST_OUTPUTS


class _Leaf:
    """The place of an array in nested arguments."""

    def __init__(self, index: int):
        self.index = index


def _is_array(x: Any) -> bool:
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        raise OperandError(Status.INVALID_ARGUMENT, f"a {type(x).__name__}, whose operations are not those of arrays: "
                                                    "pass an ndarray")
    if isinstance(x, (np.ndarray, Tensor, memoryview, bytearray, arrays_of_python.array)):
        return True
    if isinstance(x, getattr(getattr(sys.modules.get("jax"), "core", None), "Tracer", ())):
        raise TypeError("an argument that JAX is tracing: a function of jit or jit_jax runs a kernel on arrays, and "
                        "cannot be nested in jax.jit, jax.grad and the like, or another jit_jax; there, call the "
                        "function itself, which is its __wrapped__")
    return hasattr(x, "__dlpack__") and not isinstance(x, np.generic)


def _like(x: Any, items: list[Any]) -> Any:
    """A list or tuple like x, which may be one with names."""
    return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)


def _flatten(x: Any, leaves: list[Any]) -> tuple[Any, Any]:
    """(what can be a key, the same with a _Leaf for each array)."""
    if _is_array(x):
        leaves.append(x)
        return "array", _Leaf(len(leaves) - 1)
    if isinstance(x, (tuple, list)):
        both = [_flatten(each, leaves) for each in x]
        return (type(x), *(each[0] for each in both)), _like(x, [each[1] for each in both])
    if isinstance(x, dict):
        named = {key: _flatten(value, leaves) for key, value in x.items()}
        return ("dict", *((key, value[0]) for key, value in named.items())), \
            {key: value[1] for key, value in named.items()}
    if isinstance(x, Packed):
        raise OperandError(Status.INVALID_ARGUMENT, "a packed array is of use to its kernel only")
    try:
        hash(x)
    except TypeError:
        raise TypeError(f"an argument of type {type(x).__name__}: wants arrays, and hashable values, which are "
                        "constants") from None
    # 0.0 is equal to -0.0, and NaN to nothing.
    return (type(x), float(x).hex() if isinstance(x, (float, np.floating)) else x), x


def _unflatten(x: Any, leaves: Sequence[Any]) -> Any:
    if isinstance(x, _Leaf):
        return leaves[x.index]
    if isinstance(x, (tuple, list)):
        return _like(x, [_unflatten(each, leaves) for each in x])
    if isinstance(x, dict):
        return {key: _unflatten(value, leaves) for key, value in x.items()}
    return x


class _Described(NamedTuple):
    """An array as a kernel can read it, copied if it must be, and its description."""
    array: Any
    tensor: Tensor
    truth: bool = False  # it is of bool, which the kernel reads as u8


def _described(x: Any) -> _Described:
    if isinstance(x, Tensor):
        return _Described(x, x)
    if not isinstance(x, np.ndarray):
        if hasattr(x, "__dlpack__"):
            try:
                found = dlpack.import_tensor(x)
            except BufferError as error:
                raise OperandError(Status.INVALID_ARGUMENT, str(error)) from error
            if found.dtype is not None:
                layout = _layout(found.shape, found.strides, found.dtype.size)
                if layout is not None:
                    return _Described(x, Tensor(found.dtype, found.shape, *layout))
            x = np.from_dlpack(x)
        else:
            x = np.asarray(memoryview(x))
    truth = x.dtype == np.bool_
    if truth:
        x = x.view(np.uint8)
    dtype = dtype_of(x.dtype)
    if dtype is None:
        raise OperandError(Status.UNKNOWN_DTYPE, f"an array of {x.dtype}: element types are "
                                                 + ", ".join(each.text for each in Dtype))
    if x.ndim > 8:
        raise SpecError(Status.UNSUPPORTED, f"an array of {x.ndim} axes; at most 8")
    layout = _layout(x.shape, x.strides, dtype.size)
    if layout is None or not x.flags.aligned:
        x, layout = np.array(x, order="C"), (Layout.ROW_MAJOR, None)
    return _Described(x, Tensor(dtype, x.shape, *layout), truth)


def _layout(shape: tuple[int, ...], strides: tuple[int, ...],
            size: int) -> tuple[Layout, tuple[int, ...] | None] | None:
    """Where elements that lie densely in some order of the axes are; None: they do not."""
    dense = row_major(shape)
    if all(extent == 1 or stride == want * size for extent, stride, want in zip(shape, strides, dense)):
        return Layout.ROW_MAJOR, None
    order = sorted((axis for axis in range(len(shape)) if shape[axis] > 1), key=lambda axis: strides[axis])
    step, found = 1, [1] * len(shape)
    for axis in order:
        if strides[axis] != step * size:
            return None
        found[axis] = step
        step *= shape[axis]
    return Layout.STRIDED, tuple(found)


def trace_python(function: Callable[..., Any], args: Any, leaves: Sequence[Traced]) -> Any:
    """Calls it with values that write down what is done with them."""
    positional, named = _unflatten(args, leaves)
    return function(*positional, **named)


class _Trace(NamedTuple):
    """What a function comes to for some arguments. structure: of what it returns, None: the one result. truths: which
    results are comparisons and the like, kept as bytes."""
    results: list[Traced]
    leaves: list[tuple[Traced, Tensor]]
    structure: Any
    truths: list[bool]


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: _Kernel | _Program | None = None
        self.structure: Any = None
        self.truths: list[bool] | None = None

    def __call__(self, leaves: Sequence[Any]) -> Any:
        assert self.made is not None
        results = self.made.run(leaves)
        if self.truths is None and self.structure is None and type(results) is np.ndarray:
            return results
        found = list(results) if isinstance(results, (tuple, list)) else [results]
        if self.truths is not None:
            found = [each.view(np.bool_) if truth else each for each, truth in zip(found, self.truths)]
        return found[0] if self.structure is None else _unflatten(self.structure, found)


class _Kernel:
    """The kernel of a function that is one Spec, and its operands: numbers of leaves, arrays that were captured, and
    what was packed of them."""

    def __init__(self, trace: _Trace, options: dict[str, Any]):
        self._tensors, self._threads = [tensor for _, tensor in trace.leaves], int(options.get("threads", 1))
        self.spec, operands, self.kernel = compiled(trace.results, trace.leaves, options)
        step = Step(self.kernel, self.spec, tuple(operands), ()).packed()
        self._operands = step.operands

    def run(self, leaves: Sequence[Any]) -> Any:
        return self.kernel(*[leaves[x] if type(x) is int else x for x in self._operands])

    def program(self) -> Program:
        return program_of_kernel(self.kernel, self.spec, self._operands, self._tensors, self._threads)


class _Program:
    """The kernels of any other."""

    def __init__(self, trace: _Trace, options: dict[str, Any]):
        self._program = program_of(trace.results, trace.leaves, options)

    @property
    def kernel(self) -> Kernel:
        raise unsupported(f"a function of {len(self._program.kernels)} kernels: program(..) has them")

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        return self._program.run([x if type(x) is np.ndarray else as_numpy(x) for x in leaves])

    def program(self) -> Program:
        return self._program


def _made(trace: _Trace, options: dict[str, Any]) -> _Kernel | _Program:
    """One kernel if there is one Spec, and a program for it."""
    if not is_several(trace.results) and len(trace.results) <= MOST_OUTPUTS:
        try:
            return _Kernel(trace, options)
        except Error as error:
            mendable(error)
    return _Program(trace, options)


def _flatten_results(x: Any, results: list[Traced]) -> Any:
    """The same with a _Leaf for each value that is computed, once, however often it is there."""
    if isinstance(x, Traced):
        known = [i for i, each in enumerate(results) if each is x]
        if not known:
            results.append(x)
        return _Leaf(known[0] if known else len(results) - 1)
    if isinstance(x, (tuple, list)):
        return _like(x, [_flatten_results(each, results) for each in x])
    if isinstance(x, dict):
        return {key: _flatten_results(value, results) for key, value in x.items()}
    if x is None:
        return None
    raise unsupported(f"a function that returns a {type(x).__name__}: it has to return arrays that it computes, None, "
                      "or tuples, lists and dicts of them")


class Jitted:
    """A function whose calls run kernels: what `jit` returns. Any number of threads may call it at once; a kernel
    that several wait for is made once."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any],
                 trace: Callable[[Callable[..., Any], Any, Sequence[Traced]], Any] = trace_python):
        if not callable(function):
            raise TypeError(f"jit is of a function, not {type(function).__name__}; options have names: jit(threads=2)")
        functools.update_wrapper(self, function)
        self._function = function
        # Who gives a search time means to use it.
        self._options = options if {"time_budget", "memory_budget"} & options.keys() else {"effort": Effort.QUICK, **options}
        self._trace = trace
        self._lock = threading.Lock()
        self._entries: dict[Any, _Entry] = {}
        self._plain: dict[Any, _Entry] = {}  # of calls with nothing but NumPy arrays, none of which is copied

    def __call__(self, *args: Any, **named: Any) -> Any:
        # NumPy arrays that have been seen before need no second look.
        plain = not named and all([type(x) is np.ndarray for x in args])
        key = tuple([(x.dtype, x.shape, x.strides) for x in args]) if plain else None
        entry = self._plain.get(key)
        if entry is not None:
            try:
                return entry(args)
            except OperandError as error:
                if error.status != Status.MISALIGNED:
                    raise
        if _has_traced((args, named)):
            return self._function(*args, **named)  # a part of what is being traced
        entry, leaves = self._entry(args, named)
        if key is not None and all(leaf is x for leaf, x in zip(leaves, args)):
            self._plain[key] = entry
        return entry(leaves)

    def kernel(self, *args: Any, **named: Any) -> Kernel:
        """The kernel for these arguments, where arrays may be Tensors: it reads the arrays that the function reads, in
        the order of the arguments, and then those that it captured, packed if they are factors of a product."""
        made = self._entry(args, named)[0].made
        assert made is not None
        return made.kernel

    def program(self, *args: Any, **named: Any) -> Program:
        """All kernels for these arguments, one after another, where those of the function are several; it is called
        with the arrays among the arguments, and returns the arrays in a list, those of bool as bytes."""
        made = self._entry(args, named)[0].made
        assert made is not None
        return made.program()

    def spec(self, *args: Any, **named: Any) -> Spec:
        """What would be compiled for these arguments, if it is one kernel."""
        _, structure, leaves = self._arguments(args, named)
        trace = self._traced(structure, [_described(leaf) for leaf in leaves])
        if is_several(trace.results):
            raise unsupported(f"{self!r} is several kernels for these arguments: program(..).specs are theirs")
        return buildable(trace.results, trace.leaves, self._options.get("context"))[0]

    def clear(self) -> None:
        """Forgets all kernels."""
        with self._lock:
            self._entries.clear()
            self._plain.clear()

    def __len__(self) -> int:
        """Kernels that there are."""
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"jit({getattr(self._function, '__qualname__', self._function)})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _arguments(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
        leaves: list[Any] = []
        key, structure = _flatten((args, named), leaves)
        return key, structure, leaves

    def _entry(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[_Entry, list[Any]]:
        key, structure, leaves = self._arguments(args, named)
        described = [_described(leaf) for leaf in leaves]
        key = key, tuple((each.tensor, each.truth) for each in described)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
        if entry.made is None:
            with entry.lock:
                if entry.made is None:
                    try:
                        trace = self._traced(structure, described)
                        entry.structure = trace.structure
                        entry.truths = trace.truths if any(trace.truths) else None
                        entry.made = _made(trace, self._options)
                    except BaseException:
                        with self._lock:
                            if self._entries.get(key) is entry:
                                del self._entries[key]
                        raise
        return entry, [each.array for each in described]

    def _traced(self, structure: Any, described: Sequence[_Described]) -> _Trace:
        if not described:
            raise unsupported(f"{self!r}: no argument is an array: numbers are constants, np.array(2.0, np.float32) is "
                              "an array without axes")
        tensors = [each.tensor for each in described]
        leaves = [Traced("input", (), tensor.shape, tensor.dtype) for tensor in tensors]
        for leaf, each in zip(leaves, described):
            leaf.truth = each.truth
        result = self._trace(self._function, structure, leaves)
        results: list[Traced] = []
        returned = _flatten_results(result, results)
        if not results:
            raise unsupported("a function that returns no array")
        truths = [each.truth for each in results]
        results = [converted(each, Dtype.U8) if each.truth and each.element != Dtype.U8 else each for each in results]
        return _Trace(results, list(zip(leaves, tensors)), None if isinstance(result, Traced) else returned, truths)


def _has_traced(x: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return any(_has_traced(each) for each in x)
    if isinstance(x, dict):
        return any(_has_traced(each) for each in x.values())
    return isinstance(x, Traced)


_OPTIONS = [name for name in inspect.signature(compile_spec).parameters if name != "spec"]


def check_options(options: dict[str, Any]) -> None:
    """Where jit is called, and not at the first call of what it returns."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"jit has no option {name!r}: valid are {', '.join(_OPTIONS)}; of the arguments of the "
                            "function what is no array is a constant without being named")


@overload
def jit(function: Callable[..., Any], **options: Any) -> Jitted: ...
@overload
def jit(function: None = None, **options: Any) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compiles a function of arrays: a decorator. The function is called once for each set of shapes and element
    types, with values that write down what it does (`Traced`); what they come to is one graph, whose kernel then
    runs in its place, or several, which run one after another.

    Arguments may be arrays, and tuples, lists and dicts of them; anything else is a constant. Arrays that the
    function finds elsewhere are operands, as they were when it was traced. It returns an array, or tuples, lists and
    dicts of arrays. `options` are those of `compile`, but that searches are quick ones unless effort or a budget is
    given. Raises SpecError where the Spec language has no such operation.
    """
    check_options(options)
    if function is None:
        return lambda each: Jitted(each, options)
    return Jitted(function, options)

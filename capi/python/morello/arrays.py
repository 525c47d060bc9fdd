# SPDX-License-Identifier: MIT
"""Arrays of any library as operands: found in memory, and checked against what a Spec says."""
from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import dlpack
from ._library import ffi, lib
from .enums import Dtype, Layout, Status
from .errors import OperandError
from .tensor import Tensor, row_major

#: What can be an operand: a NumPy array, anything with DLPack or the buffer protocol, and for scalars a number.
Array = Any

_NUMPY: dict[Dtype, np.dtype[Any]] = {
    Dtype.F32: np.dtype(np.float32), Dtype.F16: np.dtype(np.float16), Dtype.I8: np.dtype(np.int8),
    Dtype.U8: np.dtype(np.uint8), Dtype.I32: np.dtype(np.int32)}
_DTYPES = {value: key for key, value in _NUMPY.items()}
_BITS = np.dtype(np.uint16)  # stands for bf16, bit by bit, where ml_dtypes is not installed


def numpy_dtype(dtype: Dtype) -> np.dtype[Any]:
    """What NumPy calls it; of bf16 ml_dtypes has the type."""
    known = _NUMPY.get(dtype)
    if known is not None:
        return known
    try:
        import ml_dtypes  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise ImportError("NumPy has no bf16: install ml_dtypes, or pass uint16 arrays of its bits, "
                          "the output by out= as well") from None
    bf16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bf16


def dtype_of(dtype: np.dtype[Any]) -> Dtype | None:
    """None: no element type of Specs."""
    if dtype.name == "bfloat16":
        return Dtype.BF16
    return _DTYPES.get(dtype)


_BYTES, _POINTER, _POINTERS = ffi.typeof("char[]"), ffi.typeof("void *"), ffi.typeof("void *[]")


class Packed:
    """An operand in the layout that a kernel chose, as `Kernel.pack` makes it. Of use to that kernel, and to any
    that packs in the same way."""

    def __init__(self, tensor: Tensor, size: int, recipe: bytes):
        self.tensor = tensor
        self.recipe = recipe
        self._take(size)

    def _take(self, size: int) -> None:
        memory = np.zeros(size + 64, np.uint8)
        start = -memory.ctypes.data % 64
        self.bytes = memory[start:start + size]
        self.address: int = self.bytes.ctypes.data
        self.pointer = ffi.cast(_POINTER, self.address)

    def __getstate__(self) -> tuple[Tensor, bytes, bytes]:
        return self.tensor, self.recipe, self.bytes.tobytes()

    def __setstate__(self, state: tuple[Tensor, bytes, bytes]) -> None:
        """Copies have memory of their own."""
        self.tensor, self.recipe, content = state
        self._take(len(content))
        self.bytes[:] = np.frombuffer(content, np.uint8)

    def __repr__(self) -> str:
        return f"Packed({self.tensor}, {len(self.bytes)} bytes)"


class Expected:
    """What an array has to be, to be one operand."""

    def __init__(self, tensor: Tensor, name: str, size: int | None = None, recipe: bytes | None = None):
        self.tensor = tensor
        self.name = name
        self.recipe = recipe  # of what packs it, if the layout is free and a kernel chooses it
        elements = row_major(tensor.shape) if tensor.strides is None else tensor.strides
        self.strides = tuple(stride * tensor.dtype.size for stride in elements)
        last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, self.strides))
        self.size = last + tensor.dtype.size if size is None else size
        # Of row-major arrays of exactly these strides; None: none is that.
        dense = tuple(stride * tensor.dtype.size for stride in row_major(tensor.shape))
        self._dense = dense if recipe is None and dense == self.strides else None
        self.fast = _BITS if tensor.dtype == Dtype.BF16 else _NUMPY[tensor.dtype]

    @property
    def is_dense(self) -> bool:
        """Row-major, without gaps."""
        return self._dense is not None

    def address(self, array: Array, keep: list[Any], writable: bool = False) -> Any:
        """Where the array's first element is, as a pointer; it and what `keep` receives have to stay alive as long as
        it is used. Raises OperandError."""
        if type(array) is np.ndarray and array.dtype == self.fast and array.shape == self.tensor.shape \
                and array.strides == self._dense:
            try:
                return ffi.from_buffer(_BYTES, array, writable)
            except (BufferError, ValueError):
                pass  # it is read-only, or NumPy exports no such elements
        if isinstance(array, Packed):
            return self._packed(array, writable).pointer
        if self.recipe is not None:
            raise self._error("has a free layout: pass what Kernel.pack() makes of the array")
        found = self._located(array, writable)
        keep.append(found.owner)
        if found.dtype != self.tensor.dtype and not (
                self.tensor.dtype == Dtype.BF16 and found.dtype_name == "uint16"):
            raise self._error(f"got elements of type {found.dtype_name}")
        if found.shape != self.tensor.shape:
            raise self._error(f"got the shape {found.shape}")
        if any(extent > 1 and have != want
               for extent, have, want in zip(found.shape, found.strides, self.strides)):
            raise self._error(f"got strides of {found.strides} bytes, needs {self.strides}: copy the array "
                              "(numpy.ascontiguousarray), or write its layout in the Spec")
        if writable and found.read_only:
            raise self._error("the array is read-only")
        return ffi.cast(_POINTER, found.address)

    def _packed(self, array: Packed, writable: bool) -> Packed:
        if self.recipe is None or writable:
            raise self._error("has no free layout, and got what Kernel.pack() made")
        if array.recipe != self.recipe or array.tensor != self.tensor:
            raise self._error(f"got {array!r}, which another kernel packs in another way")
        return array

    def _located(self, array: Array, writable: bool) -> dlpack.Imported:
        if isinstance(array, np.ma.MaskedArray):
            raise self._error("got a masked array, whose mask no kernel knows: pass array.filled(..)")
        if isinstance(array, np.ndarray):
            return _of_numpy(array)
        if isinstance(array, (int, float)) and not writable and not self.tensor.shape:
            return _of_numpy(self._scalar(array))
        if hasattr(array, "__dlpack__") and not isinstance(array, np.generic):
            try:
                found = dlpack.import_tensor(array)
            except BufferError as error:
                raise self._error(str(error)) from error
            return found._replace(read_only=found.read_only or _is_jax(array))
        try:
            view = memoryview(array)
        except TypeError:
            raise self._error(f"got a {type(array).__name__}; wants a NumPy array, or anything with DLPack or "
                              "the buffer protocol") from None
        return _of_numpy(np.asarray(view))

    def _scalar(self, number: int | float) -> np.ndarray[Any, Any]:
        """A number that the element type has; of floats one in its range, which is rounded."""
        dtype = self.tensor.dtype
        if dtype.is_integer and int(number) != number if math.isfinite(number) else dtype.is_integer:
            raise self._error(f"got {number}, which is no integer")
        try:
            with np.errstate(over="ignore"):
                array = np.asarray(int(number) if dtype.is_integer else number, numpy_dtype(dtype))
        except OverflowError:
            raise self._error(f"got {number}, which is out of its range") from None
        if not dtype.is_integer and math.isfinite(number) and not np.isfinite(array.astype(np.float64)):
            raise self._error(f"got {number}, which is out of its range")
        return array

    def _error(self, what: str) -> OperandError:
        return OperandError(Status.INVALID_ARGUMENT, f"{self.name} ({self.tensor}): {what}")


def _of_numpy(array: np.ndarray[Any, Any]) -> dlpack.Imported:
    return dlpack.Imported(array.__array_interface__["data"][0], dtype_of(array.dtype), str(array.dtype), array.shape,
                           array.strides, not array.flags.writeable, array)


class _Memory:
    """What NumPy makes an array of that keeps the owner of its memory."""

    def __init__(self, found: dlpack.Imported, size: int):
        self._owner = found.owner
        self.__array_interface__ = {"version": 3, "data": (found.address, found.read_only), "shape": found.shape,
                                    "strides": found.strides, "typestr": f"<u{size}"}


def as_numpy(array: Array) -> np.ndarray[Any, Any]:
    """An array of any library as one of NumPy, without a copy, if its memory is that of the CPU."""
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
        found = dlpack.import_tensor(array)
        if found.dtype is not None:
            return np.asarray(_Memory(found, found.dtype.size)).view(numpy_dtype(found.dtype))
    return np.asarray(array)


def _is_jax(array: Array) -> bool:
    """Its arrays never change; what they export does not say so."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def name_of(index: int, count: int, outputs: int = 1) -> str:
    inputs = count - outputs
    return f"input {index}" if index < inputs else "out" if outputs == 1 else f"out[{index - inputs}]"


def expected_of(tensors: Sequence[Tensor], outputs: int = 1) -> list[Expected]:
    return [Expected(tensor, name_of(i, len(tensors), outputs)) for i, tensor in enumerate(tensors)]


class Operands:
    """The arguments of one run. They are valid as long as this object and the arrays are. out: an array, or as many as
    there are outputs."""

    def __init__(self, expected: Sequence[Expected], inputs: Sequence[Array], out: Array, outputs: int = 1):
        count = len(expected) - outputs
        if len(inputs) != count:
            raise OperandError(Status.INVALID_ARGUMENT, f"{len(inputs)} inputs; the Spec has {count}: "
                                                        + ", ".join(str(each.tensor) for each in expected[:count]))
        self.keep: list[Any] = []
        self._addresses = [each.address(array, self.keep) for each, array in zip(expected, inputs)]
        if outputs == 1:
            self._addresses.append(expected[-1].address(out, self.keep, True))
        else:
            if not isinstance(out, (tuple, list)) or len(out) != outputs:
                raise OperandError(Status.INVALID_ARGUMENT, f"out has to be {outputs} arrays, one for each output: "
                                                            + ", ".join(str(each.tensor) for each in expected[count:]))
            self._addresses += [each.address(array, self.keep, True) for each, array in zip(expected[count:], out)]
        self.pointers = ffi.new(_POINTERS, self._addresses)


def plain_runner(expected: Sequence[Expected], allocate: Callable[[], Any]) -> Callable[[Any, Any, Any], Any] | None:
    """What most calls have is dense, row-major NumPy arrays, what the kernel packed, and one output: a function (kernel,
    inputs, out) that runs a kernel with these, in a fraction of the time that `Operands` take, and returns the output. It returns None if it
    did not run, as something is otherwise or wrong: `Operands` and checked runs say what. None: no call has that."""
    if not all(each.is_dense or each.recipe is not None for each in expected):
        return None
    # A recipe stands for itself alone: what another kernel packed in the same way is looked at by Operands.
    wanted: list[tuple[Any, Any]] = [(each.fast, each.tensor.shape) if each.recipe is None else (None, each.recipe)
                                     for each in expected[:-1]]
    out_dtype, out_shape = expected[-1].fast, expected[-1].tensor.shape
    count = len(wanted)
    sizes = ffi.new("size_t[]", [each.size for each in expected])
    # Looked up once.
    ndarray, from_buffer, new, null = np.ndarray, ffi.from_buffer, ffi.new, ffi.NULL
    run, run_checked = lib.morello_kernel_run, lib.morello_kernel_run_checked

    def run_plain(kernel: Any, inputs: Sequence[Array], out: Array) -> Any:
        if len(inputs) != count or kernel is None:
            return None
        operands = []
        try:
            for array, (dtype, shape) in zip(inputs, wanted):
                if dtype is None:
                    if type(array) is not Packed or array.recipe is not shape:
                        return None
                    operands.append(array.pointer)
                    continue
                if type(array) is not ndarray or array.dtype is not dtype or array.shape != shape:
                    return None
                operands.append(from_buffer(_BYTES, array))  # refuses what is not dense
            if out is None:  # what is new shares no memory: there is nothing that is left to check
                result = allocate()
                operands.append(from_buffer(_BYTES, result, True))
                return result if run(kernel, new(_POINTERS, operands), null, null) == 0 else None
            if type(out) is not ndarray or out.dtype is not out_dtype or out.shape != out_shape:
                return None
            operands.append(from_buffer(_BYTES, out, True))
        except (BufferError, ValueError):
            return None
        status = run_checked(kernel, new(_POINTERS, operands), sizes, count + 1, null, 0, null, null)
        return out if status == 0 else None
    return run_plain


def allocator(tensor: Tensor, accumulates: bool) -> Callable[[], np.ndarray[Any, Any]]:
    """What makes outputs."""
    def allocate() -> np.ndarray[Any, Any]:
        if accumulates:
            raise OperandError(Status.INVALID_ARGUMENT, f"out ({tensor}): the Spec adds to its output: pass it by out=")
        dtype = numpy_dtype(tensor.dtype)
        strides = tensor.strides or ()
        extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, strides))
        return np.ndarray(tensor.shape, dtype, np.zeros(extent, dtype),
                          strides=tuple(stride * dtype.itemsize for stride in strides))
    if not accumulates and tensor.layout == Layout.ROW_MAJOR and tensor.dtype in _NUMPY:
        return functools.partial(np.empty, tensor.shape, _NUMPY[tensor.dtype])
    return allocate


def allocators(tensors: Sequence[Tensor], accumulates: Sequence[bool]) -> Callable[[], Any]:
    """What makes the output, or a tuple of several."""
    each = [allocator(tensor, adds) for tensor, adds in zip(tensors, accumulates)]
    return each[0] if len(each) == 1 else lambda: tuple(allocate() for allocate in each)

# SPDX-License-Identifier: MIT
"""Kernels that run one after another: what a model or a function becomes that is more than one Spec."""
from __future__ import annotations

import collections
import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._library import check, ffi, lib
from .arrays import Packed, as_numpy, dtype_of
from .enums import Layout, Status
from .kernel import Kernel
from .memory import arranged
from .pool import executor_of, shared_pool
from .spec import Spec
from .tensor import Tensor, row_major
from .trace import unsupported

View = Callable[[Any], Any]  # of an array, without a copy


def at(*index: Any) -> View:
    return lambda array: array[index]


def empty_of(shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int] | None = None) -> Any:
    """A new array; strides: in elements, None: row-major."""
    if strides is None:
        return np.empty(tuple(shape), dtype)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    return np.ndarray(tuple(shape), dtype, np.empty(extent, dtype),
                      strides=tuple(stride * dtype.itemsize for stride in strides))


@dataclasses.dataclass(frozen=True)
class Input:
    """What a program is called with. strides: in elements, None: row-major."""
    name: str
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None = None

    def read(self, array: Any) -> Any:
        """An array as kernels read it: a copy if it lies in another order."""
        given = as_numpy(array)
        if given.shape != self.shape or given.dtype != self.dtype and (given.dtype, self.dtype) != (np.bool_, np.uint8):
            raise TypeError(f"{self.name}: {given.dtype}{list(given.shape)}, where the program reads "
                            f"{self.dtype}{list(self.shape)}")
        if not given.flags.aligned:
            given = given.copy(order="K")
        if self.strides is None:
            return _as_elements(self.name, np.ascontiguousarray(given).reshape(self.shape))
        wanted = tuple(stride * given.itemsize for stride in self.strides)
        if any(size > 1 and have != want for size, have, want in zip(self.shape, given.strides, wanted)):
            copy = empty_of(self.shape, given.dtype, self.strides)
            copy[...] = given
            given = copy
        return _as_elements(self.name, given)


def address_of(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a tensor is: views, one after another, of an array of the program. `example` is such an array, whose
    elements nobody reads; `offset`: bytes from the beginning of the array."""
    slot: int
    views: tuple[View, ...]
    example: Any
    offset: int = 0

    def of(self, array: Any) -> Any:
        for view in self.views:
            array = view(array)
        return array

    def view(self, view: View) -> Place:
        example = view(self.example)
        if not np.may_share_memory(example, self.example) or any(
                stride < 0 or stride % example.itemsize for stride in example.strides):
            raise unsupported(f"a view of {self.tensor} that has no strides of at least 0")
        return Place(self.slot, (*self.views, view), example,
                     self.offset + address_of(example) - address_of(self.example))

    def same(self, other: Place) -> bool:
        return (self.slot, self.offset, self.example.strides) == (other.slot, other.offset, other.example.strides) \
            and self.example.shape == other.example.shape

    @property
    def tensor(self) -> Tensor:
        dtype = dtype_of(self.example.dtype)
        assert dtype is not None
        # What is never stepped along has the stride of a dense tensor: it is the plain layout then, if it can be.
        strides = tuple(stride // dtype.size for stride in self.example.strides)
        dense = row_major(self.example.shape)
        if all(size == 1 or a == b for size, a, b in zip(self.example.shape, strides, dense)):
            return Tensor(dtype, self.example.shape)
        return Tensor(dtype, self.example.shape, Layout.STRIDED, strides)


@dataclasses.dataclass(frozen=True)
class Step:
    kernel: Kernel
    spec: Spec
    operands: tuple[Any, ...]  # places, and arrays that are constants
    outs: tuple[Place, ...]

    def packed(self) -> Step:
        """With what the kernel reads in a layout of its own choice."""
        tensors = self.kernel.operands
        operands = (x if isinstance(x, (Place, Packed)) or tensors[i].layout != Layout.FREE else self.kernel.pack(i, x)
                    for i, x in enumerate(self.operands))
        return dataclasses.replace(self, operands=tuple(operands))


@dataclasses.dataclass(frozen=True)
class Call:
    """A kernel, addresses of its operands, and their sizes."""
    kernel: Kernel
    operands: Any
    sizes: Any

    def run(self, executor: Any) -> None:
        given = self.kernel.pointer, self.operands, self.sizes, len(self.sizes), ffi.NULL, 0, executor
        if lib.morello_kernel_run_checked(*given, ffi.NULL) != Status.OK:  # once more, for what is wrong in words
            err = ffi.new("morello_error **")
            check(lib.morello_kernel_run_checked(*given, err), err)


class Workspace:
    """What one run at a time needs: memory for what kernels leave to one another, and where operands are."""

    def __init__(self, steps: Sequence[Step], slots: Sequence[Any], offsets: dict[int, int], size: int):
        self._memory = np.empty(size + 64, np.uint8)
        base = address_of(self._memory)
        base += -base % 64
        bases = {slot: base + offset for slot, offset in offsets.items()}
        bases.update((slot, address_of(array)) for slot, array in enumerate(slots) if isinstance(array, np.ndarray))
        self.calls: list[Call] = []
        self._given: list[tuple[int, Any, int, int]] = []  # slot, operands, which of them, offset
        for step in steps:
            places = (*step.operands, *step.outs)
            operands = ffi.new("void *[]", len(places))
            for i, place in enumerate(places):
                if not isinstance(place, Place):
                    address = place.address if isinstance(place, Packed) else address_of(place)
                elif place.slot in bases:
                    address = bases[place.slot] + place.offset
                else:
                    self._given.append((place.slot, operands, i, place.offset))
                    continue
                operands[i] = ffi.cast("void *", address)
            sizes = ffi.new("size_t[]", [lib.morello_kernel_operand_size(step.kernel.pointer, i)
                                         for i in range(len(places))])
            self.calls.append(Call(step.kernel, operands, sizes))

    def give(self, arrays: dict[int, Any]) -> None:
        """Inputs and outputs of the next run, by their slots."""
        bases = {slot: address_of(array) for slot, array in arrays.items()}
        for slot, operands, i, offset in self._given:
            operands[i] = ffi.cast("void *", bases[slot] + offset)


class Program:
    """Kernels that compute the outputs of a model. Any number of threads may call it at once; for each that does it
    keeps the memory of values between kernels."""

    def __init__(self, steps: Sequence[Step], slots: Sequence[Any], inputs: Sequence[Input],
                 outputs: Sequence[tuple[Any, Any]], threads: int):
        """slots: arrays that kernels read or write. None is an input, (shape, type) an array to be made. outputs: places,
        or arrays that are known, and types of the arrays that are returned."""
        self._steps, self._slots, self._inputs, self._outputs = steps, slots, inputs, outputs
        self._threads = threads
        self._made = sorted({place.slot for place, _ in outputs if isinstance(place, Place)})
        self._offsets, self._size = arranged(self._between())
        self._is_packed = False
        self._idle: collections.deque[Workspace] = collections.deque()

    def pack(self) -> Program:
        """Packs what kernels read in layouts of their own choice, which the first call does otherwise; returns the
        program."""
        if not self._is_packed:
            self._steps = [step.packed() for step in self._steps]
            self._is_packed = True
        return self

    def _between(self) -> dict[int, tuple[int, int, int]]:
        """Arrays that are not seen from outside: bytes, the first step that uses them, and the last."""
        found: dict[int, tuple[int, int, int]] = {}
        for index, step in enumerate(self._steps):
            for place in (*step.operands, *step.outs):
                if isinstance(place, Place) and isinstance(self._slots[place.slot], tuple) \
                        and place.slot not in self._made:
                    shape, dtype = self._slots[place.slot]
                    first = found[place.slot][1] if place.slot in found else index
                    found[place.slot] = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, first, index
        return found

    @property
    def specs(self) -> tuple[Spec, ...]:
        """What its kernels compute, in their order: one, where the model is one Spec."""
        return tuple(step.spec for step in self._steps)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(step.kernel for step in self._steps)

    @property
    def cost(self) -> float:
        """Predicted cycles of its kernels."""
        return sum(kernel.cost for kernel in self.kernels)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what it is called with."""
        return tuple(each.name for each in self._inputs)

    @property
    def workspace_size(self) -> int:
        """Bytes of memory for values between kernels, of each call that runs at the same time as others."""
        return self._size

    def __call__(self, *inputs: Any) -> list[Any]:
        """Outputs in the order of the model or function, as new arrays. Inputs that are not row-major are copied. OverflowError: a
        number of an input of int64 is beyond 32 bits."""
        return self.run(self._read(inputs))

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The same of NumPy arrays that lie as its kernels read them."""
        arrays = self._arrays(inputs)
        workspace = self._workspace(arrays)
        executor = self._executor()
        for call in workspace.calls:
            call.run(executor)
        self._idle.append(workspace)
        return [_as_numpy(place.of(arrays[place.slot]), dtype) if isinstance(place, Place) else place.copy()
                for place, dtype in self._outputs]

    def profile(self, *inputs: Any, rounds: int = 5) -> list[tuple[Kernel, float]]:
        """Its kernels in their order, and how many seconds each takes, at least, of so many runs one after another."""
        arrays = self._arrays(self._read(inputs))  # alive as long as kernels run
        workspace = self._workspace(arrays)
        executor = self._executor()
        found = [(call.kernel, math.inf) for call in workspace.calls]
        for _ in range(rounds):
            for i, call in enumerate(workspace.calls):
                start = time.perf_counter()
                call.run(executor)
                found[i] = call.kernel, min(found[i][1], time.perf_counter() - start)
        self._idle.append(workspace)
        return found

    def _read(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != len(self._inputs):
            raise TypeError(f"{len(inputs)} inputs, of {len(self._inputs)}: {', '.join(self.inputs)}")
        return [wanted.read(array) for array, wanted in zip(inputs, self._inputs)]

    def _arrays(self, inputs: Sequence[Any]) -> dict[int, Any]:
        """Inputs, and new arrays for outputs, by their slots."""
        arrays = dict(enumerate(inputs))
        for slot in self._made:
            arrays[slot] = np.empty(*self._slots[slot])
        return arrays

    def _workspace(self, arrays: dict[int, Any]) -> Workspace:
        try:
            found = self._idle.pop()
        except IndexError:
            self.pack()
            found = Workspace(self._steps, self._slots, self._offsets, self._size)
        found.give(arrays)
        return found

    def _executor(self) -> Any:
        return executor_of(shared_pool(self._threads).pointer) if self._threads > 1 else ffi.NULL


def _as_elements(name: str, array: Any) -> Any:
    """What kernels read in place of truth values, and of integers of 64 bits."""
    if array.dtype == np.int64:
        found = array.astype(np.int32)
        if (found != array).any():
            raise OverflowError(f"{name}: integers beyond 32 bits, from {array.min()} to {array.max()}")
        return found
    return array.view(np.uint8) if array.dtype == bool else array


def _as_numpy(array: Any, dtype: Any) -> Any:
    if array.dtype == dtype:
        return array
    return array.astype(dtype) if dtype == np.int64 else array.view(dtype)

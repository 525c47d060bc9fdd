# SPDX-License-Identifier: MIT
"""Kernels that run one after another: what a model becomes that is more than one Spec."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays import dtype_of, numpy_dtype
from .build import build, reachable
from .enums import Dtype, Layout, Status
from .errors import SpecError
from .kernel import Kernel, compile as compile_spec
from .spec import Spec
from .tensor import Tensor, row_major
from .trace import Traced, unsupported

View = Callable[[Any], Any]  # of an array, without a copy


def at(*index: Any) -> View:
    return lambda array: array[index]


_MOVES = ("reshape", "transpose", "")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a tensor is: views, one after another, of an array of the program. `example` is such an array, whose
    elements nobody reads."""
    slot: int
    views: tuple[View, ...]
    example: Any

    def of(self, arrays: Sequence[Any]) -> Any:
        array = arrays[self.slot]
        for view in self.views:
            array = view(array)
        return array

    def view(self, view: View) -> Place:
        example = view(self.example)
        if not np.may_share_memory(example, self.example) or any(
                stride < 0 or stride % example.itemsize for stride in example.strides):
            raise unsupported(f"a view of {self.tensor} that has no strides of at least 0")
        return Place(self.slot, (*self.views, view), example)

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

    def run(self, arrays: Sequence[Any]) -> None:
        outs = tuple(out.of(arrays) for out in self.outs)
        self.kernel(*(x.of(arrays) if isinstance(x, Place) else x for x in self.operands),
                    out=outs[0] if len(outs) == 1 else outs)


class Writer:
    """Makes kernels for traced values: one if that can be, else as few as it finds by cutting off what fits one."""

    def __init__(self, options: dict[str, Any]):
        self.options = options
        self.inputs = 0
        self.slots: list[Any] = []  # (shape, NumPy's type) of a buffer, None: an input, or an array
        self.steps: list[Step] = []
        self._places: dict[int, tuple[Traced, Place]] = {}
        self._spread: dict[int, tuple[Traced, Traced]] = {}  # values that broadcast, and what they broadcast to
        self._given: set[int] = set()  # buffers that are outputs

    def input(self, tensor: Tensor) -> Traced:
        assert self.inputs == len(self.slots)
        self.inputs += 1
        self.slots.append(None)
        return self._leaf(Place(self.inputs - 1, (), np.empty(tensor.shape, numpy_dtype(tensor.dtype))))

    def unread(self) -> None:
        """An input that no kernel reads."""
        self.inputs += 1
        self.slots.append(None)

    def buffer(self, dtype: Dtype, shape: Sequence[int]) -> Place:
        """A new array, in which nothing is yet."""
        self.slots.append((tuple(shape), numpy_dtype(dtype)))
        return Place(len(self.slots) - 1, (), np.empty(tuple(shape), numpy_dtype(dtype)))

    def written(self, place: Place) -> Traced:
        """The value of a buffer that steps have written."""
        return self._leaf(place)

    def view(self, value: Traced, view: View) -> Traced:
        """A view of a value, which exists in memory from now on."""
        return self._leaf(self.place(value).view(view))

    def place(self, value: Traced) -> Place:
        """Where a value is; it is computed there, if it was not yet."""
        return self._places[id(self.leaf(value))][1]

    def leaf(self, value: Traced) -> Traced:
        """The same value, read from where it is: itself, or what it broadcasts to, which others still read as it is."""
        if value.stored != value.shape:
            if id(value) not in self._spread:
                inner = Traced(value.operation, value.inputs, value.stored, value.element)
                inner.final = value.final
                place = self.place(inner).view(_broadcast(value.shape))
                self._spread[id(value)] = value, self._leaf(place)
            return self._spread[id(value)][1]
        if id(value) not in self._places:
            self._views(value, False)
        if id(value) not in self._places:
            self._store(value)
        return value

    def write(self, value: Traced, out: Place, accumulate: bool = False) -> None:
        """Steps that compute a value into a place, or add it to what is there."""
        if value.stored != value.shape:
            value = self.leaf(value)
        for attempt in range(2):
            try:
                self._step([value], [out], accumulate)
                return
            except SpecError as error:
                if error.status == Status.CANCELLED:
                    raise
                refused = error
            if attempt == 0 and not self._views(value, True):
                break
        if not self._cut(value):
            raise refused
        self.write(value, out, accumulate)

    def fill(self, number: float, out: Place) -> None:
        spec = Spec(f"fill {number:.9g} -> {out.tensor}", context=self.options.get("context"))
        self.steps.append(Step(compile_spec(spec, **self.options), spec, (), (out,)))

    def output(self, value: Traced, dtype: Dtype) -> Place:
        """A buffer of its own, row-major, that has a value in the end."""
        place = self._places[id(value)][1] if id(value) in self._places else None
        if place is not None and place.slot not in self._given and isinstance(self.slots[place.slot], tuple) \
                and place.example.flags.c_contiguous and place.example.size == math.prod(self.slots[place.slot][0]) \
                and place.tensor.dtype == dtype:
            out = place
        else:
            out = self.buffer(dtype, value.shape)
            self.write(value, out)
        self._given.add(out.slot)
        return out

    def together(self, outputs: Sequence[tuple[Traced, Dtype]]) -> None:
        """Writes several outputs by one kernel, if they share operations, and there is one."""
        known = {id(value): (value, dtype) for value, dtype in outputs
                 if id(value) not in self._places and value.stored == value.shape and not value.final
                 and value.element == dtype}
        needs = [{key for key, node in reachable(value).items()
                  if node.operation.split(" ", 1)[0] not in ("input", *_MOVES)} for value, _ in known.values()]
        shared = set().union(*(a & b for i, a in enumerate(needs) for b in needs[:i])) if needs else set()
        if not shared or not all(need & shared for need in needs):
            return
        slots = len(self.slots)
        places = [self.buffer(dtype, value.shape) for value, dtype in known.values()]
        try:
            self._step([value for value, _ in known.values()], places, False)
        except SpecError as error:
            if error.status == Status.CANCELLED:
                raise
            del self.slots[slots:]
            return
        for (value, _), place in zip(known.values(), places):
            self._leaf(place, value)

    def _leaf(self, place: Place, value: Traced | None = None) -> Traced:
        """The value that is at a place: a new one, or this, which is read from there from now on."""
        tensor = place.tensor
        if value is None:
            value = Traced("input", (), tensor.shape, tensor.dtype)
        value.operation, value.inputs, value.array = "input", (), None
        value.shape = value.stored = tensor.shape
        value.element, value.final = tensor.dtype, False
        self._places[id(value)] = value, place
        return value

    def _store(self, value: Traced) -> None:
        if value.array is not None:
            self.slots.append(value.array)
            self._leaf(Place(len(self.slots) - 1, (), value.array), value)
        else:
            out = self.buffer(_kept_as(value), value.shape)
            self.write(value, out)
            self._leaf(out, value)

    def _step(self, values: Sequence[Traced], outs: Sequence[Place], accumulate: bool) -> None:
        leaves = [self._places[key] for key in reachable(*values) if key in self._places]
        spec, operands = build(values, [(leaf, place.tensor) for leaf, place in leaves], self.options.get("context"),
                               [out.tensor for out in outs], accumulate)
        kernel = compile_spec(spec, **self.options)
        self.steps.append(Step(kernel, spec, tuple(leaves[x][1] if isinstance(x, int) else x for x in operands),
                               tuple(outs)))

    def _views(self, value: Traced, copies: bool) -> bool:
        """Moves of what is in memory, as views of that: whether there were any. copies: also as views of copies."""
        found = False
        for node in reachable(value).values():
            source = node.inputs[0] if node.inputs else None
            if not isinstance(source, Traced) or id(source) not in self._places \
                    or node.operation.split(" ", 1)[0] not in _MOVES or node.element != source.element \
                    or node.stored != node.shape:
                continue
            place = self.place(source)
            try:
                moved = place.view(_view_of(node))
            except SpecError:  # elements that are not next to one another are copied first
                if not copies:
                    continue
                copied = self.buffer(source.element, source.shape)
                self._step([source], [copied], False)
                moved = copied.view(_view_of(node))
            self._leaf(moved, node)
            found = True
        return found

    def _cut(self, value: Traced) -> bool:
        """Computes the last part of a value that fits a kernel."""
        for node in reversed(list(reachable(value).values())):
            if node is value or node.operation in ("", "input") or node.stored != node.shape:
                continue
            leaves = [self._places[key] for key in reachable(node) if key in self._places]
            try:
                build([node], [(leaf, place.tensor) for leaf, place in leaves], self.options.get("context"))
            except SpecError:
                continue
            self._store(node)
            return True
        return False


def _view_of(node: Traced) -> View:
    shape = node.shape
    if node.operation.startswith("transpose"):
        order = [int(axis) for axis in node.operation.split("perm=")[1].split(",")]
        return lambda array: array.transpose(order)
    if node.operation.startswith("reshape"):
        return lambda array: array.reshape(shape)
    return _broadcast(shape)


def _broadcast(shape: Sequence[int]) -> View:
    return lambda array: np.broadcast_to(array, shape)


def _kept_as(value: Traced) -> Dtype:
    """The type of a buffer between kernels: that which a value is computed in, unless it was rounded to another."""
    kind = value.operation.split(" ", 1)[0]
    if value.final or kind in ("cast", "input"):
        return value.element
    if kind in _MOVES and isinstance(value.inputs[0], Traced) and value.inputs[0].element == value.element:
        return _kept_as(value.inputs[0])
    return Dtype.I32 if value.element.is_integer else Dtype.F32


class Program:
    """Kernels that compute the outputs of a model. Any number of threads may call it at once."""

    def __init__(self, writer: Writer, names: Sequence[str], inputs: Sequence[Any], outputs: Sequence[Any]):
        self._slots, self._steps = writer.slots, writer.steps
        self._inputs = list(zip(names, inputs))  # (name, (shape, type))
        self._outputs = outputs  # places, or arrays that are known

    @property
    def specs(self) -> tuple[Spec, ...]:
        """What its kernels compute, in their order: one, where the model is one Spec."""
        return tuple(step.spec for step in self._steps)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(step.kernel for step in self._steps)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what it is called with."""
        return tuple(name for name, _ in self._inputs)

    def __call__(self, *inputs: Any) -> list[Any]:
        """Outputs in the order of the model, as new arrays. Inputs that are not row-major are copied."""
        if len(inputs) != len(self._inputs):
            raise TypeError(f"{len(inputs)} inputs, of {len(self._inputs)}: {', '.join(self.inputs)}")
        arrays: list[Any] = []
        for array, (name, (shape, dtype)) in zip(inputs, self._inputs):
            given = np.asarray(array)
            if given.shape != shape or given.dtype != dtype:
                raise TypeError(f"{name}: {given.dtype}{list(given.shape)}, where the model has {dtype}{list(shape)}")
            given = np.ascontiguousarray(given).reshape(shape)
            arrays.append(given.view(np.uint8) if given.dtype == bool else given)
        for slot in self._slots[len(arrays):]:
            arrays.append(np.empty(*slot) if isinstance(slot, tuple) else slot)
        for step in self._steps:
            step.run(arrays)
        return [place.of(arrays).view(dtype) if isinstance(place, Place) else place.copy()
                for place, dtype in self._outputs]

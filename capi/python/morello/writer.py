# SPDX-License-Identifier: MIT
"""Kernels for traced values: one where that can be, else several that run one after another."""
from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import numpy_dtype
from .build import build, reachable
from .concats import Plan, Rooms
from .enums import Dtype
from .errors import Error, SpecError, mendable
from .kernel import Kernel, compile as compile_spec
from .partition import (MOST, MOVES, WINDOWS, Reads, broadcast_view, functions_in, dear_in, inner_products, is_large, is_whole,
                        kept_as, kind_of, known_in, moved_in, replaced, shared_in, slice_of, source_view, view_of, weights_of)
from .program import Place, Step, View, at, empty_of
from .spec import Spec
from .tensor import Tensor
from .trace import Traced, broadcast_to, unsupported

_MOST_OTHERS = 2  # values that a kernel writes besides its own
MOST_OUTPUTS = 8  # of a kernel
_CALL = 5000  # cycles: what a kernel more costs besides


class Writer:
    """Makes kernels for traced values: one if that can be, else as few as it finds by cutting off what fits one.

    What depends on no input is computed at once, and the factors of products among it are packed as their kernels
    choose. `awaited` counts operations that are not written down yet and read a value, by its id."""

    def __init__(self, options: dict[str, Any], channels_last: bool, kernels: dict[str, Kernel],
                 plan: Plan | None = None):
        """channels_last: the axis of channels is the fastest in memory of values between kernels with windows.
        kernels: those that there are, by the texts of their Specs; more are added. plan: of what is concatenated."""
        self.options = options
        self.channels_last = channels_last
        self.has_windows = False  # values for which that makes a difference
        self._last: set[int] = set()  # buffers with that
        self.awaited: collections.Counter[int] = collections.Counter()
        self.inputs = 0
        self.slots: list[Any] = []  # (shape, NumPy's type) of a buffer, None: an input, or an array
        self.steps: list[Step] = []
        self._places: dict[int, tuple[Traced, Place]] = {}
        self._spread: dict[int, tuple[Traced, Traced]] = {}  # values that broadcast, and what they broadcast to
        self._given: set[int] = set()  # buffers that are outputs
        self._kernels = kernels
        self.rooms = Rooms(plan, self.buffer)

    def input(self, tensor: Tensor) -> Traced:
        assert self.inputs == len(self.slots)
        self.inputs += 1
        self.slots.append(None)
        return self._leaf(Place(self.inputs - 1, (), empty_of(tensor.shape, numpy_dtype(tensor.dtype), tensor.strides)))

    def unread(self) -> None:
        """An input that no kernel reads."""
        self.inputs += 1
        self.slots.append(None)

    def buffer(self, dtype: Dtype, shape: Sequence[int], values: Sequence[Traced] = ()) -> Place:
        """A new array, in which nothing is yet. values: what will be, if it may lie in any order of axes."""
        windows = len(shape) == 4 and shape[1] > 1 and any(map(self._is_windowed, values))
        self.has_windows |= windows
        if windows and self.channels_last:
            n, c, h, w = shape
            self._last.add(len(self.slots))
            return self.buffer(dtype, (n, h, w, c)).view(lambda array: array.transpose(0, 3, 1, 2))
        self.slots.append((tuple(shape), numpy_dtype(dtype)))
        return Place(len(self.slots) - 1, (), np.empty(tuple(shape), numpy_dtype(dtype)))

    def _forget(self, slots: int) -> None:
        """Buffers that no step uses."""
        self._last.difference_update(range(slots, len(self.slots)))
        del self.slots[slots:]

    def _is_windowed(self, value: Traced) -> bool:
        return any(kind_of(node) in WINDOWS or (key in self._places and self._places[key][1].slot in self._last)
                   for key, node in reachable(value).items())

    def written(self, place: Place) -> Traced:
        """The value of a buffer that steps have written."""
        return self._leaf(place)

    def view(self, value: Traced, view: View) -> Traced:
        """A view of a value, which exists in memory from now on."""
        try:
            return self._leaf(self.place(value).view(view))
        except SpecError:  # elements that are not next to one another
            copied = self.buffer(value.element, value.shape)
            self._step([value], [copied], False)
            return self._leaf(copied.view(view))

    def place(self, value: Traced) -> Place:
        """Where a value is; it is computed there, if it was not yet."""
        return self._places[id(self.leaf(value))][1]

    def leaf(self, value: Traced) -> Traced:
        """The same value, read from where it is: itself, or what it broadcasts to, which others still read as it is."""
        if value.stored != value.shape:
            if id(value) not in self._spread:
                inner = Traced(value.operation, value.inputs, value.stored, value.element)
                inner.final = value.final
                place = self.place(inner).view(broadcast_view(value.shape))
                self._spread[id(value)] = value, self._leaf(place)
            return self._spread[id(value)][1]
        if id(value) not in self._places:
            self._views(value, False)
        if id(value) not in self._places:
            self._store(value)
        return value

    def keep(self, value: Traced) -> None:
        """Stores a value, as small as it is before it is broadcast."""
        if value.stored != value.shape:
            inner = Traced(value.operation, value.inputs, value.stored, value.element)
            inner.final = value.final
            value.operation, value.inputs, value.final = "", (inner,), False
            value = inner
        self.leaf(value)

    def write(self, value: Traced, out: Place, accumulate: bool = False) -> None:
        """Steps that compute a value into a place, or add it to what is there."""
        if value.stored != value.shape:
            value = self.leaf(value)
        if not accumulate and self._write_source(value, out):
            return
        for attempt in range(2):
            try:
                while parts := self._apart(value, out, accumulate):
                    for part in parts:
                        self._store(part)
                if accumulate or not self._step_with_others(value, out):
                    self._step([value], [out], accumulate)
                return
            except Error as error:
                refused = mendable(error)
            if attempt == 0 and not self._views(value, True):
                break
        if not self._cut(value) and not self._dense(value):
            raise refused
        self.write(value, out, accumulate)

    def concatenated(self, parts: Sequence[Traced], dtype: Dtype, shape: Sequence[int], axis: int) -> Traced:
        """What has `parts` one after another. A part that is nowhere yet is in it from now on, for other readers, too;
        one that has its room in it was written there."""
        out = self.rooms.next(dtype, shape, parts)
        start = 0
        reads = Reads([[part] for part in parts])
        for i, part in enumerate(parts):
            later = reads.after(i, self._places)
            self.awaited.update(later)
            place = out.view(at(*(slice(None),) * axis, slice(start, start + part.shape[axis])))
            start += part.shape[axis]
            if id(part) in self._places:
                if not self._places[id(part)][1].same(place):
                    self._step([part], [place], False)
            elif part.array is not None or part.stored != part.shape or kept_as(part) != dtype:
                if self.awaited[id(part)] > 0:
                    self._settle([part], True)
                self.write(part, place)
            else:
                self.write(part, place)
                self._leaf(place, part)
            self.awaited.subtract(later)
        return self.written(out)

    def padded(self, x: Traced, sides: Sequence[tuple[int, int]], number: Any) -> Traced:
        """sides: how much is before x, and after it, of each axis; number: what is there, which may be a traced one."""
        shape = [size + low + high for size, (low, high) in zip(x.shape, sides)]
        inner = tuple(slice(low, low + size) for size, (low, _) in zip(x.shape, sides))
        out = self.buffer(kept_as(x), shape, [x])
        place = out.view(at(*inner))
        if isinstance(number, Traced):
            self.write(broadcast_to(number, shape), out)
        else:
            self.fill_around(number, out, sides)
        self.write(x, place)
        if id(x) not in self._places and x.array is None and x.stored == x.shape:
            self._leaf(place, x)
        return self.written(out)

    def become(self, value: Traced, place: Place) -> None:
        """A value that steps have written to a place is read from there."""
        self._leaf(place, value)

    def expect(self, values: Sequence[Traced], later: Sequence[Sequence[Traced]]) -> None:
        """Before `values` are written: what of them is read in those that are written later as well."""
        self.expect_in(Reads([values, *later]), 0)

    def expect_in(self, reads: Reads, index: int) -> None:
        """The same of one among several."""
        self.awaited.clear()
        self.awaited.update(reads.after(index, self._places))

    def fill(self, number: float, out: Place) -> None:
        self.steps.append(self._filling(number, out))

    def _filling(self, number: float, out: Place) -> Step:
        text = str(int(number)) if isinstance(number, int) else f"{number:.9g}"
        spec = Spec(f"fill {text} -> {out.tensor}", context=self.options.get("context"))
        return Step(self._kernel(spec), spec, (), (out,))

    def fill_around(self, number: float, out: Place, sides: Sequence[tuple[int, int]]) -> None:
        """Fills what is before and after each axis: part by part, or all at once, if that costs less."""
        parts: list[Place] = []
        inner: list[slice] = []
        for size, (low, high) in zip(out.example.shape, sides):
            parts += [out.view(at(*inner, part)) for part in (slice(0, low), slice(size - high, size))
                      if part.stop > part.start]
            inner.append(slice(low, size - high))
        made = [self._filling(number, part) for part in parts]
        whole = self._filling(number, out)
        if whole.kernel.cost <= sum(step.kernel.cost + _CALL for step in made) - _CALL:
            made = [whole]
        self.steps += made

    def output(self, value: Traced, dtype: Dtype) -> Place:
        """A buffer of its own, row-major, that has a value in the end."""
        place = self._places[id(value)][1] if id(value) in self._places else None
        if place is not None and place.slot not in self._given and isinstance(self.slots[place.slot], tuple) \
                and place.example.flags.c_contiguous and place.example.size == math.prod(self.slots[place.slot][0]) \
                and place.tensor.dtype == dtype:
            out = place
        else:
            out = self.buffer(dtype, value.shape)
            again = self.awaited[id(value)] > 0 and is_whole(value)
            if again and kept_as(value) != dtype and id(value) not in self._places:
                self._store(value)
            self.write(value, out)
            if again and id(value) not in self._places:
                self._leaf(out, value)
        self._given.add(out.slot)
        return out

    def together(self, outputs: Sequence[tuple[Traced, Dtype]]) -> None:
        """Writes several outputs by one kernel, if they share operations, and there is one."""
        known = {id(value): (value, dtype) for value, dtype in outputs
                 if id(value) not in self._places and value.stored == value.shape and not value.final
                 and value.element == dtype}
        needs = [{key for key, node in reachable(value).items()
                  if kind_of(node) not in ("input", *MOVES)} for value, _ in known.values()]
        shared = set().union(*(a & b for i, a in enumerate(needs) for b in needs[:i])) if needs else set()
        if not shared or not all(need & shared for need in needs) or len(known) > MOST_OUTPUTS:
            return
        self._settle([value for value, _ in known.values()])  # may make buffers, which are used
        slots = len(self.slots)
        places = [self.buffer(dtype, value.shape) for value, dtype in known.values()]
        try:
            self._step([value for value, _ in known.values()], places, False)
        except Error as error:
            mendable(error)
            self._forget(slots)
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
            out = self.rooms.of(value)
            if out is None or out.tensor.dtype != kept_as(value):
                out = self.buffer(kept_as(value), value.shape, [value])
            self.write(value, out)
            self._leaf(out, value)

    def _step(self, values: Sequence[Traced], outs: Sequence[Place], accumulate: bool) -> None:
        self._settle(values)
        places = [self._places[key][1] for key in reachable(*values) if key in self._places]
        spec, operands, kernel = self._made(values, self._leaves(*values), [out.tensor for out in outs], accumulate)
        operands = [places[x] if isinstance(x, int) else x for x in operands]
        self.steps.append(Step(kernel, spec, tuple(operands), tuple(outs)))

    def _write_source(self, value: Traced, out: Place) -> bool:
        """Of a value that only moves what others read as well: writes that, which is a view of it from now on."""
        source = value.inputs[0] if value.inputs else None
        if not isinstance(source, Traced) or kind_of(value) not in ("reshape", "transpose") or not is_whole(source) \
                or id(source) in self._places or self.awaited[id(source)] == 0 or source.array is not None \
                or kept_as(source) != out.tensor.dtype or self.rooms.of(source) is not None:
            return False
        try:
            place = out.view(source_view(value, source))
        except SpecError:  # elements that would not be next to one another
            return False
        self.write(source, place)
        if id(source) not in self._places:
            self._leaf(place, source)
        return True

    def _step_with_others(self, value: Traced, out: Place) -> bool:
        """A kernel that also writes what of its functions others read; False: there is none."""
        self._settle([value])
        others = [node for node in functions_in(value, self.awaited) if self.rooms.of(node) is None][:_MOST_OTHERS]
        if not others or is_large(value):
            return False
        slots = len(self.slots)
        places = [self.buffer(kept_as(node), node.shape, [node]) for node in others]
        try:
            self._step([value, *others], [out, *places], False)
        except Error as error:
            mendable(error)
            self._forget(slots)
            return False
        for node, place in zip(others, places):
            self._leaf(place, node)
        return True

    def _leaves(self, *values: Traced) -> list[tuple[Traced, Tensor]]:
        found = [self._places[key] for key in reachable(*values) if key in self._places]
        return [(leaf, place.tensor) for leaf, place in found]

    def _made(self, values: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]], outs: Sequence[Tensor],
              accumulate: bool) -> tuple[Spec, list[Any], Kernel]:
        if is_large(*values):
            raise unsupported(f"a graph of more than {MOST} operations")
        given = leaves, self.options.get("context"), outs, accumulate
        try:
            spec, operands = build(values, *given, weights_of(values))
            return spec, operands, self._kernel(spec)
        except Error as error:
            mendable(error)
            spec, operands = build(values, *given)
            return spec, operands, self._kernel(spec)

    def _apart(self, value: Traced, out: Place, accumulate: bool) -> list[Traced]:
        """Products of what is in memory that are in factors of others in a value, or repeated: those that have kernels
        of their own, as that costs less than one kernel for all. What moves them may then be views."""
        self._settle([value])
        parts = [] if is_large(value) else inner_products(value)
        if not parts:
            return []
        leaves, slots = self._leaves(value), len(self.slots)
        tensors = [self.buffer(kept_as(part), part.shape, [part]).tensor for part in parts]
        self._forget(slots)  # only how they would lie is asked
        stored = [Traced("input", (), tensor.shape, tensor.dtype) for tensor in tensors]
        rest = replaced(value, dict(zip(map(id, parts), stored)))
        try:
            whole = self._made([value], leaves, [out.tensor], accumulate)[2].cost
            cost = self._made([rest], [*leaves, *zip(stored, tensors)], [out.tensor], accumulate)[2].cost
            for part, tensor in zip(parts, tensors):
                cost += self._made([part], leaves, [tensor], False)[2].cost + _CALL
        except Error as error:
            mendable(error)
            return []
        return parts if cost < whole else []

    def _kernel(self, spec: Spec) -> Kernel:
        text = str(spec)
        if text not in self._kernels:
            self._kernels[text] = compile_spec(spec, **self.options)
        return self._kernels[text]

    def _settle(self, values: Sequence[Traced], themselves: bool = False) -> None:
        """Before a kernel of `values`: what depends on no input is computed now, and what others will read as well
        by a kernel of its own, if more than operations on single elements are in it; of `values` only if `themselves`.
        """
        self._slices(values)
        order = reachable(*values)
        known = known_in(order)
        read = [x for key, node in order.items() if key not in known for x in node.inputs]
        for x in (*read, *values):
            if id(x) in known:
                self._compute(x)
        while waits := [node for node in dear_in(reachable(*values)) if self.awaited[id(node)] > 0 and is_whole(node)
                        and (themselves or not any(node is value for value in values))]:
            first = waits[0]
            for value in values:  # also of that a part may be read elsewhere
                while (shared := shared_in(value, first)) is not None:
                    first = shared
            self._store(first)
            self._slices(values)

    def _compute(self, value: Traced) -> None:
        """Makes a value that depends on no input an array that is known; not if that does not fit a kernel, or takes
        more memory than what it is made of, as numbers for which bytes stand."""
        tensor = Tensor(kept_as(value), value.stored)
        read = sum(node.array.nbytes for node in reachable(value).values() if node.array is not None)
        if value.operation == "input" or tensor.elements * tensor.dtype.size > read:
            return
        try:
            array = self._array_of(value)
        except Error as error:
            mendable(error)
            return
        inner = Traced(value.operation, value.inputs, value.stored, kept_as(value), array=array)
        if value.stored == value.shape:
            value.element, value.operation, value.inputs = inner.element, "input", ()
            value.array, value.final = inner.array, False
        else:
            inner.operation, inner.inputs = "input", ()
            value.operation, value.inputs = "", (inner,)

    def _array_of(self, value: Traced) -> Any:
        source = value.inputs[0]
        if kind_of(value) in ("reshape", "") and isinstance(source, Traced) and source.element == value.element:
            return (source.array if source.operation == "input" else self._array_of(source)).reshape(value.stored)
        inner = Traced(value.operation, value.inputs, value.stored, value.element)
        inner.final = value.final
        tensor = Tensor(kept_as(value), value.stored)
        spec, operands = build([inner], [], self.options.get("context"), [tensor])
        same = {name: self.options[name] for name in ("context", "isa") if name in self.options}
        return compile_spec(spec, effort="quick", **same)(*operands)

    def _slices(self, values: Sequence[Traced]) -> None:
        """What is cut out of values that are in memory is read where it is."""
        for node in reachable(*values).values():
            source = node.inputs[0] if node.inputs else None
            if isinstance(source, Traced) and id(source) in self._places and (view := slice_of(node)) is not None:
                self._leaf(self.place(source).view(view), node)

    def _views(self, value: Traced, copies: bool) -> bool:
        """Moves of what is in memory, as views of that: whether there were any. copies: also as views of copies."""
        found = False
        for node in reachable(value).values():
            source = node.inputs[0] if node.inputs else None
            if not isinstance(source, Traced) or id(source) not in self._places \
                    or kind_of(node) not in MOVES or node.final \
                    or source.element not in (node.element, kept_as(node)) or node.stored != node.shape:
                continue
            place = self.place(source)
            try:
                moved = place.view(view_of(node))
            except SpecError:  # elements that are not next to one another are copied first
                if not copies:
                    continue
                copied = self.buffer(source.element, source.shape)
                self._step([source], [copied], False)
                moved = copied.view(view_of(node))
            self._leaf(moved, node)
            found = True
        return found

    def _dense(self, value: Traced) -> bool:
        """Copies what is repeated in memory without being there more than once: whether there was any."""
        repeated = [node for key, node in reachable(value).items() if key in self._places and any(
            size > 1 and stride == 0 for size, stride in zip(node.shape, self._places[key][1].example.strides))]
        for node in repeated:
            copied = self.buffer(node.element, node.shape)
            self._step([node], [copied], False)
            self._leaf(copied, node)
        return bool(repeated)

    def _cut(self, value: Traced) -> bool:
        """Computes the last part of a value that fits a kernel."""
        order = reachable(value)
        parts = {key: node for key, node in order.items()
                 if node is not value and node.operation not in ("", "input") and node.stored == node.shape}
        # What does not fit, and what that is in. A mask by itself does not, but what it is in may: that is tried last.
        large: set[int] = set()
        fitting = None
        for key, node in order.items():
            if any(id(x) in large for x in node.inputs):
                large.add(key)
            elif key in parts:
                if self._fits(node):
                    fitting = node
                else:
                    large.add(key)
        if fitting is None:
            fitting = next((node for node in reversed(list(parts.values())) if self._fits(node)), None)
        if fitting is None:
            return False
        while (shared := shared_in(value, fitting)) is not None:  # also of that a part may be read elsewhere
            fitting = shared
        if kind_of(fitting) in MOVES and (source := moved_in(value, fitting)) is not None and self._fits(source):
            fitting = source
        self._store(fitting)
        return True

    def _fits(self, node: Traced) -> bool:
        try:
            build([node], self._leaves(node), self.options.get("context"))
        except SpecError:
            return False
        return True

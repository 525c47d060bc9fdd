# SPDX-License-Identifier: MIT
"""Where parts of concatenations lie: in one array, to which their own kernels write, and of which shorter
concatenations of the same parts are views."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from .enums import Dtype
from .program import Place, at
from .trace import Traced


@dataclasses.dataclass(frozen=True)
class Concat:
    """One of a model. parts: numbers of values, None: one without a number, and their sizes along the axis."""
    dtype: Dtype
    shape: tuple[int, ...]
    axis: int
    parts: tuple[tuple[int | None, int], ...]


@dataclasses.dataclass
class Plan:
    """Concatenations in the order of the model; and in which of them a value, or another one, lies from where on along
    the axis."""
    concats: list[Concat]
    values: dict[int, tuple[int, int]] = dataclasses.field(default_factory=dict)
    inside: dict[int, tuple[int, int]] = dataclasses.field(default_factory=dict)


def planned(concats: Sequence[Concat], results: Sequence[int | None]) -> Plan:
    """results: the numbers of what is concatenated. The last ones choose first: those which grow contain what they were
    before, as their first parts or as their first part."""
    plan = Plan(list(concats))
    for i in reversed(range(len(concats))):
        concat = concats[i]
        outer = plan.values.get(-1 if (result := results[i]) is None else result)
        if outer is None:
            outer = _same_parts(plan, concat)
        if outer is not None and concats[outer[0]].dtype == concat.dtype:
            plan.inside[i] = outer
        start = 0
        for part, size in concat.parts:
            if part is not None:
                plan.values.setdefault(part, (i, start))
            start += size
    return plan


def _same_parts(plan: Plan, concat: Concat) -> tuple[int, int] | None:
    """Where its parts already lie one after another, along the same axis."""
    first: tuple[int, int] | None = None
    offset = 0
    for part, size in concat.parts:
        place = None if part is None else plan.values.get(part)
        if place is None:
            return None
        first = first or place
        if place != (first[0], first[1] + offset) or plan.concats[place[0]].axis != concat.axis:
            return None
        offset += size
    return first


class Rooms:
    """The places of one program's values and concatenations, which are made when they are first asked for: in the order
    of axes of what is written first."""

    def __init__(self, plan: Plan | None, buffer: Callable[[Dtype, Sequence[int], Sequence[Traced]], Place]):
        self._plan, self._buffer = plan, buffer
        self._places: dict[int, Place] = {}
        self._numbers: dict[int, tuple[int, Traced]] = {}
        self._results = 0  # numbered so far: also those that are values with a number already
        self._count = 0

    def number(self, value: Traced) -> None:
        """The next result of the model's operators. Which of them are one value may differ from writer to writer."""
        self._numbers.setdefault(id(value), (self._results, value))
        self._results += 1

    def number_of(self, value: Traced) -> int | None:
        return self._numbers[id(value)][0] if id(value) in self._numbers else None

    def of(self, value: Traced) -> Place | None:
        """Where a value is to be written, if that is a part of a concatenation."""
        number = self.number_of(value)
        if self._plan is None or number is None or number not in self._plan.values:
            return None
        return self._part(*self._plan.values[number], value.shape, [value])

    def next(self, dtype: Dtype, shape: Sequence[int], parts: Sequence[Traced]) -> Place:
        """Where the next concatenation is."""
        index, self._count = self._count, self._count + 1
        if self._plan is None:
            return self._buffer(dtype, shape, parts)
        concat = self._plan.concats[index]
        assert concat.dtype == dtype and concat.shape == tuple(shape), "the plan of another model"
        return self._room(index, parts)

    def _room(self, index: int, values: Sequence[Traced]) -> Place:
        assert self._plan is not None
        if index not in self._places:
            concat = self._plan.concats[index]
            if index in self._plan.inside:
                self._places[index] = self._part(*self._plan.inside[index], concat.shape, values)
            else:
                self._places[index] = self._buffer(concat.dtype, concat.shape, values)
        return self._places[index]

    def _part(self, index: int, start: int, shape: Sequence[int], values: Sequence[Traced]) -> Place:
        assert self._plan is not None
        axis = self._plan.concats[index].axis
        return self._room(index, values).view(at(*(slice(None),) * axis, slice(start, start + shape[axis])))

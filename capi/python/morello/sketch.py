# SPDX-License-Identifier: MIT
"""A model without its kernels: what is known of it before they are made."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .enums import Dtype
from .concats import Concat, Plan, planned
from .program import Place
from .writer import Writer
from .trace import Traced


class Sketch(Writer):
    """Has values at places to which nothing is written, and notes what is concatenated."""

    def __init__(self) -> None:
        super().__init__({}, False, {})
        self._concats: list[tuple[Concat, Traced]] = []
        self._owners: dict[int, Traced] = {}  # by buffers: of what is computed into all of one

    @property
    def plan(self) -> Plan | None:
        """None: there are no concatenations."""
        results = [self.rooms.number_of(result) for _, result in self._concats]
        return planned([concat for concat, _ in self._concats], results) if results else None

    def concatenated(self, parts: Sequence[Traced], dtype: Dtype, shape: Sequence[int], axis: int) -> Traced:
        numbers = tuple((self.rooms.number_of(owner), owner.shape[axis]) for owner in self._whole(parts, axis))
        result = super().concatenated(parts, dtype, shape, axis)
        self._concats.append((Concat(dtype, tuple(shape), axis, numbers), result))
        return result

    def write(self, value: Traced, out: Place, accumulate: bool = False) -> None:
        pass

    def fill(self, number: float, out: Place) -> None:
        pass

    def fill_around(self, number: float, out: Place, sides: Sequence[tuple[int, int]]) -> None:
        pass

    def together(self, outputs: Sequence[tuple[Traced, Dtype]]) -> None:
        pass

    def _step(self, values: Sequence[Traced], outs: Sequence[Place], accumulate: bool) -> None:
        pass

    def _store(self, value: Traced) -> None:
        super()._store(value)
        self._owners[self._places[id(value)][1].slot] = value

    def _whole(self, parts: Sequence[Traced], axis: int) -> list[Traced]:
        """The parts; in place of those which are all of a value, one after another, that value."""
        found: list[Traced] = []
        rest = list(parts)
        while rest:
            count, owner = self._run(rest, axis)
            found.append(owner)
            del rest[:count]
        return found

    def _run(self, parts: Sequence[Traced], axis: int) -> tuple[int, Traced]:
        places: list[Any] = [self._places[id(part)][1] if id(part) in self._places else None for part in parts]
        owner = self._owners.get(places[0].slot) if places[0] is not None else None
        if owner is None or owner is parts[0] or owner.ndim != parts[0].ndim:
            return 1, parts[0]
        whole, size = self._places[id(owner)][1], 0
        stride = whole.example.strides[axis]
        for count, (part, place) in enumerate(zip(parts, places), 1):
            if place is None or place.slot != whole.slot or place.offset != whole.offset + size * stride \
                    or place.example.strides != whole.example.strides:
                break
            size += part.shape[axis]
            if (*part.shape[:axis], size, *part.shape[axis + 1:]) == owner.shape:
                return count, owner
        return 1, parts[0]

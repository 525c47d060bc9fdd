# SPDX-License-Identifier: MIT
"""Tables: what searches found, for those that come after. docs/tables.md."""
from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from ._library import (Cancel, Handle, Watch, check, create, ffi, filled, initialized, lib, path_of, saved_bytes,
                       string, text_of)
from .context import Context, default_context
from .enums import Effort, Isa
from .spec import Spec


@dataclasses.dataclass(frozen=True)
class TableInfo:
    """Facts about a table; `bytes` in memory. Of several parts, `isa`, `threads` and `effort` are those of the first,
    and counts of all."""
    isa: Isa
    threads: int
    machine: str
    families: int
    points: int
    groups: int
    boxes: int
    bytes: int
    parts: int
    effort: int


@dataclasses.dataclass(frozen=True)
class Verification:
    """What `Table.verify` found; `failure` is the first one."""
    promised: int
    pairs: int
    searched: int
    failures: int
    failure: str


@dataclasses.dataclass(frozen=True)
class PrecomputeProgress:
    """Where a precompute is. `remaining` seconds are an estimate; 0: none yet, or done."""
    members: int
    done: int
    found: int
    without_program: int
    saved: int
    pairs: int
    boxes: int
    bytes: int
    seconds: float
    remaining: float


class Table(Handle):
    """Decisions for a set of Specs; each part is for one target and number of threads. Immutable. Its file is untrusted
    data: it is checked when it is loaded, and every decision when it is used.

    Raises Error: IO_ERROR, CORRUPT_TABLE, INCOMPATIBLE_TABLE, TABLE_TOO_LARGE.
    """

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, context: Context | None = None) -> Table:
        name = path_of(path)
        used = (context or default_context()).pointer
        return cls(create("table", lambda out, err: lib.morello_table_load(used, name, out, err)))

    @classmethod
    def from_bytes(cls, data: bytes, *, context: Context | None = None) -> Table:
        used = (context or default_context()).pointer
        return cls(create("table", lambda out, err: lib.morello_table_load_memory(
            used, ffi.from_buffer(data), len(data), out, err)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Replaces the file as a whole or not at all."""
        err = ffi.new("morello_error **")
        check(lib.morello_table_save(self.pointer, path_of(path), err), err)

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return saved_bytes(lambda *to: lib.morello_table_save_memory(self.pointer, *to))

    def merge(self, other: Table) -> Table:
        """A new one that covers what either covers."""
        return Table(create("table", lambda out, err: lib.morello_table_merge(self.pointer, other.pointer, out, err)))

    def covers(self, spec: Spec | str) -> bool:
        """Whether a kernel of the target and threads of some part needs no search."""
        spec = Spec(spec) if isinstance(spec, str) else spec
        return bool(lib.morello_table_covers(self.pointer, spec.pointer))

    def miss(self, spec: Spec | str) -> str:
        """Why it does not cover `spec`, a line for each part; "" if it does. No stable format."""
        asked = Spec(spec) if isinstance(spec, str) else spec
        return text_of(lambda buffer, size: lib.morello_table_miss(self.pointer, asked.pointer, buffer, size))

    def part(self, index: int) -> Table:
        """A part, counted from 0, as a table of its own."""
        return Table(create("table", lambda out, err: lib.morello_table_part(self.pointer, index, out, err)))

    def coverage(self, family: str) -> tuple[int, int]:
        """Of a family, such as "relu f32[<=64]", how many members there are, and how many the table covers."""
        members, covered, err = ffi.new("uint64_t *"), ffi.new("uint64_t *"), ffi.new("morello_error **")
        check(lib.morello_table_coverage(self.pointer, family.encode(), members, covered, err), err)
        return members[0], covered[0]

    @property
    def info(self) -> TableInfo:
        raw = filled("table_info", lambda info, size: lib.morello_table_info_get(self.pointer, info, size))
        return TableInfo(Isa(raw.target), raw.threads, string(raw.machine), raw.families, raw.points, raw.groups,
                         raw.boxes, raw.bytes, raw.parts, raw.effort)

    @property
    def families(self) -> list[str]:
        """What it was asked to cover."""
        return [string(lib.morello_table_family(self.pointer, i)) for i in range(self.info.families)]

    def verify(self, points: int, seed: int = 0) -> Verification:
        """Checks every decision, and searches again for `points` Specs, chosen by `seed`."""
        err = ffi.new("morello_error **")
        found = ffi.new("morello_table_verification *")
        check(lib.morello_table_verify(self.pointer, points, seed, found, ffi.sizeof("morello_table_verification"),
                                       err), err)
        return Verification(found.promised, found.pairs, found.searched, found.failures, string(found.failure))

    def dump(self, *, json: bool = False) -> str:
        """The whole table, for people or as JSON. No stable format."""
        return text_of(lambda buffer, size: lib.morello_table_dump(self.pointer, json, buffer, size))

    def plot(self, group: int = -1, x: str | None = None, y: str | None = None) -> str:
        """Boxes of one group as an SVG document; -1: the group with the most, None: the widest axes."""
        length, err = ffi.new("size_t *"), ffi.new("morello_error **")
        names = [ffi.NULL if name is None else ffi.new("char[]", name.encode()) for name in (x, y)]

        def plot_into(buffer: Any, size: int) -> int:
            check(lib.morello_table_plot(self.pointer, group, *names, buffer, size, length, err), err)
            return int(length[0])
        return text_of(plot_into)

    def __repr__(self) -> str:
        if self._pointer is None:
            return "Table(closed)"
        info = self.info
        return f"Table({info.isa.name.lower()}, threads={info.threads}, points={info.points})"


def precompute(families: str | Sequence[str], path: str | os.PathLike[str], *, isa: Isa | str | None = None,
               threads: int = 1, effort: int | str = Effort.EXACT, workers: int = 0, part: int = 0, parts: int = 1,
               memory_budget: int | None = None, progress: Callable[[PrecomputeProgress], None] | None = None, cancel: Cancel | None = None,
               context: Context | None = None) -> None:
    """Solves all members of families that the table at `path` does not cover yet, and adds them to the file. It can
    be interrupted at any time, and goes on where it was. A family may have a run-time size, `?<=512`: then
    `compile` of the same text needs no search.

    threads: of the kernels; workers: threads that solve, 0: one per processor.
    effort: "exact", or "quick": solved sooner; such programs answer `compile` with that effort or less.
    part, parts: solves the part-th, from 0, of so many parts.
    Other arguments as those of `compile`. Raises SpecError; Error with CANCELLED, IO_ERROR and those of Table.
    """
    texts, options = _families(families), _options(isa, threads, effort, workers, part, parts, memory_budget)
    used, name, err = (context or default_context()).pointer, path_of(path), ffi.new("morello_error **")
    _watch(options, progress, cancel).call(lambda: check(lib.morello_precompute(
        used, ffi.new("char *[]", texts), len(texts), name, options, err), err))


def precompute_table(families: str | Sequence[str], known: Table | None = None, *, isa: Isa | str | None = None,
                     threads: int = 1, effort: int | str = Effort.EXACT, workers: int = 0, part: int = 0,
                     parts: int = 1, memory_budget: int | None = None, progress: Callable[[PrecomputeProgress], None] | None = None,
                     cancel: Cancel | None = None, context: Context | None = None) -> Table:
    """The same without a file: a new table of all members, and of what `known` covers. Nothing is kept of a call that
    is cancelled."""
    texts, options = _families(families), _options(isa, threads, effort, workers, part, parts, memory_budget)
    used = (context or default_context()).pointer
    before = ffi.NULL if known is None else known.pointer
    watch, made = _watch(options, progress, cancel), []
    watch.call(lambda: made.append(create("table", lambda out, err: lib.morello_precompute_table(
        used, ffi.new("char *[]", texts), len(texts), before, options, out, err))))
    return Table(made[0])


def _families(families: str | Sequence[str]) -> list[Any]:
    return [ffi.new("char[]", text.encode()) for text in ([families] if isinstance(families, str) else families)]


def _options(isa: Isa | str | None, threads: int, effort: int | str, workers: int, part: int, parts: int,
             memory_budget: int | None) -> Any:
    options = initialized("precompute_options")
    options.target = Isa.of(isa)
    options.effort = Effort.of(effort)
    options.threads, options.workers, options.part, options.parts = threads, workers, part, parts
    if memory_budget is not None:
        options.memory_budget = max(1, memory_budget)
    return options


def _watch(options: Any, progress: Callable[[PrecomputeProgress], None] | None, cancel: Cancel | None) -> Watch:
    report = None
    if progress is not None:
        told = progress

        def report(at: Any) -> None:
            told(PrecomputeProgress(at.members, at.done, at.found, at.without_program, at.saved, at.pairs, at.boxes,
                                    at.bytes, at.microseconds * 1e-6, at.remaining * 1e-6))
    return Watch(options, "precompute_progress", cancel, report)

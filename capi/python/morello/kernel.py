# SPDX-License-Identifier: MIT
"""Kernels: machine code for one Spec."""
from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from typing import Any

from ._library import (Cancel, Handle, Watch, check, create, ffi, filled, initialized, lib, path_of, saved_bytes, string,
                       text_of)
from .arrays import Array, Expected, Operands, Packed, allocators, name_of, plain_runner
from .context import Context, default_context
from .enums import Effort, Isa, Layout, Status, TableReason, TableUse
from .errors import Error, OperandError
from .pool import Pool, executor_of, shared_pool
from .spec import Spec
from .table import Table
from .tensor import Tensor


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where a search is. Costs in cycles; `best_cost` is infinite if there is no program yet."""
    states: int
    previews: int
    bytes: int
    seconds: float
    best_cost: float
    lower_bound: float


@dataclasses.dataclass(frozen=True)
class SearchStats:
    """What a search did: morello_search_stats of C, with times in seconds."""
    specs: int
    states: int
    expanded: int
    previews: int
    memo_hits: int
    bytes: int
    misfits: int
    advances: int
    borrowed: int
    lookup_seconds: float
    search_seconds: float
    plan_seconds: float
    emit_seconds: float
    lower_bound: float
    optimal: bool
    table_use: TableUse
    table_reason: TableReason
    stored: bool
    effort: int


class Kernel(Handle):
    """Machine code for one Spec, made by `compile` or loaded. Immutable; any number of threads may call it at
    once, and the GIL is released while it runs."""

    def __init__(self, pointer: Any, spec: Spec, threads: int = 1):
        super().__init__(pointer)
        self._spec = spec
        self._threads = threads
        tensors = spec.operands
        self._outputs = int(lib.morello_kernel_output_count(pointer))
        self._allocate = allocators(spec.outputs, spec.accumulating)
        self._expected = [Expected(tensor, name_of(i, len(tensors), self._outputs), lib.morello_kernel_operand_size(pointer, i),
                                   self._recipe(i) if tensor.layout == Layout.FREE else None)
                          for i, tensor in enumerate(tensors)]
        self._sizes = ffi.new("size_t[]", [each.size for each in self._expected])
        self._largest = int(lib.morello_kernel_largest_size(pointer))
        usual = self._outputs == 1 and threads == 1 and not self._largest
        self._run_plain = plain_runner(self._expected, self._allocate) if usual else None
        self._parts: dict[int, tuple[Any, list[Expected], Any]] = {}  # of runs of some size
        if self._largest:
            fewer = spec.at_size(self._largest - 1).operands
            self._axes = [(i, axis) for i, (one, other) in enumerate(zip(tensors[:-self._outputs], fewer))
                          for axis in range(len(one.shape)) if one.shape[axis] != other.shape[axis]]

    def _part(self, inputs: tuple[Array, ...], size: int | None) -> tuple[int, tuple[Any, list[Expected], Any]]:
        """Of a kernel with a run-time size: which, and what operands have to be."""
        if size is None:
            shapes = [(getattr(inputs[i], "shape", ()), axis) for i, axis in self._axes if i < len(inputs)]
            size = next((int(shape[axis]) for shape, axis in shapes if axis < len(shape)), None)
        if size is None:
            raise OperandError(Status.INVALID_ARGUMENT, "no input tells the run-time size: pass it by size=")
        if not 1 <= size <= self._largest:
            raise OperandError(Status.INVALID_ARGUMENT, f"the run-time size is {size}; valid are 1 to {self._largest}")
        part = self._parts.get(size)
        if part is None:
            fixed = self._spec.at_size(size)
            expected = [whole if whole.recipe is not None else Expected(tensor, whole.name)
                        for tensor, whole in zip(fixed.operands, self._expected)]
            part = (allocators(fixed.outputs, fixed.accumulating), expected,
                    ffi.new("size_t[]", [each.size for each in expected]))
            self._parts[size] = part
        return size, part

    def _recipe(self, index: int) -> bytes:
        """The code that packs an operand: kernels with the same bytes pack it in the same way."""
        code = ffi.new("morello_code *")
        check(lib.morello_kernel_code_get(self.pointer, index, code, ffi.sizeof("morello_code")))
        return bytes(ffi.buffer(code.bytes, code.size)) if code.size else b""

    def __call__(self, *inputs: Array, out: Array | None = None, pool: Pool | None = None,
                 size: int | None = None) -> Any:
        """Runs it. Inputs in the order of the Spec: arrays of exactly its types, shapes and strides, and for
        operands whose layout is free what `pack` makes.

        out: the output, or a tuple of several, which must share no memory with another operand; None: new arrays. A
        Spec that accumulates reads it.
        pool: threads for a kernel that was compiled for several; None: those of a pool of the process.
        size: of a kernel with a run-time size; None: that of the inputs.
        Returns the output, of several a tuple. Raises OperandError.
        """
        if self._run_plain is not None and pool is None and size is None:
            result = self._run_plain(self._pointer, inputs, out)
            if result is not None:
                return result
        allocate, expected, sizes = self._allocate, self._expected, self._sizes
        if self._largest:
            size, (allocate, expected, sizes) = self._part(inputs, size)
        elif size is not None:
            raise OperandError(Status.INVALID_ARGUMENT, "the kernel has no run-time size")
        result = allocate() if out is None else out
        operands = Operands(expected, inputs, result, self._outputs)
        executor = ffi.NULL
        if pool is not None and not isinstance(pool, Pool):
            raise TypeError(f"pool is a Pool, not {type(pool).__name__}")
        if pool is not None or self._threads > 1:
            workers = (pool or shared_pool(self._threads)).pointer
            executor = executor_of(workers)
        def run(err: Any) -> int:
            given = (operands.pointers, sizes, len(expected), ffi.NULL, 0, executor, err)
            if size is None:
                return int(lib.morello_kernel_run_checked(self.pointer, *given))
            return int(lib.morello_kernel_run_sized_checked(self.pointer, size, *given))
        if run(ffi.NULL) != Status.OK:
            _refused(run)
        return result

    def pack(self, index: int, array: Array) -> Packed:
        """Operand `index` in the layout that the kernel expects, from a row-major array. Pack once, run often."""
        tensors = self._spec.operands
        if not 0 <= index < len(tensors):
            raise OperandError(Status.INVALID_ARGUMENT, f"operand {index} of a kernel that has {len(tensors)}")
        tensor = tensors[index]
        recipe = self._expected[index].recipe
        if recipe is None:
            raise OperandError(Status.INVALID_ARGUMENT, f"operand {index} ({tensor}): its layout is not free")
        keep: list[Any] = []
        source = Expected(tensor, f"operand {index}").address(array, keep)
        packed = Packed(tensor, self._expected[index].size, recipe)
        check(lib.morello_kernel_pack(self.pointer, index, source, ffi.cast("void *", packed.address)))
        return packed

    @property
    def spec(self) -> Spec:
        """What it computes."""
        return self._spec

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """Inputs in the order of the Spec, then the output, or outputs."""
        return self._spec.operands

    @property
    def name(self) -> str:
        """Says what it computes, and for which instruction set: what profiles and dumps show."""
        return string(lib.morello_kernel_name(self.pointer))

    @property
    def isa(self) -> Isa:
        """What running it needs."""
        return Isa(lib.morello_kernel_isa(self.pointer))

    @property
    def cost(self) -> float:
        """Predicted cycles of one run."""
        return float(lib.morello_kernel_cost(self.pointer))

    @property
    def largest_size(self) -> int:
        """The bound of its run-time size; 0: it has none. Operands and cost are those of that size."""
        return self._largest

    def cost_at_size(self, size: int) -> float:
        """Predicted cycles of one run of this size; 0: the kernel has no such size."""
        return float(lib.morello_kernel_sized_cost(self.pointer, size))

    @property
    def scratch_size(self) -> int:
        """Bytes of memory that one run needs for itself."""
        return int(lib.morello_kernel_scratch_size(self.pointer))

    @property
    def program(self) -> str:
        """Every decision that was made, with costs; empty for loaded kernels."""
        return text_of(lambda buffer, size: lib.morello_kernel_print(self.pointer, buffer, size))

    def breakdown(self) -> dict[str, Any]:
        """Where its predicted cycles go (docs/tools.md); empty for loaded kernels. No stable format."""
        text = text_of(lambda buffer, size: lib.morello_kernel_explain(self.pointer, buffer, size))
        found: dict[str, Any] = json.loads(text or "{}")
        return found

    @property
    def plan(self) -> str:
        """Loops, buffers and microkernels as they were emitted; empty for loaded and searched-only kernels."""
        return text_of(lambda buffer, size: lib.morello_kernel_print_plan(self.pointer, buffer, size))

    @property
    def code(self) -> bytes:
        """The machine code; empty if it was only searched for."""
        size = ffi.new("size_t *")
        code = lib.morello_kernel_code(self.pointer, size)
        return bytes(ffi.buffer(code, size[0])) if size[0] else b""

    @property
    def stats(self) -> SearchStats:
        """What the search did."""
        raw = filled("search_stats", lambda stats, size: lib.morello_kernel_stats_get(self.pointer, stats, size))
        return SearchStats(
            raw.specs, raw.states, raw.expanded, raw.previews, raw.memo_hits, raw.bytes, raw.misfits, raw.advances,
            raw.borrowed, raw.lookup_nanoseconds * 1e-9, raw.search_nanoseconds * 1e-9, raw.plan_nanoseconds * 1e-9,
            raw.emit_nanoseconds * 1e-9, raw.lower_bound, bool(raw.optimal), TableUse(raw.table_use),
            TableReason(raw.table_reason), bool(raw.stored), raw.effort)

    def explain(self, *, plan: bool = False) -> str:
        """For people: what it computes, what it is predicted to cost and why no program costs less, what the search
        did, every decision, and with `plan` the loops as they were emitted."""
        stats, flops = self.stats, self._spec.flops
        lines = [str(self._spec), f"kernel      {self.name}, {len(self.code)} bytes of code, {self.isa.name.lower()}",
                 f"cost        {self.cost:,.0f} cycles predicted, {flops / self.cost if self.cost else 0:.1f} "
                 f"operations a cycle",
                 f"bound       {stats.lower_bound:,.0f} cycles: "
                 + ("proven, no program costs less" if stats.optimal else "a budget ended the search")]
        if stats.stored:
            lines.append("origin      stored: neither search nor emission")
        elif stats.table_use == TableUse.ANSWERED:
            lines.append(f"origin      a table, in {stats.lookup_seconds * 1e3:.2f} ms")
        else:
            lines.append(f"origin      a search of {stats.search_seconds * 1e3:.1f} ms: {stats.states:,} states of "
                         f"{stats.specs:,} Specs, {stats.previews:,} previews, {stats.bytes / 2**20:.1f} MiB")
        lines.append(f"scratch     {self.scratch_size:,} bytes")
        for title, text in (("program", self.program), ("plan", self.plan if plan else "")):
            if text:
                lines += ["", f"{title}:", text.rstrip("\n")]
        return "\n".join(lines) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, which is replaced as a whole or not at all. docs/stored-kernels.md."""
        err = ffi.new("morello_error **")
        check(lib.morello_kernel_save(self.pointer, path_of(path), err), err)

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return saved_bytes(lambda *to: lib.morello_kernel_save_memory(self.pointer, *to))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, context: Context | None = None, threads: int = 1) -> Kernel:
        """From a file that `save` wrote: without search or emission. It is machine code: load it from where you would
        load a library.

        threads: what it was compiled for.
        Raises Error: IO_ERROR, CORRUPT_KERNEL, INCOMPATIBLE_KERNEL, ISA_UNAVAILABLE.
        """
        name = path_of(path)
        return cls._loaded(context, threads, lambda used, out, err: lib.morello_kernel_load(
            used, name, out, err))

    @classmethod
    def from_bytes(cls, data: bytes, *, context: Context | None = None, threads: int = 1) -> Kernel:
        """The same from bytes."""
        return cls._loaded(context, threads, lambda used, out, err: lib.morello_kernel_load_memory(
            used, ffi.from_buffer(data), len(data), out, err))

    @classmethod
    def _loaded(cls, context: Context | None, threads: int, load: Callable[[Any, Any, Any], int]) -> Kernel:
        context = context or default_context()
        used = context.pointer
        pointer = create("kernel", lambda out, err: load(used, out, err))
        return cls(pointer, Spec(string(lib.morello_kernel_spec(pointer)), context=context), threads)

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[bytes, int]]:
        return _from_pickle, (self.to_bytes(), self._threads)

    def __str__(self) -> str:
        return str(self._spec)

    def __repr__(self) -> str:
        if self._pointer is None:
            return "Kernel(closed)"
        return f"Kernel({str(self._spec)!r}, isa={self.isa.name.lower()}, cost={self.cost:.0f})"


def _refused(run: Callable[[Any], int]) -> None:
    """Asks once more, for what is wrong in words."""
    err = ffi.new("morello_error **")
    try:
        check(run(err), err)
    except Error as error:
        if error.status == Status.INVALID_ARGUMENT:
            raise OperandError(error.status, error.message) from None
        raise


def _from_pickle(data: bytes, threads: int) -> Kernel:
    return Kernel.from_bytes(data, threads=threads)


def compile(spec: str | Spec, *, isa: Isa | str | None = None, threads: int = 1,  # pylint: disable=redefined-builtin
            effort: int | str = Effort.EXACT, time_budget: float | None = None, memory_budget: int | None = None,
            search_threads: int = 1,
            table: Table | None = None, strict_table: bool = False, search_only: bool = False,
            progress: Callable[[Progress], None] | None = None, progress_interval: float = 0.1,
            cancel: Cancel | None = None, context: Context | None = None, max_isa: Isa | str | None = None,
            cache_directory: str | os.PathLike[str] | None = None) -> Kernel:
    """Finds the cheapest program for a Spec, and makes a kernel of it. Deterministic, unless a budget ends the
    search. The GIL is released; a KeyboardInterrupt ends the search.

    isa: what to make it for; None: the best that this CPU has.
    threads: most threads that the kernel may use.
    effort: "exact", "quick", or how much work, in that of expanding a state: the same program on every machine.
    time_budget, memory_budget: seconds and bytes of search, after which the best program so far is taken.
    search_threads: threads that search; 0: one per processor. The result does not depend on it.
    table: asked before searching; strict_table: one for another target or number of threads is an error.
    search_only: make no code: the kernel can be printed for any target, but not run.
    progress: called with a Progress about every `progress_interval` seconds; what it raises ends the search.
    cancel: ends the search from another thread.
    context: settings; max_isa and cache_directory are short for a Context with these.
    Raises SpecError; Error with NO_IMPLEMENTATION, ISA_UNAVAILABLE, BUDGET_EXCEEDED, CANCELLED and others.
    """
    if max_isa is not None or cache_directory is not None:
        if context is not None:
            raise ValueError("max_isa and cache_directory are settings of the context that is given")
        context = Context(max_isa=max_isa, cache_directory=cache_directory)
    context = context or default_context()
    if not isinstance(context, Context):
        raise TypeError(f"context is a Context, not {type(context).__name__}")
    if not isinstance(spec, Spec):
        spec = Spec(spec, context=context)
    if table is not None and not isinstance(table, Table):
        raise TypeError(f"table is a Table, as Table.load(path) gives, not {type(table).__name__}")
    options = initialized("options")
    options.target = Isa.of(isa)
    options.threads = threads
    options.effort = Effort.of(effort)
    options.search_threads = search_threads
    options.search_only = search_only
    options.strict_table = strict_table
    options.progress_interval = max(0, round(progress_interval * 1e3))
    if time_budget is not None:
        if not 0 <= time_budget < math.inf:
            raise ValueError(f"time_budget is a number of seconds from 0, or None for no limit, not {time_budget}")
        options.time_budget = min(max(1, round(time_budget * 1e6)), 2**64 - 1)
    if memory_budget is not None:
        if memory_budget < 0:
            raise ValueError(f"memory_budget is a number of bytes from 0, or None for no limit, not {memory_budget}")
        options.memory_budget = max(1, memory_budget)
    asked = None if table is None else table.pointer  # kept until the call has ended
    if asked is not None:
        options.table = asked
    report = None
    if progress is not None:
        told = progress

        def report(at: Any) -> None:
            told(Progress(at.states, at.previews, at.bytes, at.microseconds * 1e-6, at.best_cost, at.lower_bound))
    watch = Watch(options, "progress", cancel, report)
    wanted = spec
    used = context.pointer
    pointer = watch.call(lambda: create("kernel", lambda out, err: lib.morello_synthesize(
        used, wanted.pointer, options, out, err)))
    return Kernel(pointer, spec, threads)

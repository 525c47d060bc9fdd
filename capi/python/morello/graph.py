# SPDX-License-Identifier: MIT
"""Graphs: Specs of several operations, put together value by value."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NewType

from ._library import Handle, check, create, ffi, lib
from .context import Context, default_context
from .spec import Spec
from .tensor import Tensor

Value = NewType("Value", int)


class Graph(Handle):
    """A graph that is being built: inputs, constants and operations on them, which become one Spec. Of one thread
    at a time. Its methods raise SpecError, and leave it as it was then."""

    def __init__(self, *, context: Context | None = None):
        used = (context or default_context()).pointer
        super().__init__(create("graph", lambda out, err: lib.morello_graph_create(used, out, err)))

    def input(self, tensor: Tensor) -> Value:
        """The next input, which is operand 0, 1, .. of the Spec."""
        raw = tensor.to_c()
        return self._value(lambda value, err: lib.morello_graph_input(self.pointer, raw, value, err))

    def constant(self, number: float) -> Value:
        """A constant, rounded to f32 unless it is an integer of 32 bits."""
        return self._value(lambda value, err: lib.morello_graph_constant(self.pointer, number, value, err))

    def apply(self, operation: str, inputs: Sequence[Value]) -> Value:
        """The result of an operation of the Spec language: its name, and what it is told besides its inputs, as in
        "matmul", "softmax axis=1" or "conv2d stride=2,2"."""
        values = ffi.new("uint32_t[]", list(inputs))
        return self._value(lambda value, err: lib.morello_graph_apply(
            self.pointer, operation.encode(), values, len(inputs), value, err))

    def finish(self, value: Value, out: Tensor | None = None, *, accumulate: bool = False) -> Spec:
        """The Spec that computes `value`, which all others must be needed for. Without `out`, it is row-major, of the
        shape and element type that follow."""
        raw = ffi.NULL if out is None else out.to_c()
        return Spec._from_c(create("spec", lambda spec, err: lib.morello_graph_finish(
            self.pointer, value, raw, accumulate, spec, err)))

    def finish_outputs(self, values: Sequence[Value], outs: Sequence[Tensor | None] | None = None, *,
                       accumulate: Sequence[bool] | None = None) -> Spec:
        """The Spec that computes several values, each once, into outputs in this order; `outs` and `accumulate` have
        an entry for each."""
        for entries in (outs, accumulate):
            if entries is not None and len(entries) != len(values):
                raise ValueError(f"{len(entries)} entries for {len(values)} outputs")
        raw = [ffi.NULL if out is None else out.to_c() for out in outs or [None] * len(values)]
        adds = ffi.new("int[]", list(accumulate or [False] * len(values)))
        return Spec._from_c(create("spec", lambda spec, err: lib.morello_graph_finish_outputs(
            self.pointer, ffi.new("uint32_t[]", list(values)), ffi.new("morello_tensor *[]", raw), adds, len(values),
            spec, err)))

    def _value(self, call: Callable[[Any, Any], int]) -> Value:
        value, err = ffi.new("uint32_t *"), ffi.new("morello_error **")
        check(call(value, err), err)
        return Value(value[0])

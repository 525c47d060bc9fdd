# SPDX-License-Identifier: MIT
"""Specs: what to compute."""
from __future__ import annotations

import re
from typing import Any

from ._library import Handle, check, create, ffi, lib, text_of
from .arrays import Array, Operands, allocators, expected_of
from .context import Context, default_context
from .enums import Isa
from .tensor import Tensor


class Spec(Handle):
    """A computation on given shapes, element types and layouts, from one line of text
    (docs/spec-language.md). Immutable; equal if it computes the same on the same tensors.

    Raises SpecError, with line and column.
    """

    def __init__(self, text: str, *, context: Context | None = None):
        if not isinstance(text, str):
            raise TypeError(f"a Spec is a str such as 'relu f32[4]', not {type(text).__name__}")
        if "\0" in text:
            raise ValueError("a Spec with a zero byte")
        used = (context or default_context()).pointer
        pointer = create("spec", lambda out, err: lib.morello_spec_parse(used, text.encode(), out, err))
        self._set(pointer)

    @classmethod
    def _from_c(cls, pointer: Any) -> Spec:
        spec = cls.__new__(cls)
        spec._set(pointer)
        return spec

    def _set(self, pointer: Any) -> None:
        super().__init__(pointer)
        self._operands = tuple(self._operand(i) for i in range(lib.morello_spec_operand_count(pointer)))
        self._inputs = len(self._operands) - lib.morello_spec_output_count(pointer)

    def _operand(self, index: int) -> Tensor:
        raw = ffi.new("morello_tensor *")
        check(lib.morello_spec_operand(self.pointer, index, raw))
        return Tensor.from_c(raw)

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """Inputs in the order of the Spec, then the output, or outputs."""
        return self._operands

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The last operands: one, unless the Spec is a graph with several."""
        return self._operands[self._inputs:]

    @property
    def largest_size(self) -> int:
        """The bound of a size that is known only at run time, `?<=512` in the text; 0: there is none. Operands and
        operations of such a Spec are those of that largest size."""
        return int(lib.morello_spec_largest_size(self.pointer))

    def at_size(self, size: int) -> Spec:
        """The Spec of one size, 1 to `largest_size`."""
        return Spec._from_c(create("spec", lambda out, err: lib.morello_spec_at_size(self.pointer, size, out, err)))

    @property
    def flops(self) -> float:
        """Operations of one run: 2 per multiply-add, 1 per other scalar operation."""
        return float(lib.morello_spec_flops(self.pointer))

    def isa(self, usable: int) -> Isa:
        """What AUTO would mean on a CPU that can run `usable` alone: bit 1 << n for each Isa n. AUTO: nothing."""
        return Isa(lib.morello_spec_isa(self.pointer, usable))

    def evaluate(self, *inputs: Array, out: Array | None = None) -> Any:
        """Computes it slowly, in double precision: the reference to check kernels against. Operands as those of a
        kernel, but row-major where the layout is free. A Spec that accumulates needs `out`, and reads it."""
        count = len(self.outputs)
        result = allocators(self.outputs, self.accumulating)() if out is None else out
        operands = Operands(expected_of(self._operands, count), inputs, result, count)
        err = ffi.new("morello_error **")
        check(lib.morello_spec_evaluate(self.pointer, operands.pointers, err), err)
        return result

    @property
    def accumulates(self) -> bool:
        """Whether an output is read, and added to."""
        return any(self.accumulating)

    @property
    def accumulating(self) -> tuple[bool, ...]:
        """Whether each output is."""
        # Nothing but outputs is a tensor behind such a sign.
        signs = re.findall(r"(->|\+=)\s*\w+\s*\[", str(self))
        return tuple(sign == "+=" for sign in signs) or (False,) * len(self.outputs)

    def __str__(self) -> str:
        return text_of(lambda buffer, size: lib.morello_spec_print(self.pointer, buffer, size))

    def __repr__(self) -> str:
        return "Spec(closed)" if self._pointer is None else f"Spec({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return bool(lib.morello_spec_equal(self.pointer, other.pointer))

    def __hash__(self) -> int:
        return hash(int(lib.morello_spec_hash(self.pointer)))

    def __reduce__(self) -> tuple[type[Spec], tuple[str]]:
        return Spec, (str(self),)

# SPDX-License-Identifier: MIT
"""Exceptions: one family, whose members say what was wrong."""
from __future__ import annotations

from .enums import Status


class Error(Exception):
    """What the library refuses or cannot do. `line` and `column` count from 1, in bytes of a Spec's
    text; 0: the error has no place in a text."""

    def __init__(self, status: Status, message: str, line: int = 0, column: int = 0):
        super().__init__(message)
        self.status = status
        self.message = message
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[type[Error], tuple[Status, str, int, int]]:
        return type(self), (self.status, self.message, self.line, self.column)


class SpecError(Error, ValueError):
    """No Spec, or one that this version cannot compute."""


class NoAttribute(SpecError, AttributeError):
    """What arrays have, and values that are being traced do not: hasattr() says so as well."""


class OperandError(Error, ValueError):
    """An array that does not fit its operand: type, shape, strides, alignment, overlap."""


_TYPES = {
    Status.SYNTAX_ERROR: SpecError,
    Status.INVALID_SHAPE: SpecError,
    Status.SIZE_OVERFLOW: SpecError,
    Status.UNKNOWN_DTYPE: SpecError,
    Status.INVALID_LAYOUT: SpecError,
    Status.UNSUPPORTED: SpecError,
    Status.NULL_OPERAND: OperandError,
    Status.OPERAND_TOO_SMALL: OperandError,
    Status.MISALIGNED: OperandError,
}


def error_of(status: int, message: str, line: int = 0, column: int = 0) -> Error:
    known = Status(status) if status in Status._value2member_map_ else Status.INTERNAL
    return _TYPES.get(known, Error)(known, message, line, column)


def mendable(error: Error) -> Error:
    """What smaller kernels may mend; raises what they do not."""
    if isinstance(error, SpecError) and error.status != Status.CANCELLED or error.status == Status.NO_IMPLEMENTATION:
        return error
    raise error

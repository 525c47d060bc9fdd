# SPDX-License-Identifier: MIT
"""The numbers of the C interface, by name. A test compares them with the header."""
from __future__ import annotations

import enum
import operator


class Status(enum.IntEnum):
    """What a call of the library ended with."""
    OK = 0
    INVALID_ARGUMENT = -1
    SYNTAX_ERROR = -2
    INVALID_SHAPE = -3
    SIZE_OVERFLOW = -4
    UNKNOWN_DTYPE = -5
    INVALID_LAYOUT = -6
    UNSUPPORTED = -7
    NULL_OPERAND = -8
    OPERAND_TOO_SMALL = -9
    MISALIGNED = -10
    ISA_UNAVAILABLE = -11
    NO_IMPLEMENTATION = -12
    BUDGET_EXCEEDED = -13
    EXEC_MEMORY_DENIED = -14
    OUT_OF_MEMORY = -15
    INTERNAL = -16
    IO_ERROR = -17
    CORRUPT_TABLE = -18
    INCOMPATIBLE_TABLE = -19
    CANCELLED = -20
    TABLE_TOO_LARGE = -21
    CORRUPT_KERNEL = -22
    INCOMPATIBLE_KERNEL = -23


class Isa(enum.IntEnum):
    """What kernels are made for. Numbers say nothing about an order."""
    AUTO = 0
    AVX2 = 1
    AVX512 = 2
    AVX2_VNNI = 3
    AVX512_VNNI = 4
    AVX512_BF16 = 5
    AVX512_AMX = 6

    @classmethod
    def of(cls, isa: Isa | str | None) -> Isa:
        """From a name such as "avx2", in any case; None is AUTO."""
        if isa is None:
            return cls.AUTO
        if isinstance(isa, str):
            if isa.upper() not in cls.__members__:
                raise ValueError(f"isa {isa!r}: one of {', '.join(name.lower() for name in cls.__members__)}")
            return cls[isa.upper()]
        return cls(isa)


class Effort(enum.IntEnum):
    """How long to search. Any other number is that of states to expand."""
    EXACT = 0
    QUICK = 2000

    @classmethod
    def of(cls, effort: int | str) -> int:
        """From a number, or a name such as "quick", in any case."""
        if isinstance(effort, str):
            if effort.upper() not in cls.__members__:
                raise ValueError(f"effort {effort!r}: a number, or one of {', '.join(name.lower() for name in cls.__members__)}")
            return int(cls[effort.upper()])
        number = operator.index(effort)
        if number < 0:
            raise ValueError(f"effort {effort}: at least 0")
        return number


class Dtype(enum.IntEnum):
    """Element types; `dtype.text` is what Specs call them."""
    F32 = 1
    BF16 = 2
    F16 = 3
    I8 = 4
    U8 = 5
    I32 = 6

    @property
    def text(self) -> str:
        return self.name.lower()

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return _SIZES[self]

    @property
    def is_integer(self) -> bool:
        return self in (Dtype.I8, Dtype.U8, Dtype.I32)


_SIZES = {Dtype.F32: 4, Dtype.BF16: 2, Dtype.F16: 2, Dtype.I8: 1, Dtype.U8: 1, Dtype.I32: 4}


class Layout(enum.IntEnum):
    """Where the elements of a tensor lie."""
    ROW_MAJOR = 0
    COLUMN_MAJOR = 1
    STRIDED = 2
    FREE = 3


class TableUse(enum.IntEnum):
    """What became of the table that a kernel was asked to be made with."""
    NONE = 0
    ANSWERED = 1
    NOT_COVERED = 2
    WRONG = 3
    NEAR = 4


class TableReason(enum.IntEnum):
    """Why a table does not cover a Spec."""
    NONE = 0
    SPEC = 1
    TARGET = 2
    THREADS = 3
    EFFORT = 4

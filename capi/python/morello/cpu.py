# SPDX-License-Identifier: MIT
"""This machine."""
from __future__ import annotations

import dataclasses

from ._library import filled, lib, string
from .enums import Isa


@dataclasses.dataclass(frozen=True)
class CpuInfo:
    """Facts about this machine. Sizes of caches in bytes, 0 where unknown; `isa` None: kernels cannot run here."""
    name: str
    isa: Isa | None
    usable: tuple[Isa, ...]
    processors: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    jit: bool


def cpu_info() -> CpuInfo:
    """What MORELLO_MAX_ISA rules out is not usable."""
    info = filled("cpu_info", lib.morello_cpu_info_get)
    return CpuInfo(string(info.name), Isa(info.isa) if info.isa else None,
                   tuple(isa for isa in Isa if isa and info.usable_isas >> isa & 1), info.processors, info.l1_bytes,
                   info.l2_bytes, info.l3_bytes, bool(info.jit))


def version() -> str:
    """Of the library."""
    return string(lib.morello_version_string())

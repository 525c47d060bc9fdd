# SPDX-License-Identifier: MIT
"""Where arrays lie that are used for a while, one beside another and one after another."""
from __future__ import annotations

from collections.abc import Mapping

ALIGNMENT = 64


def arranged(arrays: Mapping[int, tuple[int, int, int]]) -> tuple[dict[int, int], int]:
    """Offsets in one piece of memory, and its size, for arrays of so many bytes, each used from a first step to a
    last. No two that are used in the same step overlap. Large ones first, each at the lowest place that is free."""
    offsets: dict[int, int] = {}
    for key in sorted(arrays, key=lambda each: (-arrays[each][0], each)):
        size, first, last = arrays[key]
        taken = sorted((offsets[other], offsets[other] + arrays[other][0]) for other in offsets
                       if arrays[other][1] <= last and first <= arrays[other][2])
        start = 0
        for begin, end in taken:
            if start + size <= begin:
                break
            start = max(start, -(-end // ALIGNMENT) * ALIGNMENT)
        offsets[key] = start
    return offsets, max((offsets[key] + arrays[key][0] for key in offsets), default=0)

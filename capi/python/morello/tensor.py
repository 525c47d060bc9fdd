# SPDX-License-Identifier: MIT
"""Operands as a Spec describes them."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

from ._library import ffi
from .enums import Dtype, Layout


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An element type, a shape, and where the elements lie. `strides`, in elements, are given if the layout is
    STRIDED; of operands of a Spec they are there for every layout but FREE."""
    dtype: Dtype
    shape: tuple[int, ...]
    layout: Layout = Layout.ROW_MAJOR
    strides: tuple[int, ...] | None = None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        text = f"{self.dtype.text}[{','.join(map(str, self.shape))}]"
        if self.layout == Layout.FREE:
            return text + "{*}"
        if self.strides is None or self.strides == row_major(self.shape):
            return text
        return text + "{strides=" + ",".join(map(str, self.strides)) + "}"

    def to_c(self) -> Any:
        if len(self.shape) > 8:
            raise ValueError(f"{len(self.shape)} axes: at most 8")
        raw = ffi.new("morello_tensor *")
        raw.dtype, raw.layout, raw.rank = self.dtype, self.layout, len(self.shape)
        for axis, size in enumerate(self.shape):
            raw.shape[axis] = size
        if self.layout == Layout.STRIDED:
            if self.strides is None or len(self.strides) != len(self.shape):
                raise ValueError(f"a strided tensor of {len(self.shape)} axes with strides {self.strides}")
            for axis, stride in enumerate(self.strides):
                raw.strides[axis] = stride
        return raw

    @classmethod
    def from_c(cls, raw: Any) -> Tensor:
        layout = Layout(raw.layout)
        strides = None if layout == Layout.FREE else tuple(raw.strides[i] for i in range(raw.rank))
        return cls(Dtype(raw.dtype), tuple(raw.shape[i] for i in range(raw.rank)), layout, strides)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of a dense row-major tensor."""
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))

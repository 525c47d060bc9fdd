# SPDX-License-Identifier: MIT
"""Tensors of other libraries, by the DLPack protocol. What NumPy's own reader lacks is here: bf16, and places
to write to."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from .enums import Dtype

# What DLPack calls memory that the CPU reads: its own, that which GPUs see as well, and shared memory.
_ON_CPU = (1, 3, 13)
_READ_ONLY = 1
_DTYPES = {(2, 32): Dtype.F32, (4, 16): Dtype.BF16, (2, 16): Dtype.F16, (0, 8): Dtype.I8, (1, 8): Dtype.U8,
           (0, 32): Dtype.I32}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.argtypes, _get_name.restype = [ctypes.py_object], ctypes.c_char_p
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


class Imported(NamedTuple):
    """A tensor in memory: strides in bytes; `owner` keeps it there."""
    address: int
    dtype: Dtype | None
    dtype_name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read_only: bool
    owner: Any


def import_tensor(array: Any) -> Imported:
    """Raises BufferError where the tensor is not in memory that the CPU reads."""
    device = int(array.__dlpack_device__()[0])
    if device not in _ON_CPU:
        raise BufferError(f"a tensor on DLPack's device {device}; kernels read the memory of the CPU")
    if hasattr(array, "block_until_ready"):
        array.block_until_ready()
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before there were versions
        capsule = array.__dlpack__()
    # The capsule is not consumed: it gives the tensor back when it goes, and it is kept until then.
    name = _get_name(capsule)
    read_only = False
    if name == b"dltensor_versioned":
        versioned = _Versioned.from_address(_get_pointer(capsule, name))
        if versioned.major != 1:
            raise BufferError(f"DLPack version {versioned.major}, which is unknown here")
        read_only, tensor = bool(versioned.flags & _READ_ONLY), versioned.tensor
    elif name == b"dltensor":
        tensor = _Tensor.from_address(_get_pointer(capsule, name))
    else:
        raise BufferError(f"a DLPack capsule that is named {name!r}")
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    size = (tensor.bits * tensor.lanes + 7) // 8
    shape = tuple(tensor.shape[:tensor.ndim])
    if tensor.strides:
        strides = tuple(stride * size for stride in tensor.strides[:tensor.ndim])
    else:
        dense = [size]
        for extent in reversed(shape[1:]):
            dense.append(dense[-1] * extent)
        strides = tuple(reversed(dense))[:len(shape)] if shape else ()
    return Imported((tensor.data or 0) + tensor.byte_offset, dtype,
                    f"{_KINDS.get(tensor.code, 'unknown')}{tensor.bits}", shape, strides, read_only, capsule)

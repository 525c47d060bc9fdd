# SPDX-License-Identifier: MIT
"""Reads and writes .npy files, without NumPy."""
import pathlib
import struct

# By element type: as .npy files call it, as struct does. NumPy has no bf16, of which these are bits.
NPY_TYPES = {"f32": ("<f4", "f"), "f16": ("<f2", "e"), "bf16": ("<V2", "H"), "i8": ("|i1", "b"),
             "u8": ("|u1", "B"), "i32": ("<i4", "i")}


def npy(shape, values, order="C", version=1, dtype="f32"):
    descr, code = NPY_TYPES[dtype]
    header = f"{{'descr': '{descr}', 'fortran_order': {order == 'F'}, 'shape': {shape}, }}"
    length = "<H" if version == 1 else "<I"
    header += " " * (-(8 + struct.calcsize(length) + len(header) + 1) % 64) + "\n"
    return (b"\x93NUMPY" + bytes([version, 0]) + struct.pack(length, len(header))
            + header.encode() + struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + struct.unpack("<H", data[8:10])[0]
    assert start % 64 == 0
    header = eval(data[10:start])  # a literal that this repository wrote
    code = {descr: code for descr, code in NPY_TYPES.values()}[header["descr"]]
    count = (len(data) - start) // struct.calcsize(code)
    return header["shape"], list(struct.unpack(f"<{count}{code}", data[start:]))

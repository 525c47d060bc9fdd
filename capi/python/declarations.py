# SPDX-License-Identifier: MIT
"""What Python knows of C: include/morello/morello.h itself, as cffi reads it."""
import pathlib
import re


def declarations(root: pathlib.Path) -> str:
    """All that the public headers declare: functions, types, and macros that are integers."""
    text = "".join((root / "include/morello" / name).read_text() for name in ("version.h", "morello.h"))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).replace("\\\n", " ")
    kept = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            if re.fullmatch(r"#define \w+\s+\d+\s*", line):
                kept.append(line)
        elif line.strip() not in ('extern "C" {', "}"):
            kept.append(line.replace("MORELLO_API ", ""))
    return "\n".join(kept) + "\n"


def write_module(root: pathlib.Path, path: pathlib.Path) -> None:
    """Writes the declarations as a Python module, which needs cffi, but no parser or compiler."""
    import cffi
    ffi = cffi.FFI()
    ffi.set_source("morello._abi", None)
    ffi.cdef(declarations(root))
    ffi.emit_python_code(str(path))

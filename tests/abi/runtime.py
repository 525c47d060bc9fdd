#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libmorello-runtime is small, exports what capi/abi-runtime.txt lists, a part of the C interface, and needs
nothing but the C++ library: runtime.py LIBRARY ABI_RUNTIME_TXT ABI_TXT SONAME OPTIMIZATION COMPILER."""
import os
import re
import subprocess
import sys
import tempfile

MOST_BYTES = {"gcc": 96_000, "clang": 112 << 10}  # stripped, by compiler


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def stripped_bytes(library):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", stripped, library], check=True)
        return os.path.getsize(stripped)


def main():
    library, abi_runtime, abi, soname, optimization, compiler = sys.argv[1:]
    reviewed, whole = (set(open(path, encoding="utf-8").read().split()) for path in (abi_runtime, abi))
    exported = {line.split()[-1].split("@")[0]
                for line in output("nm", "-D", "--defined-only", library).splitlines()}
    bad = [f"{name} is not in both of the library and capi/abi-runtime.txt" for name in sorted(exported ^ reviewed)]
    bad += [f"capi/abi.txt has no {name}" for name in sorted(reviewed - whole)]
    dynamic = output("readelf", "-dW", library)
    bad += [f"the library needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)
            if not re.match(r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|ld-linux-x86-64)\.so", name)]
    found = re.findall(r"SONAME.*\[(.*)\]", dynamic)
    if found != [soname]:
        bad.append(f"soname {found}, expected {soname}")
    size = stripped_bytes(library)
    most = MOST_BYTES.get(compiler)
    if optimization == "2" and most and size >= most:
        bad.append(f"{size} bytes when stripped; {most} are too many")
    print("\n".join(bad) or f"{len(exported)} functions, {size} bytes")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

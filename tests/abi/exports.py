#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The shared library exports what capi/abi.txt lists, which is what morello.h declares, and no more:
exports.py LIBRARY ABI_TXT HEADER SONAME."""
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def compare(what, found, reviewed):
    bad = [f"{what} has {name}, capi/abi.txt has not" for name in sorted(found - reviewed)]
    return bad + [f"capi/abi.txt has {name}, {what} has not" for name in sorted(reviewed - found)]


def main():
    library, abi_txt, header, soname = sys.argv[1:]
    reviewed = set(open(abi_txt, encoding="utf-8").read().split())
    exported = {line.split()[-1].split("@")[0]
                for line in output("nm", "-D", "--defined-only", library).splitlines()}
    text = re.sub(r"/\*.*?\*/", "", open(header, encoding="utf-8").read(), flags=re.S)
    declared = set(re.findall(r"MORELLO_API\s+[\w\s*]*?\b(morello_\w+)\s*\(", text))
    bad = compare("the library", exported, reviewed) + compare("morello.h", declared, reviewed)

    imported = {line.split()[-1] for line in output("nm", "-D", "--undefined-only", library).splitlines()}
    bad += [f"the library imports {name}" for name in sorted(imported) if name.startswith("mi_")]
    dynamic = output("readelf", "-dW", library)
    bad += [f"the library needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)
            if not re.match(r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|libzstd|ld-linux-x86-64)\.so", name)]
    found = re.findall(r"SONAME.*\[(.*)\]", dynamic)
    if found != [soname]:
        bad.append(f"soname {found}, expected {soname}")
    if re.search(r"\bTEXTREL\b", dynamic):
        bad.append("the library has text relocations")
    print("\n".join(bad) or f"{len(exported)} functions exported, as reviewed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loading the library runs no code of ours: no object of it has a constructor or destructor section.
static_init.py STATIC_LIBRARY"""
import re
import subprocess
import sys


def main():
    listing = subprocess.run(["readelf", "-SW", sys.argv[1]], capture_output=True, text=True,
                             check=True).stdout
    bad, objects, current = [], 0, "?"
    for line in listing.splitlines():
        if line.startswith("File: "):
            current, objects = line.split(": ", 1)[1], objects + 1
        if re.search(r"\] \.(init_array|fini_array|ctors|dtors|preinit_array)\b", line):
            bad.append(f"{current} runs code at load or unload:{line.split(']')[1].split()[0]:>16}")
    print("\n".join(bad) or f"{objects} objects without static constructors")
    sys.exit(1 if bad or objects == 0 else 0)


if __name__ == "__main__":
    main()

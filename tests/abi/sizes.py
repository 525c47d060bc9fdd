#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libmorello is small and brings no threads of a compiler's: sizes.py SHARED STATIC LAYERS OPTIMIZATION. Prints what each
layer has of its code and constants. LAYERS: the names of the folders of src, with commas."""
import collections
import re
import subprocess
import sys

from runtime import output, stripped_bytes

MOST_BYTES = 2_500_000  # stripped


def bytes_by_layer(archive, layers):
    """Of code and of what is not written to; objects are called after the folder that their sources are in."""
    sizes = collections.Counter()
    for line in output("size", archive).splitlines()[1:]:
        columns = line.split()
        if len(columns) < 6:
            continue
        name = columns[5]
        sizes[next((layer for layer in layers if name.startswith(layer + "_")), "other")] += int(columns[0])
    return sizes


def main():
    shared, static, layers, optimization = sys.argv[1:]
    bad = [f"the library needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", shared))
           if re.search("gomp|libomp|iomp", name)]
    size = stripped_bytes(shared)
    if optimization == "2" and size >= MOST_BYTES:
        bad.append(f"{size} bytes when stripped; {MOST_BYTES} are too many")
    sizes = bytes_by_layer(static, layers.split(","))
    missing = [layer for layer in layers.split(",") if not sizes[layer]]
    bad += [f"no object of layer {layer} in {static}" for layer in missing]
    for layer, count in sizes.most_common():
        print(f"{count:9,} {layer}")
    print("\n".join(bad) or f"{size:9,} libmorello.so, stripped")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a header with a hash of all sources below a folder, and which they are:
source_hash.py FOLDER HEADER DEPFILE."""
import hashlib
import pathlib
import sys


def main():
    folder, header, depfile = (pathlib.Path(argument) for argument in sys.argv[1:])
    sources = sorted(path for path in folder.rglob("*") if path.suffix in {".cc", ".hh", ".def"})
    digest = hashlib.sha256()
    for path in sources:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    header.write_text("// SPDX-License-Identifier: MIT\n"
                      f'#define MORELLO_SOURCE_HASH "{digest.hexdigest()[:16]}"\n')
    names = " ".join(str(path).replace(" ", "\\ ") for path in sources)
    depfile.write_text(f"{header}: {names}\n")


if __name__ == "__main__":
    main()

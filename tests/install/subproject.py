#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A debug build that has morello as a subproject optimizes it: subproject.py SOURCE MESON.

Configures only, and reads how every file would be compiled.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PARENT = """project('parent', 'c', 'cpp', default_options: ['buildtype=debug'])
executable('user', 'user.c', dependencies: dependency('morello', fallback: 'morello'))
"""


def levels(work, meson, name, *options):
    """{file below src: its -O level} of the library, and the parent's own."""
    build = work / name
    subprocess.run([*meson, "setup", build, work, *options], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        flags = re.findall(r" -O(\w)", entry["command"])
        found[entry["file"].split("morello/")[-1]] = flags[-1] if flags else "0"
    own = found.pop(next(file for file in found if file.endswith("user.c")))
    return {file: level for file, level in found.items() if file.startswith("src/")}, own


def main():
    source, *meson = sys.argv[1:]
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "subprojects").mkdir()
        (work / "subprojects/morello").symlink_to(pathlib.Path(source).resolve())
        (work / "meson.build").write_text(PARENT)
        (work / "user.c").write_text("int main(void) { return 0; }\n")
        library, own = levels(work, meson, "build")
        hot = [level for file, level in library.items() if file.startswith(("src/search/", "src/cost/"))]
        if own != "0" or len(hot) < 5 or set(hot) != {"3"} or set(library.values()) != {"2", "3"}:
            bad.append(f"parent -O{own}; library {library}")
        library, _ = levels(work, meson, "to-debug", "-Dmorello:optimized=disabled")
        if set(library.values()) != {"0"}:
            bad.append(f"-Dmorello:optimized=disabled: {library}")
    for complaint in bad:
        print("FAILED:", complaint)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

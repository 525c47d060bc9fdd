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
    """{file below src, and whether it is in libmorello-runtime: its -O level}, and the parent's own."""
    build = work / name
    subprocess.run([*meson, "setup", build, work, *options], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        flags = re.findall(r" -O(\w)", entry["command"])
        file = entry["file"].split("morello/")[-1], "libmorello-run.a" in entry["command"]
        found[file] = flags[-1] if flags else "0"
    own = next(level for (file, _), level in found.items() if file.endswith("user.c"))
    return {file: level for file, level in found.items() if file[0].startswith("src/")}, own


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
        hot = [level for (file, _), level in library.items() if file.startswith(("src/search/", "src/cost/"))]
        small = {level for (_, runtime), level in library.items() if runtime}
        levels_of_all = {level for (_, runtime), level in library.items() if not runtime}
        call = library["src/capi/kernel.cc", False]
        if own != "0" or len(hot) < 5 or set(hot) != {"3"} or call != "2" or levels_of_all != {"2", "3", "s"} \
                or not small <= {"s", "z"} or not small:
            bad.append(f"parent -O{own}; library {library}")
        library, _ = levels(work, meson, "to-debug", "-Dmorello:optimized=disabled")
        if set(library.values()) != {"0"}:
            bad.append(f"-Dmorello:optimized=disabled: {library}")
    for complaint in bad:
        print("FAILED:", complaint)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

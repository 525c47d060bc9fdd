#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is installed works in a prefix of its own, without any variable set: installed.py BUILD PREFIX MESON.

The tool finds its library, pkg-config --static links it for real, and every document that an installed
file cites is there.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CITED = re.compile(r"\b(?:docs/([\w-]+\.md)|\]\(([\w/.-]+\.(?:md|svg))[)#])")


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], check=True, text=True, stdout=subprocess.PIPE,
                          **options).stdout


def needed(program):
    return re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", program))


def libdir_is_searched(tree):
    """Directly in lib, which Debian's loader and pkg-config know, whatever the machine has."""
    return [] if (tree / "lib/libmorello.a").is_file() else ["libmorello.a is not in lib"]


def tool_starts(tree):
    clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return [] if "isa" in run(tree / "bin/morello", "cpu", env=clean) else ["the tool says nothing"]


def links_as_asked(tree, work):
    if not all(map(shutil.which, ("pkg-config", "readelf", "cc"))):
        print("pkg-config, readelf or cc is not installed: linking is left out")
        return []
    bad = []
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(tree / "lib/pkgconfig"))
    source = tree / "share/doc/morello/examples/matmul.c"
    for options, shared in (([], True), (["--static"], False)):
        flags = run("pkg-config", f"--define-variable=prefix={tree}", *options, "--cflags", "--libs", "morello",
                    env=environment).split()
        program = work / f"matmul{''.join(options)}"
        run("cc", source, *flags, "-o", program)
        if ("libmorello.so.0" in needed(program)) != shared:
            bad.append(f"pkg-config {options}: {flags} links {'statically' if shared else 'shared'}")
        run(program, env=dict(environment, LD_LIBRARY_PATH=str(tree / "lib") if shared else ""))
    return bad


def cited_files_are_there(tree):
    docs = tree / "share/doc/morello"
    bad = [f"{name} is missing" for name in ("LICENSE", "examples/ffn.c", "examples/matmul.c", "examples/stored.c", "examples/table.c",
                                           "examples/emit/layer.c")
           if not (docs / name).is_file()]
    citing = [*tree.glob("include/**/*.h"), *docs.glob("*.md"), *(p for p in docs.glob("examples/**/*") if p.is_file())]
    cited = {(path, one or other) for path in citing for one, other in CITED.findall(path.read_text())}
    if not cited:
        bad.append("nothing is cited: the pattern finds nothing")
    return bad + [f"{path.name} cites {name}, which is not installed" for path, name in sorted(cited)
                  if not (docs / name).is_file()]


def main():
    build, prefix, *meson = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", work / "a")
        tree = (work / "a" / prefix.lstrip("/")).rename(work / "moved")
        bad = (libdir_is_searched(tree) + tool_starts(tree) + links_as_asked(tree, work)
               + cited_files_are_there(tree))
    for complaint in bad:
        print("FAILED:", complaint)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes crates that need no installed libmorello: package.py FOLDER [--headers DIRECTORY]...

Writes FOLDER/morello-sys, with the C++ sources of the library and the headers of others that they
include, and FOLDER/morello, as a workspace from which `cargo package` makes what is published. None of
it is committed: it is made of the sources that are beside this script, and of the headers that are
installed here (or in other directories, by --headers).
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RUST, ROOT = HERE.parent, HERE.parents[2]
DEPENDENCIES = """
[dependencies]
zstd-sys = { version = "2", default-features = false }

[build-dependencies]
cc = { version = "1.0.90", features = ["parallel"] }
"""
# Of others: what is included first, and where Debian says under which licence.
OTHERS = {
    "xbyak": (["xbyak/xbyak.h"], "libxbyak-dev"),
    "cereal": (["cereal/archives/portable_binary.hpp"], "libcereal-dev"),
    "xxhash": (["xxhash.h"], "libxxhash-dev"),
}


def source_lists():
    """{variable of the build files: sources below src}."""
    lists = {}
    for build in sorted(ROOT.glob("src/**/meson.build")):
        for name, files in re.findall(r"^(\w+_sources) \+?= files\((.*?)\)", build.read_text(), re.M | re.S):
            folder = build.parent.relative_to(ROOT / "src")
            lists.setdefault(name, []).extend((folder / file).as_posix() for file in re.findall(r"'([^']+)'", files))
    return lists


def copy_sources(vendor):
    lists = source_lists()
    left_out = set(lists.pop("run_only_sources"))
    known = {file for files in lists.values() for file in files}
    there = {path.relative_to(ROOT / "src").as_posix() for path in ROOT.glob("src/**/*.cc")}
    if there != known | left_out:
        sys.exit(f"no build file, or no source: {sorted(there ^ (known | left_out))}")
    for path in ROOT.glob("src/**/*"):
        name = path.relative_to(ROOT / "src")
        if path.suffix in {".cc", ".hh", ".def"} and name.as_posix() not in left_out:
            (vendor / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, vendor / "src" / name)
    shutil.copytree(ROOT / "include", vendor / "include", ignore=shutil.ignore_patterns("meson.build"))
    hot = lists.pop("hot_sources")
    for name, files in (("hot", hot), ("core", [file for some in lists.values() for file in some])):
        (vendor / f"{name}.txt").write_text("".join(f"{file}\n" for file in sorted(files)))
    # What a cache of kernels says of the library that made them: as in any other build of these sources.
    subprocess.run([sys.executable, ROOT / "src/source_hash.py", ROOT / "src", vendor / "include/source_hash.hh",
                    vendor / "depends"], check=True)
    (vendor / "depends").unlink()


def copy_headers(vendor, folders):
    """Headers of others, with all that they include of their own."""
    for name, (wanted, package) in OTHERS.items():
        todo, done = list(wanted), set()
        while todo:
            header = pathlib.PurePosixPath(todo.pop())
            if header in done:
                continue
            done.add(header)
            path = next((folder / header for folder in folders if (folder / header).is_file()), None)
            if path is None:
                sys.exit(f"{header} is in none of {', '.join(map(str, folders))}: install {package}, or see --headers")
            to = vendor / "others" / header
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
            for included in re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', path.read_text(errors="replace"), re.M):
                for other in (included, (header.parent / included).as_posix()):
                    if any((folder / other).is_file() for folder in folders) and (
                            other.startswith(name + "/") or "/" not in other and name == "xxhash"):
                        todo.append(other)
        copyright_file = pathlib.Path("/usr/share/doc") / package / "copyright"
        licences = [copyright_file] + [path for folder in folders for path in folder.glob(f"{name}/LICENSE*")]
        licence = next((path for path in licences if path.is_file()), None)
        if licence is None:
            sys.exit(f"the licence of {name} is in none of {', '.join(map(str, licences))}")
        (vendor / "licences").mkdir(exist_ok=True)
        shutil.copy(licence, vendor / "licences" / name)


def copy_crate(name, folder):
    to = folder / name
    shutil.copytree(RUST / name, to, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    shutil.copy(ROOT / "LICENSE", to / "LICENSE")
    return to


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--headers", type=pathlib.Path, action="append", default=[],
                        help="where xbyak/, cereal/ and xxhash.h are (default: /usr/include)")
    arguments = parser.parse_args()
    folder = arguments.folder
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text('[workspace]\nmembers = ["morello-sys", "morello"]\nresolver = "2"\n')
    copy_crate("morello", folder)
    crate = copy_crate("morello-sys", folder)
    copy_sources(crate / "vendor")
    copy_headers(crate / "vendor", [*arguments.headers, pathlib.Path("/usr/include")])
    (crate / "build.rs").rename(crate / "system.rs")
    shutil.copy(HERE / "build.rs", crate / "build.rs")
    with open(crate / "Cargo.toml", "a", encoding="utf-8") as manifest:
        manifest.write(DEPENDENCIES)
    with open(crate / "src/lib.rs", "a", encoding="utf-8") as library:
        library.write("\n// For what it links.\nuse zstd_sys as _;\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Projects of others that have kernels made when they are built: kernels.py SOURCE BUILD PREFIX MESON.

The installed example, by CMake and by Meson, with the installed tool, and a program of Rust whose build script
has them made. What cannot be done is said when it is configured or built.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP_EXIT = 77
NO_AVX2 = "neither AVX2"
failures = []


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, timeout=600, **options)


def must(*command, **options):
    done = run(*command, **options)
    if done.returncode != 0 and NO_AVX2 not in done.stdout:
        failures.append(f"{command[0]} ended with {done.returncode}")
        print(done.stdout)
    return done.stdout


def by_cmake(example, tree, work):
    if shutil.which("cmake") is None:
        print("cmake is not installed: its part is left out")
        return
    build = work / "by-cmake"
    must("cmake", "-S", example, "-B", build, f"-DCMAKE_PREFIX_PATH={tree}")
    must("cmake", "--build", build)
    print(must(build / "layer"), end="")
    before = (build / "kernels-kernels" / "kernels.o").stat().st_mtime_ns
    must("cmake", "--build", build)
    if (build / "kernels-kernels" / "kernels.o").stat().st_mtime_ns != before:
        failures.append("a second build makes the kernels again")
    # Mistakes stop it, and say what is wrong.
    for arguments, when, words in (("kernels SPECS", "configure", "SPECS are missing"),
                                   ("kernels NAMES y SPECS x", "configure", "NAMES"),
                                   ("kernels SPECS \"relu f33[4] -> f32[4]\"", "build", "unknown element type"),
                                   ("kernels SPECS \"relu f32[4] -> f32[4]\" ISA sse2", "build", "'sse2'")):
        wrong = work / "wrong"
        shutil.rmtree(wrong, ignore_errors=True)
        wrong.mkdir()
        (wrong / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.13)\nproject(wrong CXX)\nfind_package(morello REQUIRED)\n"
            f"morello_add_kernels({arguments})\n")
        done = run("cmake", "-S", wrong, "-B", wrong / "build", f"-DCMAKE_PREFIX_PATH={tree}")
        if done.returncode == 0 and when == "build":
            done = run("cmake", "--build", wrong / "build")
        if done.returncode == 0 or words not in done.stdout:
            failures.append(f"morello_add_kernels({arguments}) does not say {words}:\n{done.stdout}")


def by_meson(example, tree, work, meson):
    environment = dict(os.environ, PATH=f"{tree}/bin{os.pathsep}{os.environ['PATH']}")
    build = work / "by-meson"
    must(*meson, "setup", build, example, env=environment)
    must("ninja", "-C", build, env=environment)
    print(must(build / "layer"), end="")


def by_hand(example, tree, work):
    """As the example's comment says."""
    text = (example / "layer.c").read_text().split("*/")[0]
    script = "\n".join(line.removeprefix(" *").strip() for line in text.splitlines() if line.startswith(" *     "))
    folder = work / "by-hand"
    shutil.copytree(example, folder)
    print(must("sh", "-ec", script, cwd=folder,
               env=dict(os.environ, PATH=f"{tree}/bin{os.pathsep}{os.environ['PATH']}")), end="")


def by_cargo(source, tree, work):
    """A crate outside of the tree, and one whose Spec is wrong."""
    if shutil.which("cargo") is None:
        print("cargo is not installed: its part is left out")
        return
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CARGO_TARGET_DIR", "RUSTFLAGS", "PWD") and not name.startswith("MORELLO_")}
    crates = pathlib.Path(source).resolve() / "capi/rust"
    folder = work / "by-cargo"
    shutil.copytree(crates / "emitted-kernels", folder)
    manifest = (folder / "Cargo.toml").read_text().replace("../morello-emit", str(crates / "morello-emit"))
    (folder / "Cargo.toml").write_text(manifest)
    environment["MORELLO_TOOL"] = str(tree / "bin/morello")
    must("cargo", "test", "--offline", "--quiet", cwd=folder, env=environment)
    script = (folder / "build.rs").read_text()
    (folder / "build.rs").write_text(script.replace("f32[8,96]", "f32[8,97]"))
    done = run("cargo", "build", "--offline", "--quiet", cwd=folder, env=environment)
    if done.returncode == 0 or "MORELLO_INVALID_SHAPE" not in done.stdout:
        failures.append(f"cargo does not say that a Spec is wrong:\n{done.stdout}")
    environment["MORELLO_TOOL"] = str(work / "none")
    done = run("cargo", "build", "--offline", "--quiet", cwd=folder, env=environment)
    if done.returncode == 0 or "MORELLO_TOOL" not in done.stdout:
        failures.append(f"cargo does not say that there is no tool:\n{done.stdout}")


def main():
    source, build, prefix, *meson = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        must(*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", work / "a")
        tree = (work / "a" / prefix.lstrip("/")).rename(work / "moved")
        if "without libelf" in run(tree / "bin/morello", "emit", "relu f32[4]", "-o", work / "k.o").stdout:
            print("skipped: the tool was built without libelf (Debian: libelf-dev)")
            sys.exit(SKIP_EXIT)
        example = tree / "share/doc/morello/examples/emit"
        by_cmake(example, tree, work)
        by_meson(example, tree, work, meson)
        by_hand(example, tree, work)
        by_cargo(source, tree, work)
    for complaint in failures:
        print("FAILED:", complaint)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

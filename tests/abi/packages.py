#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An installed tree serves pkg-config, static linking and CMake, also after it was moved:
packages.py MESON BUILD_DIR PREFIX CONSUMER STORED COMPILER...

CONSUMER is built on libmorello and run, STORED on libmorello-runtime, where it says how to use it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CMAKE_LISTS = """cmake_minimum_required(VERSION 3.13)
project(consumer C CXX)
find_package(morello 0.1 REQUIRED)
add_executable(shared {consumer})
target_link_libraries(shared morello::morello)
add_executable(static {consumer})
target_link_libraries(static morello::static)
add_executable(runtime {stored})
target_link_libraries(runtime morello::runtime m)
add_executable(runtime_static {stored})
target_link_libraries(runtime_static morello::runtime_static)
"""


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def shows_usage(program, libdir):
    done = subprocess.run([program], env=dict(os.environ, LD_LIBRARY_PATH=libdir), text=True, capture_output=True,
                          check=False)
    assert done.returncode == 1 and "usage" in done.stderr, (done.returncode, done.stderr)


def try_pkg_config(tree, work, consumer, stored, compiler):
    pc_dir = next(tree.rglob("morello.pc")).parent
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(pc_dir))

    def flags(*what, module="morello"):
        return run("pkg-config", f"--define-variable=prefix={tree}", *what, module, capture_output=True,
                   env=environment).stdout.split()
    run(*compiler, consumer, *flags("--cflags", "--libs"), "-o", work / "shared")
    libdir = flags("--variable=libdir")[0]
    run(work / "shared", env=dict(os.environ, LD_LIBRARY_PATH=libdir))
    run(*compiler, "-DMORELLO_STATIC", consumer, *flags("--cflags", "--libs", "--static"), "-o", work / "static")
    run(work / "static")
    runtime = flags("--cflags", "--libs", module="morello-runtime")
    run(*compiler, stored, *runtime, "-lm", "-o", work / "runtime")
    shows_usage(work / "runtime", libdir)
    runtime = flags("--cflags", "--libs", "--static", module="morello-runtime")
    run(*compiler, "-DMORELLO_STATIC", stored, *runtime, "-o", work / "runtime_static")
    shows_usage(work / "runtime_static", "")


def try_cmake(tree, work, consumer, stored):
    (work / "CMakeLists.txt").write_text(CMAKE_LISTS.format(consumer=consumer, stored=stored))
    run("cmake", "-S", work, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={tree}",
        stdout=subprocess.DEVNULL)
    run("cmake", "--build", work / "build", stdout=subprocess.DEVNULL)
    for kind in ("shared", "static"):
        run(work / "build" / kind)
    for kind in ("runtime", "runtime_static"):
        shows_usage(work / "build" / kind, "")


def main():
    meson, build_dir, prefix, consumer, stored, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(*meson.split(), "install", "-C", build_dir, "--no-rebuild", "--quiet", "--destdir", work / "a")
        tree = (work / "a" / prefix.lstrip("/")).rename(work / "moved")
        if shutil.which("pkg-config"):
            try_pkg_config(tree, work, consumer, stored, compiler)
        else:
            print("pkg-config is not installed: its part is left out")
        if shutil.which("cmake"):
            try_cmake(tree, work, consumer, stored)
        else:
            print("cmake is not installed: its part is left out")


if __name__ == "__main__":
    main()

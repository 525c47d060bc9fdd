#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An installed tree serves pkg-config, static linking and CMake, also after it was moved:
packages.py MESON BUILD_DIR PREFIX CONSUMER COMPILER..."""
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
"""


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def try_pkg_config(tree, work, consumer, compiler):
    pc_dir = next(tree.rglob("morello.pc")).parent
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(pc_dir))

    def flags(*what):
        return run("pkg-config", f"--define-variable=prefix={tree}", *what, "morello", capture_output=True,
                   env=environment).stdout.split()
    run(*compiler, consumer, *flags("--cflags", "--libs"), "-o", work / "shared")
    libdir = flags("--variable=libdir")[0]
    run(work / "shared", env=dict(os.environ, LD_LIBRARY_PATH=libdir))
    run(*compiler, "-DMORELLO_STATIC", consumer, *flags("--cflags", "--libs", "--static"), "-o", work / "static")
    run(work / "static")


def try_cmake(tree, work, consumer):
    (work / "CMakeLists.txt").write_text(CMAKE_LISTS.format(consumer=consumer))
    run("cmake", "-S", work, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={tree}",
        stdout=subprocess.DEVNULL)
    run("cmake", "--build", work / "build", stdout=subprocess.DEVNULL)
    for kind in ("shared", "static"):
        run(work / "build" / kind)


def main():
    meson, build_dir, prefix, consumer, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(*meson.split(), "install", "-C", build_dir, "--no-rebuild", "--quiet", "--destdir", work / "a")
        tree = (work / "a" / prefix.lstrip("/")).rename(work / "moved")
        if shutil.which("pkg-config"):
            try_pkg_config(tree, work, consumer, compiler)
        else:
            print("pkg-config is not installed: its part is left out")
        if shutil.which("cmake"):
            try_cmake(tree, work, consumer)
        else:
            print("cmake is not installed: its part is left out")


if __name__ == "__main__":
    main()

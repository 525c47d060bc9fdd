# SPDX-License-Identifier: MIT
"""Puts into the wheel what is not Python source: the library, and the declarations of its header.

The library is built by Meson, with its C++ run-time library and zstd inside, or is the file that the
environment variable MORELLO_LIBRARY names. One wheel is for every Python, as no extension module is in it.
"""
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Meson's options: no part but the library, which is to need nothing that a machine may lack.
OPTIONS = ["--buildtype=release", "-Doptimization=2", "-Ddefault_library=shared", "-Dtests=disabled",
           "-Dbenches=disabled", "-Dcli=disabled", "-Dprefer_static=true",
           "-Dcpp_link_args=-static-libstdc++ -static-libgcc -s", "--wrap-mode=default"]


def build_library(root: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    subprocess.run(["meson", "setup", str(folder), str(root), *OPTIONS], check=True)
    subprocess.run(["meson", "compile", "-C", str(folder), "morello:shared_library"], check=True)
    return (folder / "capi/libmorello.so").resolve()


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = pathlib.Path(self.root)
        sys.path.insert(0, str(root / "capi/python"))
        from declarations import write_module
        # pylint: disable-next=consider-using-with
        self.scratch = tempfile.TemporaryDirectory(prefix="morello-wheel-")
        folder = pathlib.Path(self.scratch.name)
        write_module(root, folder / "_abi.py")
        given = os.environ.get("MORELLO_LIBRARY")
        library = pathlib.Path(given).resolve() if given else build_library(root, folder / "build")
        build_data["force_include"] = {str(folder / "_abi.py"): "morello/_abi.py",
                                       str(library): "morello/libmorello.so"}
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.scratch.cleanup()

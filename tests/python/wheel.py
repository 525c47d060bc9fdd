#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package as its users get it: wheel.py SOURCE BUILD [onnx].

A wheel is made in one virtual environment, with the library of BUILD, and installed in another, where pytest
runs capi/python/tests and mypy reads the package and its example. What these need comes from the package index
that pip is configured for; without one, or without venv, the test is skipped. With `onnx`, ONNX's own node tests run
there instead (tests/onnx).
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIP_EXIT = 77
TIMEOUT = 600
BUILD_NEEDS = ["hatchling", "cffi"]
TEST_NEEDS = ["pytest", "mypy", "ml_dtypes"]
OPTIONAL = {"jax": "jit_jax is", "onnx": "morello.onnx is"}  # jax: some 100 MB, and not for every version of Python
ONNX_NEEDS = ["onnx", "ml_dtypes"]
# All that is in a wheel beside Python sources.
OTHERS = {"py.typed", "_abi.pyi", "libmorello.so"}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP_EXIT)


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], check=True, timeout=TIMEOUT, **options)


def environment(folder, needs):
    """The Python of a new virtual environment in which these are installed."""
    try:
        run(sys.executable, "-m", "venv", folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.CalledProcessError:
        skip("Python has no venv (Debian: python3-venv)")
    python = folder / "bin/python"
    if not install(python, *needs):
        skip(f"pip cannot install {', '.join(needs)}: there is no package index")
    return python


def install(python, *needs):
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile", "--retries", "1"]
    try:
        run(*pip, *needs)
    except subprocess.CalledProcessError:
        return False
    return True


def check_contents(wheel, source):
    failures = []
    if not wheel.name.startswith("morello-") or "-py3-none-linux_" not in wheel.name:
        failures.append(f"{wheel.name}: wants to be for every Python")
    with zipfile.ZipFile(wheel) as archive:
        names = {name.removeprefix("morello/") for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {path.name for path in (source / "capi/python/morello").glob("*.py")} | OTHERS | {"_abi.py"}
    if names != wanted:
        failures.append(f"{wheel.name}: {sorted(names ^ wanted)}")
    return failures


def main():
    source, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    if sys.version_info < (3, 10):
        skip(f"Python is {sys.version.split()[0]}; the package wants 3.10")
    if not (source / "pyproject.toml").is_file() or shutil.which("cc") is None:
        skip("there is no C compiler, which layouts are checked with")
    oracle = sys.argv[3:] == ["onnx"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        builder = environment(folder / "builder", BUILD_NEEDS)
        run(builder, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
            "-w", folder, source, env=dict(os.environ, MORELLO_LIBRARY=str(build / "capi/libmorello.so")))
        wheel = next(folder.glob("*.whl"))
        failures = check_contents(wheel, source)
        python = environment(folder / "clean", [*(ONNX_NEEDS if oracle else TEST_NEEDS), str(wheel)])
        for package, tested in ({} if oracle else OPTIONAL).items():
            if not install(python, package):
                print(f"skipped: pip cannot install {package}, so {tested} not tested")
        tests = source / "capi/python"
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("PYTHON", "MORELLO_MAX_ISA", "MORELLO_CACHE_DIR"))}
        mypy = [python, "-m", "mypy", "--config-file", source / "pyproject.toml", "--cache-dir", folder / "mypy"]
        commands = [[python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", tests / "tests"],
                    [*mypy, "-p", "morello"], [*mypy, tests / "declarations.py"]]
        for command in [[python, source / "tests/onnx/node_cases.py"]] if oracle else commands:
            try:
                run(*command, cwd=folder, env=dict(clean, PYTHONDONTWRITEBYTECODE="1"))
            except subprocess.CalledProcessError as error:
                failures.append(f"{' '.join(map(str, command[1:4]))}: exit {error.returncode}")
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

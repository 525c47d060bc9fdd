#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every command of the documents as it is written: commands.py SOURCE BUILD MESON.

They run in a copy of the source whose folder `build` is the build that is tested. The tool and the
library that a reader would have installed are in a scratch folder. What takes minutes or changes the
system is listed below, with the reason; a list that names what no document has, fails.
"""
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import documented

TIMEOUT = 900
SLOW = 4  # seconds that are worth a look
CLEAN_ROOT = "changes the system, or compiles for minutes: clean_root.py runs it"
THIS_TEST = "runs this test"
RECORDS = "wants a program, and a machine where perf may record: tests/debuggers tries it"
NOT_RUN = {
    ".ci/demo": CLEAN_ROOT,
    ".ci/test": THIS_TEST,
    "meson test -C build": THIS_TEST,
    "meson setup build && ninja -C build && meson test -C build": THIS_TEST,
    "meson test -C build --suite install": THIS_TEST,
    "meson install -C build": CLEAN_ROOT,
    "meson setup build-release -Dtests=disabled -Dbenches=disabled && meson install -C build-release": CLEAN_ROOT,
    "python3 tests/install/clean_root.py": "takes minutes, as root: is a test of its own",
    "python3 tests/install/crate.py . 2": "takes minutes, and downloads: is a test of its own",
    "python3 capi/rust/packaging/package.py FOLDER && cd FOLDER && cargo package --workspace":
        "crate.py runs it",
    "CC=clang CXX=clang++ meson setup build-fuzz -Dfuzz=enabled -Db_sanitize=address,undefined"
    " && ninja -C build-fuzz fuzzers": "compiles for minutes: .ci/test does it",
    "pip install .": "compiles for minutes: tests/python/wheel.py makes a wheel of what is built",
    "MORELLO_LIBRARY=libmorello.so pip install .": "the test of the Python package does it with a path",
    "meson test -C build python --print-errorlogs": "is a test of its own",
    "meson test -C build onnx --print-errorlogs": "is a test of its own",
    "pip install --no-deps --prefix PREFIX mkl onednn-cpu-gomp onednn-devel-cpu-gomp": "downloads 200 MB",
    "meson setup build -Dpeer_prefixes=PREFIX": "wants what the command before it installs",
    "python3 -m venv v && v/bin/pip install numpy onnxruntime onnx jax scipy": "downloads 300 MB",
    "v/bin/python bench/graphs/compare.py --library build/capi/libmorello.so.0"
    " --onednn build/bench/peers/graph-onednn.so": "wants what the command before it installs",
    "v/bin/python bench/graphs/nodes.py build/morello --effort quick": "wants what an earlier command installs",
    "python3 -m venv v && v/bin/pip install . onnx onnxruntime": "compiles for minutes, and downloads 50 MB",
    "v/bin/python bench/graphs/models.py --rounds 9": "wants what the command before it installs",
    "MORELLO_TOOLS=map perf record ./program && perf report": RECORDS,
    "MORELLO_TOOLS=jitdump perf record -k mono ./program": RECORDS,
    "perf inject --jit -i perf.data -o perf.jit.data && perf report -i perf.jit.data": RECORDS,
    "build-fuzz/tests/fuzz/libfuzzer-table NEW_INPUTS tests/fuzz/corpus/table":
        "runs until it is stopped: .ci/test does it",
}
# The same with less work, or with a log that is not that of the test run which this one is part of.
CHANGED = {
    "meson test -C build spec --print-errorlogs": "meson test -C build support --print-errorlogs --logbase commands",
    "meson test -C build --suite lint": "meson test -C build --suite lint --logbase commands",
    "meson test -C build golden --print-errorlogs":
        "meson test -C build golden --list",
    "build/tests/golden/morello-golden tests/golden --bless":
        "mkdir few && head -n 12 tests/golden/specs.txt > few/specs.txt"
        " && build/tests/golden/morello-golden few --bless && build/tests/golden/morello-golden few",
    "MORELLO_TEST_ROUNDS=16 build/tests/hostile/morello-hostile":
        "MORELLO_TEST_ROUNDS=0.1 build/tests/hostile/morello-hostile",
    "build/tests/conversions/morello-conversions --all": "build/tests/conversions/morello-conversions",
    "build/tests/functions/morello-functions --all": "build/tests/functions/morello-functions",
    "python3 tests/mutants/mutants.py --seed 1 --count 20":
        "python3 tests/mutants/mutants.py --seed 1 --count 20 --list",
    "build/tests/oom/morello-oom --all": "build/tests/oom/morello-oom --scenario 'bad morello_context_options'",
    "MORELLO_TEST_ROUNDS=50 build/tests/morello-unit --test-case='random Specs of real sizes*'":
        "MORELLO_TEST_ROUNDS=0.05 build/tests/morello-unit --test-case='random Specs of real sizes*'",
    "morello precompute 'matmul f32[<=512,<=512] f32[<=512,<=512]' --out t.mtab":
        "morello precompute 'matmul f32[<=24,<=24] f32[<=24,<=24]' --out t.mtab",
    "morello precompute - --target avx2 --out gemma.mtab < bench/problems/models/gemma-2b.txt":
        "echo 'matmul bf16[<=8,16] bf16[16,16]{0,1}' | morello precompute - --target avx2 --out gemma.mtab",
    "build/bench/peers/bench-peers bench/problems/bf16.txt bench/problems/int8.txt --minutes 20 --csv peers.csv"
    " --svg peers.svg":
        "build/bench/peers/bench-peers bench/problems/matmul.txt --filter 'f32[64,64] f32[64,64]' --minutes 0.02"
        " --repetitions 1 --csv peers.csv --svg peers.svg",
    "morello synth --json - < bench/problems/small.txt":
        "head -n 12 bench/problems/small.txt | morello synth --json -",
    "MORELLO_LIB_DIR=build cargo test --release --manifest-path capi/rust/Cargo.toml":
        "MORELLO_LIB_DIR=build cargo check --release --manifest-path capi/rust/Cargo.toml",
    "build/bench/bench-functions --rounds 101": "build/bench/bench-functions --rounds 1 --sizes 4096",
    "build/bench/bench-search bench/problems/search.txt":
        "build/bench/bench-search bench/problems/search.txt --repetitions 1 --time-budget 0.01",
    "build/bench/bench-effort --seed 1 --count 100":
        "build/bench/bench-effort --seed 1 --count 5 --exact-seconds 1",
    "build/bench/bench-table 128": "build/bench/bench-table 8",
}
# What stands for something of the reader's.
PLACEHOLDERS = {
    r"--output FILE\.svg": "--output t.svg",
    r"--output FILE\b": "--output merged.mtab",
    r"FILE\.\.\.": "t.mtab",
    r"\bFILES\b": "capi/examples/matmul.c",
    r"\bFILE\b": "t.mtab",
}
FILES = {"problems.txt": "matmul f32[16,16] f32[16,16] -> f32[16,16]\n"}


def copy_of(source, build, folder):
    def left_out(where, names):
        top = pathlib.Path(where) == source
        return [name for name in names if name == "__pycache__" or (top and name.startswith((".git", "build"))) or
                (name == "target" and "rust" in where)]
    shutil.copytree(source, folder, ignore=left_out)
    (folder / "build").symlink_to(build)
    (build / "t.mtab").unlink(missing_ok=True)  # of an earlier run: perhaps of another cost model, which is refused
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for example in (source / "capi/examples").glob("*.c"):
        shutil.copy(example, folder)


def environments(meson, build, installed):
    """(as it is, with what is installed)"""
    plain = {name: value for name, value in os.environ.items()
             if name not in ("CARGO_TARGET_DIR", "RUSTFLAGS", "MORELLO_LIB_DIR", "MORELLO_LINK")
             and not name.startswith("MESON_")}
    subprocess.run([*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", installed], check=True)
    pc = next(installed.rglob("morello.pc"))
    prefix = pc.parents[2]
    plain["PATH"] = f"{prefix}/bin{os.pathsep}{plain['PATH']}"
    return plain, dict(plain, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(installed),
                       LD_LIBRARY_PATH=str(pc.parents[1]))


def missing(text):
    """Programs that a command needs and that are not here; the documents name them as optional."""
    names = [name for name in ("cargo", "clang-format", "pkg-config", "clang++") if name in text]
    return [name for name in names if shutil.which(name) is None]


def as_run(command, used):
    """What to run for it, or nothing, and why."""
    text = command.text
    if text in NOT_RUN:
        used.add(text)
        return None, NOT_RUN[text]
    if text in CHANGED:
        used.add(text)
        text = CHANGED[text]
    elif re.fullmatch(r"morello( [a-z]+){1,2}", text):
        text += " --help"  # the name of a subcommand
    for pattern, value in PLACEHOLDERS.items():
        if re.search(pattern, text):
            used.add(pattern)
            text = re.sub(pattern, value, text)
    if lacks := missing(text):
        return None, f"{', '.join(lacks)} is not installed"
    return text, ""


def main():
    source, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    failures = documented.not_marked(source)
    used, ran = set(), 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder, "morello")
        copy_of(source, build, work)
        plain, with_installed = environments(sys.argv[3:], build, pathlib.Path(folder, "installed"))
        all_commands = documented.commands(source)
        if not all_commands:
            failures.append("the documents have no commands: documented.py does not find them")
        for key, group in itertools.groupby(enumerate(all_commands), lambda x: (
                x[1].page, x[1].block or -x[0])):
            script = "set -e\n"
            for _, command in group:
                text, reason = as_run(command, used)
                where = f"{command.page}:{command.line}: {command.text}"
                if text is None:
                    print(f"not run: {where}: {reason}", flush=True)
                else:
                    script += f"echo '+ {where.replace(chr(39), '')}' >&2\n{text}\n"
                    ran += 1
            start = time.monotonic()
            try:
                done = subprocess.run(["sh", "-c", script], cwd=work, stdin=subprocess.DEVNULL, text=True,
                                      env=with_installed if "pkg-config" in script else plain, timeout=TIMEOUT,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                status, output = done.returncode, done.stdout
            except subprocess.TimeoutExpired as error:
                status, output = "timeout", (error.stdout or b"").decode(errors="replace")
            seconds = time.monotonic() - start
            print("".join(line for line in output.splitlines(True) if line.startswith("+ ")), end="", flush=True)
            if seconds > SLOW:
                print(f"  {seconds:.0f} s", flush=True)
            if status != 0:
                failures.append(f"{key[0]}: exit {status}")
                print(output, flush=True)
    for name in [*NOT_RUN, *CHANGED, *PLACEHOLDERS]:
        if name not in used:
            failures.append(f"`{name}` is listed in commands.py, but no document has it")
    for failure in failures:
        print("FAILED:", failure)
    print(f"{ran} commands run, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

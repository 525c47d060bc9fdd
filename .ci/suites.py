#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and tests every configuration from the top of the tree, and counts.

A unit suite counts as many tests as it has test cases, any other Meson test as one, and so does each
build: it passes if it ends without a warning.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

STEP_SECONDS = 900  # a step that takes longer hangs
DEMO_SPECS = ["matmul f32[64,768] f32[768,3072] -> f32[64,3072]",
              "matmul f32[17,31] f32[31,47] -> f32[17,47]"]
FUZZ_SECONDS = 60
FUZZ_TARGETS = ["spec", "table"]
passed = 0
failures = []
START = time.monotonic()


def say(text):
    print(f"\n[{time.monotonic() - START:4.0f} s] {text}", flush=True)


def count(name, good, number=1):
    global passed
    if good:
        passed += number
    else:
        failures.append(name)
        print(f"FAILED: {name}", flush=True)


def run(command, **options):
    """(exit status, output); the output is shown as it comes."""
    print("+", " ".join(map(str, command)), flush=True)
    lines = []
    with subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                          start_new_session=True, **options) as process:
        timer = threading.Timer(STEP_SECONDS, os.killpg, [process.pid, signal.SIGKILL])
        timer.start()
        for line in process.stdout:
            lines.append(line)
            if not re.match(r"\[\d+/\d+\] (Compiling|Linking|Generating)", line):
                print(line, end="", flush=True)
        timer.cancel()
    return process.returncode, "".join(lines)


def count_meson_tests(configuration, folder):
    """Reads what `meson test` left behind."""
    log = pathlib.Path(folder, "meson-logs", "testlog.json")
    for line in log.read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        name = f"{configuration}: {test['name']}"
        output = test.get("stdout", "")
        cases = re.search(r"test cases: +\d+ \| +(\d+) passed \| +(\d+) failed", output)
        if test["result"] == "SKIP":
            print(f"skipped: {name}: {output.strip().splitlines()[-1:]}")
        elif cases and test["result"] in ("OK", "FAIL"):
            count(name, True, int(cases.group(1)))
            for case in range(int(cases.group(2))):
                count(f"{name} (test case {case + 1})", False)
            if test["result"] == "FAIL" and cases.group(2) == "0":
                count(name, False)
        else:
            count(name, test["result"] in ("OK", "EXPECTEDFAIL"))


def configuration(name, folder, setup_args, test_args=(), environment=None):
    """Configures, builds and tests; None for `test_args`: no tests."""
    say(name)
    environment = dict(os.environ, **(environment or {}))
    if not pathlib.Path(folder, "build.ninja").is_file():
        status, _ = run(["meson", "setup", folder, *setup_args], env=environment)
        if status != 0:
            count(f"{name}: configure", False)
            return False
    status, output = run(["ninja", "-C", folder], env=environment)
    warned = re.search(r"\bwarning: ", output) is not None
    count(f"{name}: build" + (" (warnings)" if warned else ""), status == 0 and not warned)
    if status != 0:
        return False
    if test_args is not None:
        log = pathlib.Path(folder, "meson-logs", "testlog.json")
        log.unlink(missing_ok=True)
        run(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *test_args],
            env=environment)
        if log.is_file():
            count_meson_tests(name, folder)
        else:
            count(f"{name}: meson test", False)
    return True


def has_fuzzer():
    """Is there a clang++ with libFuzzer?"""
    if shutil.which("clang++") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "empty.cc")
        source.write_text('extern "C" int LLVMFuzzerTestOneInput(const char *, unsigned long) '
                          "{ return 0; }\n", encoding="utf-8")
        linked = subprocess.run(["clang++", "-fsanitize=fuzzer,address", source, "-o", source.with_suffix("")],
                                capture_output=True, check=False)
    return linked.returncode == 0


def fuzz():
    """Each target for a minute, all at once. What is found lies in the build folder."""
    folder = pathlib.Path("build-fuzz")
    say(f"fuzzing, {FUZZ_SECONDS} s")
    if not has_fuzzer():
        print("skipped: fuzzing, as there is no clang++ with libFuzzer (Debian: clang, libclang-rt-dev)")
        return
    environment = dict(os.environ, CC="clang", CXX="clang++")
    if not (folder / "build.ninja").is_file():
        status, _ = run(["meson", "setup", folder, "-Dfuzz=enabled", "-Db_sanitize=address,undefined",
                         "-Doptimization=1", "-Db_ndebug=false", "-Db_lundef=false", "-Dcpp_args=-g1",
                         "-Dmimalloc=disabled", "-Dcli=disabled", "-Dbenches=disabled"], env=environment)
        if status != 0:
            count("fuzz: configure", False)
            return
    status, _ = run(["ninja", "-C", folder, "fuzzers"], env=environment)
    count("fuzz: build", status == 0)
    if status != 0:
        return
    running = {}
    for target in FUZZ_TARGETS:
        new = folder / f"new-{target}"
        new.mkdir(exist_ok=True)
        command = [folder / "tests/fuzz" / f"libfuzzer-{target}", f"-max_total_time={FUZZ_SECONDS}",
                   "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={folder}/{target}-",
                   new, pathlib.Path("tests/fuzz/corpus", target)]
        print("+", " ".join(map(str, command)), flush=True)
        log = open(folder / f"{target}.log", "w+", encoding="utf-8", errors="replace")
        running[target] = log, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env=dict(os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"))
    for target, (log, process) in running.items():
        try:
            status = process.wait(timeout=STEP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            status = "hangs"
        log.seek(0)
        lines = log.read().splitlines()
        log.close()
        print("\n".join(lines[-30:] if status != 0 else lines[-1:]))
        count(f"fuzz {target} ({status})", status == 0)


def demo():
    say("the command line tool")
    for spec in DEMO_SPECS:
        status, _ = run(["build/morello", "bench", "--show", spec])
        count(f"morello bench {spec}", status == 0)


def rust():
    say("Rust crates")
    if shutil.which("cargo") is None:
        print("skipped: cargo is not installed and could not be")
        return
    environment = dict(os.environ, MORELLO_LIB_DIR=str(pathlib.Path("build/capi").resolve()))
    status, output = run(["cargo", "test", "--workspace", "--offline", "--color", "never"], cwd="capi/rust",
                         env=environment)
    results = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, re.M)
    count("cargo", True, sum(int(good) for good, _ in results))
    for _ in range(sum(int(bad) for _, bad in results)):
        count("a Rust test", False)
    if status != 0 and not any(bad != "0" for _, bad in results):
        count("cargo test", False)


def main():
    if configuration("g++, release", "build", []):
        demo()
        rust()
    configuration("g++, without mimalloc", "build-plain",
                  ["-Dmimalloc=disabled", "-Dcli=disabled", "-Dbenches=disabled"],
                  ["--suite", "unit", "--suite", "abi"])
    # Line numbers only and little optimization, as the compiler takes long; a tenth of the random
    # kernels, as they run slowly; assertions.
    configuration("g++, address and undefined-behaviour sanitizers", "build-asan",
                  ["-Db_sanitize=address,undefined", "-Doptimization=1", "-Db_ndebug=false",
                   "-Dcpp_args=-g1", "-Dmimalloc=disabled", "-Dcli=disabled", "-Dbenches=disabled"],
                  ["--no-suite", "lint", "--timeout-multiplier", "4"],
                  {"MORELLO_TEST_ROUNDS": "0.1",
                   "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"})
    if shutil.which("clang++"):
        configuration("clang++, build only", "build-clang", ["-Doptimization=0", "-Db_ndebug=false"], None,
                      {"CC": "clang", "CXX": "clang++"})
    else:
        print("skipped: the clang++ build, as clang++ is not installed")
    fuzz()
    say("done")
    for name in failures:
        print(f"FAILED: {name}")
    print(f"{passed} passed, {len(failures)} failed", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

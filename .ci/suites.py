#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and tests every configuration from the top of the tree, and counts.

A unit suite counts as many tests as it has test cases, any other Meson test as one, and so does each
build: it passes if it ends without a warning. Builds use all processors, one after the other; then what
was built is tested, two jobs at a time, each with half of the processors. In the end come what was
skipped, and why, and the counts.
"""
import concurrent.futures
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

STEP_SECONDS = 1800  # a step that takes longer hangs
HALF = max(1, (os.cpu_count() or 2) // 2)
DEMO_SPECS = ["matmul f32[64,768] f32[768,3072] -> f32[64,3072]",
              "matmul f32[17,31] f32[31,47] -> f32[17,47]"]
FUZZ_SECONDS = 12
FUZZ_TARGETS = ["spec", "stored", "table"]
# What compares many searches or many kernels with each other takes minutes in sanitizers' builds, and runs no
# code that other tests do not run.
COMPARISONS = ["*brute-force*", "legal decisions that are not the cheapest*", "*however late it was stopped",
                   "restrictions of the actions*", "*what their restrictions cost", "*what it costs that*",
                   "panels and wide sums*", "*what few tiles cost*", "every action is worth*", "no program within the limits*",
                   "random Specs of real sizes*", "*microkernel twice as fast*", "*costs less than it declares*",
                   "the added microkernels*", "*mixed element types: no pair*", "bounds that were above*", "products of batches: no pair*",
                   "sums of products of integers are exact*", "integers and elementwise chains have the same bits*",
                   "several outputs: random graphs", "element types: random trees", "predicted costs are near those*",
                   "chosen pieces cost little more*", "calls of short routines*", "time per decoded byte*",
                   "look-ups take no longer*", "boxes of points that never agree*", "odd sizes: what tiles*",
                   "pools whose windows*", "pools with padding*", "convolutions with padding*", "convolutions along rows*",
                   "convolutions along short rows*", "a kernel with a run-time size needs no search*",
                   "a precomputed table has the program*",
                   "tables of quick searches answer those*",
                   "products of groups with scales*", "element types: every microkernel",
                   "what blocks leave stays*", "images of narrow channels*", "more effort never finds less*",
                   "long rows are cut into blocks*", "one row: a free layout*", "depthwise convolutions in lanes*",
                   "rows by blocks: bounds*", "products of narrow types: no pair*", "tile registers: no pair*",
                   "panels that stream from L2*", "far tiles that are read as they are*", "lines of operands that L2*",
                   "short rows that are read in turns*", "copies of far tiles*", "what L2 holds*",
                   "what pieces do alike*", "convolutions with much padding*", "a graph of several products costs*", "windows over two axes*", "deep products of many rows*"]
SANITIZED = {"MORELLO_TEST_ROUNDS": "0.03", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
             "MORELLO_TEST_EXCLUDE": ",".join(COMPARISONS)}
passed = 0
failures = []
skipped = {}  # reason: names
jobs = []  # (title, function), for when all is built
START = time.monotonic()
lock = threading.RLock()
job = threading.local()  # what a job prints comes when it has ended


def show(text, end="\n"):
    lines = getattr(job, "lines", None)
    if lines is None:
        print(text, end=end, flush=True)
    else:
        lines.append(text + end)


def say(text):
    show(f"\n[{time.monotonic() - START:4.0f} s] {text}")


def count(name, good, number=1):
    global passed
    with lock:
        if good:
            passed += number
        else:
            failures.append(name)
            show(f"FAILED: {name}")


def skip(name, reason):
    with lock:
        skipped.setdefault(reason, []).append(name)
    show(f"skipped: {name}: {reason}")


def later(title, function, *arguments):
    jobs.append((title, lambda: function(*arguments)))


def do_jobs():
    """Two at a time, those that were added first begin first."""
    def do(title, function):
        job.lines = []
        say(title)
        try:
            function()
        except Exception as error:  # pylint: disable=broad-except
            count(f"{title}: {error!r}", False)
        say(f"{title}: ended")
        with lock:
            print("".join(job.lines), end="", flush=True)
        job.lines = None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(do, *each) for each in jobs]:
            future.result()


def run(command, **options):
    """(exit status, output); the output is shown as it comes."""
    show("+ " + " ".join(map(str, command)))
    lines = []
    with subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                          start_new_session=True, **options) as process:
        timer = threading.Timer(STEP_SECONDS, os.killpg, [process.pid, signal.SIGKILL])
        timer.start()
        for line in process.stdout:
            lines.append(line)
            if not re.match(r"\[\d+/\d+\] (Compiling|Linking|Generating)", line):
                show(line, end="")
        timer.cancel()
    return process.returncode, "".join(lines)


def count_meson_tests(name_of_configuration, log):
    """Reads what `meson test` left behind."""
    for line in log.read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        name = f"{name_of_configuration}: {test['name']}"
        output = test.get("stdout", "") + test.get("stderr", "")
        cases = re.search(r"test cases: +\d+ \| +(\d+) passed \| +(\d+) failed", output)
        reasons = re.findall(r"skipped: (.*)", output)
        for reason in dict.fromkeys(reasons):
            skip(name, reason.strip())
        if test["result"] == "SKIP":
            if not reasons:
                skip(name, "it does not say why")
        elif cases and test["result"] in ("OK", "FAIL"):
            count(name, True, int(cases.group(1)))
            for case in range(int(cases.group(2))):
                count(f"{name} (test case {case + 1})", False)
            if test["result"] == "FAIL" and cases.group(2) == "0":
                count(name, False)
        else:
            count(name, test["result"] in ("OK", "EXPECTEDFAIL"))


def meson_test(name, folder, test_args, environment, logbase="testlog"):
    log = pathlib.Path(folder, "meson-logs", f"{logbase}.json")
    log.unlink(missing_ok=True)
    run(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--num-processes", HALF,
         "--logbase", logbase, *test_args], env=environment)
    if log.is_file():
        count_meson_tests(name, log)
    else:
        count(f"{name}: meson test", False)


def configuration(name, folder, setup_args, test_args=(), environment=None, targets=()):
    """Configures and builds now, tests later; None for `test_args`: no tests."""
    say(name)
    environment = dict(os.environ, **(environment or {}))
    if not pathlib.Path(folder, "build.ninja").is_file():
        status, _ = run(["meson", "setup", folder, *setup_args], env=environment)
        if status != 0:
            count(f"{name}: configure", False)
            return False
    status, output = run(["ninja", "-C", folder, *targets], env=environment)
    warned = re.search(r"\bwarning: ", output) is not None
    count(f"{name}: build" + (" (warnings)" if warned else ""), status == 0 and not warned)
    if status != 0:
        return False
    if test_args is not None:
        later(f"{name}: tests", meson_test, name, folder, test_args, environment)
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


def fuzz(folder):
    """Each target, one job each. What is found lies in the build folder."""
    for target in FUZZ_TARGETS:
        later(f"fuzzing {target}, {FUZZ_SECONDS} s", fuzz_one, pathlib.Path(folder), target)


def fuzz_one(folder, target):
    new = folder / f"new-{target}"
    new.mkdir(exist_ok=True)
    status, _ = run([folder / "tests/fuzz" / f"libfuzzer-{target}", f"-max_total_time={FUZZ_SECONDS}",
                     "-timeout=10", "-rss_limit_mb=2048", "-verbosity=0",
                     f"-artifact_prefix={folder}/{target}-", new,
                     pathlib.Path("tests/fuzz/corpus", target)],
                    env=dict(os.environ, **SANITIZED))
    count(f"fuzz {target} ({status})", status == 0)


def demo():
    for spec in DEMO_SPECS:
        status, _ = run(["build/morello", "bench", "--show", spec])
        count(f"morello bench {spec}", status == 0)


def rust():
    if shutil.which("cargo") is None:
        skip("Rust crates", "cargo is not installed (Debian: cargo)")
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
    # Sanitizers: line numbers only and little optimization, as the compiler takes long; few of the random
    # kernels, as they run slowly; assertions. With clang++ it is the fuzzers' build as well. What is the same in
    # every build, such as the tool and golden programs, the release has.
    sanitized = ["-Doptimization=1", "-Db_ndebug=false", "-Db_lundef=false", "-Dbenches=disabled", "-Dcli=disabled"]
    # Without checks that an object is as large as what is read of it: AddressSanitizer sees what is not, and
    # compilers take a sixth less.
    memory = ["-Dcpp_args=-g1 -fno-sanitize=object-size -fno-sanitize-recover=all", "-Db_sanitize=address,undefined"]
    asan_tests = ["--suite", "memory", "--timeout-multiplier", "6"]
    fuzzers = has_fuzzer()
    if fuzzers:
        fuzzers = configuration("clang++, address and undefined-behaviour sanitizers", "build-clang",
                                [*sanitized, *memory, "-Dfuzz=enabled"],
                                asan_tests, dict(SANITIZED, CC="clang", CXX="clang++"), ["memory-tests", "fuzzers"])
    else:
        skip("clang++, fuzzing", "there is no clang++ with libFuzzer (Debian: clang, libclang-rt-dev)")
        configuration("g++, address and undefined-behaviour sanitizers", "build-asan",
                      [*sanitized, *memory], asan_tests, SANITIZED, ["memory-tests"])
    # Peers that happen to be here take as long to compile as half of the library.
    released = configuration("g++, release", "build", ["-Dpeers=false"],
                             ["--timeout-multiplier", "2", "--no-suite", "install", "--no-suite", "python"])
    # clang++ leaves out checks of what no other thread can reach: a third of the time of what g++ makes.
    compiler, environment = ("clang++", {"CC": "clang", "CXX": "clang++"}) if fuzzers else ("g++", {})
    configuration(f"{compiler}, thread sanitizer", "build-tsan",
                  [*sanitized, "-Dcpp_args=-g1", "-Db_sanitize=thread"],
                  ["--suite", "threads", "--timeout-multiplier", "6"], dict(SANITIZED, **environment),
                  ["tests/morello-threads"])
    # What is short comes last, so that neither half of the processors waits long for the other.
    if released:
        for suite in ["install", "python"]:
            later(f"g++, release: {suite}", meson_test, "g++, release", "build",
                  ["--timeout-multiplier", "2", "--suite", suite], dict(os.environ), suite)
        later("the command line tool", demo)
        later("Rust crates", rust)
    if fuzzers:
        fuzz("build-clang")
    skip("the way in on a Debian made from nothing", "minutes, and root: python3 tests/install/clean_root.py")
    do_jobs()
    say("done")
    for reason, names in sorted(skipped.items()):
        print(f"skipped: {reason} ({'; '.join(dict.fromkeys(names))})")
    for name in failures:
        print(f"FAILED: {name}")
    print(f"{passed} passed, {len(failures)} failed", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

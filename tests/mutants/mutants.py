#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice? Changes one place of src at random, builds, runs the suites, and reports what survived.

    python3 tests/mutants/mutants.py --seed 1 --count 9

Each mutant is drawn from its seed and layer alone, so a survivor is made again by `--seed S --only N`. The work
is done in a copy of the last commit under --folder, whose build is used again. A mutant that does not compile is
no mutant: the next one is drawn. Equivalent ones (no program could tell) are for the reader to judge.
Exit status: 0 if at most a tenth survived.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

LAYERS = ["support", "target", "runtime", "spec", "impl", "cost", "actions", "table", "search", "precompute",
          "codegen", "compiler", "capi"]
SUITES = ["unit", "golden", "kernel"]
TARGETS = ["tests/morello-unit", "tests/hostile/morello-hostile", "tests/golden/morello-golden",
           "tests/kernel/morello-kernel", "tests/runtime/run-only", "tests/table/table-format",
           "tests/fuzz/fuzz-spec", "tests/fuzz/fuzz-table"]
OPERATORS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
             " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " && ": " || ", " || ": " && ",
             " += ": " -= ", " *= ": " /= ", "std::min": "std::max", "std::max": "std::min",
             "++;": "--;", " ? ": " ? !", "true": "false", "false": "true"}
SECONDS = 900  # a mutant that takes longer hangs, and is found by that


def places(line):
    """All (what, changed line) of one line."""
    code = line.split("//")[0].rstrip()
    if not code.strip() or code.lstrip().startswith(("#", "static_assert", "template", "using", "}")):
        return
    for old, new in OPERATORS.items():
        at = code.find(old)
        while at >= 0:
            if not (old == " < " and "template" in code):
                yield f"{old.strip()} to {new.strip()}", code[:at] + new + code[at + len(old):]
            at = code.find(old, at + 1)
    for number in re.finditer(r"(?<![\w.])(\d+)(?![\w.\"'])", code):
        value = int(number.group(1)) + 1
        yield f"{number.group(1)} to {value}", code[:number.start()] + str(value) + code[number.end():]
    condition = re.match(r"(\s*(?:\} else )?if \()(.*)(\)(?: \{| [^;]+;)?)$", code)
    if condition and condition.group(2).count("(") == condition.group(2).count(")") and ";" not in condition.group(2):
        yield "condition negated", f"{condition.group(1)}!({condition.group(2)}){condition.group(3)}"
    if re.match(r"\s+[\w.>\-\[\]]+(\(.*\)| [-+*/|&]?= .*);$", code) and not re.match(r"\s+(return|throw|break)", code):
        yield "statement left out", ""


def draw(source, layer, rng):
    """(path, line number, what, old line, new line) of one mutant."""
    files = sorted(path for path in (source / "src" / layer).rglob("*") if path.suffix in (".cc", ".hh"))
    weights = [len(path.read_text().splitlines()) for path in files]
    while True:
        path = rng.choices(files, weights)[0]
        lines = path.read_text().splitlines()
        number = rng.randrange(len(lines))
        found = list(places(lines[number]))
        if found:
            what, new = rng.choice(found)
            return path, number, what, lines[number], new


def run(command, folder, log):
    """Exit status; what hangs is killed and counts as failed."""
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                          env=dict(os.environ, MORELLO_TEST_ROUNDS="0.2"), start_new_session=True) as process:
        try:
            return process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "hangs"


def prepare(folder):
    """A copy of the last commit with a build that passes."""
    top = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=True).stdout.strip()
    source = folder / "source"
    if not source.is_dir():
        subprocess.run(["git", "clone", "-q", top, source], check=True)
    else:
        subprocess.run(["git", "fetch", "-q"], cwd=source, check=True)
    subprocess.run(["git", "checkout", "-qf", "origin/HEAD"], cwd=source, check=True)
    build = source / "build"
    if not (build / "build.ninja").is_file():
        subprocess.run(["meson", "setup", build, "-Dcli=disabled", "-Dbenches=disabled", "-Db_ndebug=false",
                        "-Doptimization=1"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    return source, build


def survives(build, log):
    """None if it does not compile, else whether all suites pass."""
    if run(["ninja", *TARGETS], build, log) != 0:
        return None
    suites = [word for suite in SUITES for word in ("--suite", suite)]
    return run(["meson", "test", "--no-rebuild", "--timeout-multiplier", "2", *suites], build, log) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=11, help="how many, dealt out to the layers in turn")
    parser.add_argument("--only", type=int, help="this one of them")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build-mutants"))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    source, build = prepare(folder)
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        if not survives(build, log):
            sys.exit(f"the suites do not pass without a mutant: see {log.name}")
        survivors, made = [], 0
        for n in range(arguments.count) if arguments.only is None else [arguments.only]:
            rng = random.Random(f"{arguments.seed}.{n}")
            survived = None
            while survived is None:
                path, number, what, old, new = draw(source, LAYERS[n % len(LAYERS)], rng)
                text = path.read_text()
                lines = text.splitlines()
                lines[number] = new
                path.write_text("\n".join(lines) + "\n")
                survived = survives(build, log)
                path.write_text(text)
            made += 1
            line = f"{n}: {path.relative_to(source)}:{number + 1}: {what}: {old.strip()}"
            print(("SURVIVED " if survived else "killed   ") + line, flush=True)
            if survived:
                survivors.append(line)
    print(f"{made} mutants from seed {arguments.seed}, {made - len(survivors)} killed, {len(survivors)} survived")
    sys.exit(0 if 10 * len(survivors) <= made else 1)


if __name__ == "__main__":
    main()

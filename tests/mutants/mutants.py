#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice? Changes one place of src at random, builds, runs the tests, and reports what survived.

    nice python3 tests/mutants/mutants.py --seed 1 --count 20

Places are drawn by lines over all of src, or over --layers. A mutant follows from the commit, the seed and its
number alone, so that a survivor is made again by `--seed S --only N`. The work is done in a copy of the last commit
under --folder, whose build is used again. What does not compile is no mutant, and the next one is drawn.

The tests of a mutant are those of the layer first, then the quickest, up to the first that fails. How long each
takes is measured once for a commit; a mutant that takes many times as long hangs, and is found by that.

Left out is what no test could notice: assertions, capacities, comments, text, and what only the compiler reads.
Other mutants that are equivalent are for the reader to judge. Exit status: 0 if at most a tenth survived.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

LAYERS = ["support", "target", "runtime", "spec", "impl", "cost", "actions", "table", "search", "precompute",
          "codegen", "compiler", "capi"]
SUITES = {"unit", "golden", "kernel"}
ROUNDS = "0.2"  # of the random tests
LIBRARY = "src/libmorello-core.a"
GIGABYTE = 1 << 30
OPERATORS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
             (" + ", " - "), (" - ", " + "), (" * ", " / "), (" / ", " * "), (" % ", " / "), (" << ", " >> "),
             (" && ", " || "), (" || ", " && "), (" | ", " & "), (" & ", " | "), (" += ", " -= "), (" -= ", " += "),
             (" *= ", " /= "), (" /= ", " *= "), (" |= ", " &= "), (" &= ", " |= "), ("++;", "--;"), ("++)", "--)"),
             ("std::min", "std::max"), ("std::max", "std::min"), ("continue;", "break;"), ("break;", "continue;")]
WORDS = [("true", "false"), ("false", "true")]
UNNOTICED = re.compile(r"\s*(#|static_assert|assert\(|assert_canonical\(|using |friend |template|namespace |extern |class )"
                       r"|\s*(public|private):|.*(\breserve\(|shrink_to_fit\(|__builtin_expect|alignas|\boperator(<<|&&|\|\|))")


def hidden(text):
    """The same text with comments and the insides of literals blanked, so that places stay where they are."""
    blank = lambda match: re.sub(r"[^\n]", "~", match.group())
    hide = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', flags=re.S)
    return hide.sub(blank, text)


def mutable_lines(text):
    """(number, code) of the lines that may be changed. Statements that nobody notices go up to their semicolon."""
    inside = False
    for number, code in enumerate(hidden(text).split("\n")):
        if inside or UNNOTICED.match(code):
            first = code.lstrip()
            inside = inside or first.startswith(("assert", "static_assert", "using ", "friend "))
            inside = inside and ";" not in code
        elif code.strip("~ }"):
            yield number, code


def places(old, code):
    """All (what, changed line) of one line; `code` is what of it is no comment and no literal."""
    for pairs, edge in ((OPERATORS, ""), (WORDS, r"\b")):
        for word, other in pairs:
            for at in re.finditer(edge + re.escape(word) + edge, code):
                if word == " + " and "~" in code[at.start() - 1] + code[at.end():at.end() + 1]:
                    continue  # of text
                yield f"{word.strip()} to {other.strip()}", old[:at.start()] + other + old[at.end():]
    for at in re.finditer(r"(?<![\w.~'])\d+(?![\w.~'])", code):
        more = str(int(at.group()) + 1)
        yield f"{at.group()} to {more}", old[:at.start()] + more + old[at.end():]
    condition = re.match(r"(\s*(?:\} else )?(?:if|while) \()([^;]*)(\)(?: \{| [^;()]+(?:\(.*\))?;)?)\s*~*$", code)
    if condition and balanced(condition.group(2)):
        begin, end = condition.span(2)
        yield "condition negated", f"{old[:begin]}!({old[begin:end]}){old[end:]}"
    if re.match(r"\s+[\w.>\-\[\]]+(\(.*\)| [-+*/|&]?= .*);\s*~*$", code) and balanced(code):
        if not re.match(r"\s+(return|throw|break|continue)\b", code):
            yield "statement left out", ""


def balanced(code):
    depth = 0
    for letter in code:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def lines_of(source, layers):
    """(path, number, code) of all mutable lines."""
    for layer in layers:
        for path in sorted((source / "src" / layer).rglob("*")):
            if path.suffix in (".cc", ".hh"):
                for number, code in mutable_lines(path.read_text(encoding="utf-8")):
                    yield path, number, code


def draw(lines, rng):
    """(path, line number, what, old line, new line) of one mutant."""
    while True:
        path, number, code = rng.choice(lines)
        old = path.read_text(encoding="utf-8").split("\n")[number]
        found = list(places(old, code))
        if found:
            what, new = rng.choice(found)
            return path, number, what, old, new


def run(command, folder, log, seconds, cpu_seconds=None, environment=None):
    """Exit status; what hangs is killed and counts as failed, and so does what takes too much of anything."""
    def limit():
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
            resource.setrlimit(resource.RLIMIT_AS, (8 * GIGABYTE, 8 * GIGABYTE))
            resource.setrlimit(resource.RLIMIT_FSIZE, (GIGABYTE // 4, GIGABYTE // 4))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    log.write("+ " + " ".join(command) + "\n")
    log.flush()
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **(environment or {})), start_new_session=True,
                          preexec_fn=limit) as process:
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            status = "hangs"
        try:
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
        except ProcessLookupError:
            pass
    return status


class Tests:
    """The copy, its build, and its tests with the times that they take."""

    def __init__(self, folder, jobs, log):
        self.source, self.build, self.log, self.jobs = folder / "source", folder / "source/build", log, jobs
        self.scratch, self.times = folder / "tmp", folder / "times.json"
        self.commit = self.checkout()
        if not (self.build / "build.ninja").is_file():
            subprocess.run(["meson", "setup", self.build, "-Dcli=disabled", "-Dbenches=disabled", "-Db_ndebug=false",
                            "-Doptimization=1", "-Dcpp_args=-D_GLIBCXX_ASSERTIONS"],
                           cwd=self.source, check=True, stdout=subprocess.DEVNULL)
        if not self.compiles(LIBRARY):
            sys.exit(f"the library does not compile: see {log.name}")
        introspected = subprocess.run(["meson", "introspect", "--tests", self.build], check=True, capture_output=True)
        self.tests = [test for test in json.loads(introspected.stdout)
                      if SUITES & {name.split(":")[-1] for name in test["suite"]}]
        self.measure()

    def checkout(self):
        """The last commit."""
        git = lambda *words, where=self.source: subprocess.run(["git", *words], cwd=where, check=True,
                                                               capture_output=True, text=True).stdout.strip()
        top = git("rev-parse", "--show-toplevel", where=None)
        commit = git("rev-parse", "HEAD", where=None)
        if not self.source.is_dir():
            git("clone", "-q", top, str(self.source), where=None)
        git("fetch", "-q", top, commit)
        git("checkout", "-qf", commit)
        return commit

    def compiles(self, *targets):
        return run(["ninja", "-j", str(self.jobs), *targets], self.build, self.log, 3600) == 0

    def passes(self, test, seconds, cpu_seconds):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        words = test["cmd"]
        if os.path.basename(words[0]) in ("morello-unit", "morello-kernel", "morello-hostile"):
            words = [*words, "--abort-after=1"]
        environment = dict(test["env"], MORELLO_TEST_ROUNDS=ROUNDS, TMPDIR=str(self.scratch))
        return run(words, test["workdir"] or self.build, self.log, seconds, cpu_seconds, environment) == 0

    def program(self, test):
        return os.path.relpath(test["cmd"][0], self.build)

    def measure(self):
        """All tests, on the commit as it is."""
        known = json.loads(self.times.read_text(encoding="utf-8")) if self.times.is_file() else {}
        if known.get("commit") == self.commit:
            self.seconds = known["seconds"]
            return
        self.seconds = {}
        for test in self.tests:
            if not self.compiles(self.program(test)):
                sys.exit(f"{test['name']} does not compile: see {self.log.name}")
            begin = time.monotonic()
            if not self.passes(test, 3600, 3600):
                sys.exit(f"{test['name']} does not pass without a mutant: see {self.log.name}")
            self.seconds[test["name"]] = time.monotonic() - begin
        self.times.write_text(json.dumps({"commit": self.commit, "seconds": self.seconds}), encoding="utf-8")

    def killer(self, layer):
        """What notices the mutant that is there now: "" if nothing does, None if it does not compile."""
        if not self.compiles(LIBRARY):
            return None
        for test in sorted(self.tests, key=lambda t: self.seconds[t["name"]] / (8 if t["name"] == layer else 1)):
            if not self.compiles(self.program(test)):
                return f"the compiler, of {self.program(test)}"
            usual = self.seconds[test["name"]]
            if not self.passes(test, int(60 + 10 * usual), int(20 + 4 * usual)):
                return f"test {test['name']}"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--only", type=int, help="this one")
    parser.add_argument("--layers", default=",".join(LAYERS), help="folders of src, with commas")
    parser.add_argument("--jobs", type=int, default=2, help="of the compiler")
    parser.add_argument("--list", action="store_true", help="draws, and builds nothing")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build-mutants"))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(arguments.first, arguments.first + arguments.count)
    if arguments.only is not None:
        numbers = [arguments.only]
    drawn, survived = collections.Counter(), collections.Counter()
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        tests = None if arguments.list else Tests(folder, arguments.jobs, log)
        source = tests.source if tests else pathlib.Path(".").resolve()
        lines = list(lines_of(source, arguments.layers.split(",")))
        for n in numbers:
            rng = random.Random(f"{arguments.seed}.{n}")
            killer = None
            while killer is None:
                path, number, what, old, new = draw(lines, rng)
                where = path.relative_to(source)
                layer = where.parts[1]
                text = path.read_text(encoding="utf-8")
                changed = text.split("\n")
                changed[number] = new
                if tests is None:
                    break
                log.write(f"{n}: {where}:{number + 1}: {what}\n")
                try:
                    path.write_text("\n".join(changed), encoding="utf-8")
                    killer = tests.killer(layer)
                finally:
                    path.write_text(text, encoding="utf-8")
            drawn[layer] += 1
            survived[layer] += killer == ""
            verdict = "" if killer is None else "SURVIVED " if killer == "" else f"killed by {killer}: "
            print(f"{n}: {verdict}{where}:{number + 1}: {what}: {old.strip()}", flush=True)
    made, left = sum(drawn.values()), sum(survived.values())
    if arguments.list:
        return
    for layer in LAYERS:
        if drawn[layer]:
            print(f"{layer:12} {drawn[layer]:3} drawn {survived[layer]:3} survived")
    print(f"{made} mutants of {tests.commit[:12]}, seed {arguments.seed}: {made - left} killed, {left} survived")
    sys.exit(0 if 10 * left <= made else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No write of the morello command is lost silently: outputs.py MORELLO.

Every subcommand that the help names, and every option that names a file to write, with an output
that is full, closed, a pipe that nobody reads, or on a file system without room.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

MORELLO = None
SPEC = "matmul f32[5,7] f32[7,9] -> f32[5,9]"
OTHER = "relu f32[100] -> f32[100]"
# What each subcommand is given, with {table} and {new}, a file that is written. A new subcommand
# needs a line here.
RECIPES = {
    "synth": [SPEC],
    "show": [SPEC, "--plan"],
    "run": [SPEC],
    "bench": [SPEC, "--rounds", "1"],
    "asm": [SPEC],
    "explain": [SPEC, "--rounds", "1"],
    "cpu": [],
    "completion": ["bash"],
    "man": [],
    "emit": [SPEC, "-o", "{new}"],
    "precompute": [SPEC, "--out", "{new}"],
    "table info": ["{table}"],
    "table verify": ["{table}"],
    "table merge": ["{table}", "{table}", "-o", "{new}"],
    "table dump": ["{table}"],
    "table plot": ["{table}"],
}
WITH_FILES = {"run --output", "asm --bytes", "emit --output", "emit --header", "emit --rust", "precompute --out",
              "table merge --output", "table dump --output", "table plot --output", "explain --html", "bench --export"}
ENDINGS = {"bench --export": ".csv"}  # of files whose form is chosen by their name
MEASURED = {"explain --html", "bench --export"}  # never the same twice
LEFT_OUT = set()  # subcommands that say that this build has not what they need
FILES_READ = {"--table", "--input"}
# Runs "$@" with standard output in the folder $0, a file system of one page that is full.
FULL = """
mount -t tmpfs -o size=4k none "$0" || exit 99
dd if=/dev/zero of="$0/full" bs=4k count=1 status=none || exit 99
exec "$@" >"$0/out"
"""


def help_of(command):
    return subprocess.run([MORELLO, *command.split(), "--help"], capture_output=True, text=True,
                          check=True, timeout=60).stdout


def subcommands(prefix=""):
    """Those without subcommands of their own, from the help."""
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_of(prefix), re.M)
    if listed is None:
        return [prefix]
    names = re.findall(r"^  (\w\S*)", listed.group(1), re.M)
    return [leaf for name in names if name not in LEFT_OUT for leaf in subcommands(f"{prefix} {name}".strip())]


def files_written(command):
    """The options of a subcommand that name a file to write."""
    options = re.findall(r"^  (-\S+) +FILE", help_of(command), re.M)
    return [names.split(",")[-1] for names in options if names.split(",")[-1] not in FILES_READ]


def may_mount():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["unshare", "-m", "sh", "-c", FULL, folder, "true"],
                              capture_output=True, check=False) if shutil.which("unshare") else None
    return done is not None and done.returncode == 0


class Outputs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.table = self.folder / "t.mtab"
        self.run_tool(["precompute", OTHER, "--out", self.table])

    def run_tool(self, arguments, exit_codes=(0,), **options):
        command = options.pop("within", []) + [MORELLO, *map(str, arguments)]
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              timeout=240, check=False, **options)
        self.assertIn(done.returncode, exit_codes, f"{arguments}: {done.stderr}")
        return done

    def commands(self):
        """Each subcommand with its arguments, as text and as JSON, and the output's name."""
        for count, command in enumerate(subcommands()):
            self.assertIn(command, RECIPES, "give the new subcommand a recipe in this file")
            for json in [[], ["--json"]] if "--json" in help_of(command) else [[]]:
                new = self.folder / f"new-{count}{len(json)}"
                filled = [a.format(table=self.table, new=new) for a in RECIPES[command]]
                yield command, [*command.split(), *filled, *json], new

    def all_that_print(self):
        for _, arguments, new in self.commands():
            yield arguments
            new.unlink(missing_ok=True)
        yield ["--help"]
        yield ["--version"]
        for command in subcommands():
            yield [*command.split(), "--help"]

    def test_recipes_work(self):
        self.assertEqual(set(subcommands()), set(RECIPES))
        for arguments in self.all_that_print():
            self.assertNotEqual(self.run_tool(arguments).stdout, "", arguments)

    def test_full_device(self):
        for arguments in self.all_that_print():
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = self.run_tool(arguments, [1], stdout=full)
            self.assertIn("cannot write standard output: No space left", done.stderr, arguments)

    def test_closed_output(self):
        for arguments in self.all_that_print():
            done = self.run_tool(arguments, [1], stdout=None,
                                 within=["sh", "-c", 'exec "$@" >&-', "sh"])
            self.assertIn("cannot write standard output: Bad file", done.stderr, arguments)

    def test_closed_pipe(self):
        for arguments in self.all_that_print():
            reader, writer = os.pipe()
            os.close(reader)
            done = self.run_tool(arguments, [1], stdout=writer)
            os.close(writer)
            self.assertIn("cannot write standard output: Broken pipe", done.stderr, arguments)

    def test_nobody_to_tell(self):
        for arguments in self.all_that_print():
            self.run_tool(arguments, [1], stdout=None,
                          within=["sh", "-c", 'exec "$@" >/dev/full 2>&-', "sh"])

    def test_files_are_checked_before_the_search(self):
        """Of a Spec that no search begins for, what is wrong with the file is said."""
        broken = "no_such_operation f32[4]"
        for option, ending in (("run --output", ".npy"), ("asm --bytes", ""), ("explain --html", ""),
                               ("bench --export", ".csv"), ("emit --output", ".o"), ("emit -o k.o --header", ".h"),
                               ("emit -o k.o --rust", ".rs"), ("synth --save", ".mkrn")):
            command, *more = option.split()
            if command in LEFT_OUT:
                continue
            for path in (self.folder / "no" / f"file{ending}", self.folder):
                if option == "bench --export" and path == self.folder:
                    continue
                done = self.run_tool([command, broken, *more, path], [1], cwd=self.folder)
                self.assertIn(f"{path}: cannot be written", done.stderr, option)
        done = self.run_tool(["synth", broken, "--save", "/dev/null"], [1])
        self.assertIn("/dev/null: cannot be written: it is no regular file", done.stderr)
        for command in (["precompute", "matmul f32[<=512,<=512] f32[<=512,<=512]", "--out"],
                        ["synth", broken, "--cache"]):
            path = self.folder / "no" / "made"
            done = self.run_tool([*command, path], [3])
            self.assertIn(f"{path}: cannot ", done.stderr, command)
        done = self.run_tool(["bench", broken, "--export", "x.txt"], [1])
        self.assertIn("x.txt: --export writes files that end with .csv or .json", done.stderr)
        done = self.run_tool(["bench", "relu f32[?<=4]", "--export", "x.csv"], [2], cwd=self.folder)
        self.assertIn("--export: rounds of run-time sizes", done.stderr)
        done = self.run_tool(["bench", SPEC, "--export", "x.csv", "--export", "x.csv"], [1], cwd=self.folder)
        self.assertIn("x.csv: --export names it twice", done.stderr)
        for option in ("run --output x.npy", "asm --bytes x", "explain --html x", "bench --export x.csv", "synth --save x"):
            command, *more = option.split()
            if command not in LEFT_OUT:
                done = self.run_tool([command, "-", *more], [2], cwd=self.folder)
                self.assertIn(f"{more[0]} is a file of one SPEC", done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir() if not path.name.startswith("t.mtab")], [])

    def test_files_of_emit_are_apart(self):
        for second in ("--header", "--rust") if "emit" not in LEFT_OUT else ():
            done = self.run_tool(["emit", SPEC, "-o", "k.o", second, "./k.o"], [2], cwd=self.folder)
            self.assertIn(f"-o and {second} are both './k.o'", done.stderr)
        self.assertFalse((self.folder / "k.o").exists())

    def test_limit_of_file_sizes(self):
        """As a full file system, where nothing may be mounted."""
        for arguments in self.all_that_print():
            with open(self.folder / "out", "w", encoding="utf-8") as out:
                done = self.run_tool(arguments, [1, 3], stdout=out, preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (0, 0)))
            self.assertIn("File too large", done.stderr, arguments)
        for option, arguments, ending in self.with_files():
            path = self.folder / f"limited{ending}"
            path.unlink(missing_ok=True)
            done = self.run_tool([*arguments, path], [1, 3], preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (0, 0)))
            self.assertIn("File too large", done.stderr, option)
            self.assertIn(str(path), done.stderr, option)

    def with_files(self):
        """Each option that names a file: its name, the arguments up to the file, and how the file ends."""
        for command, arguments, new in self.commands():
            for option in files_written(command):
                rest = list(arguments)
                if str(new) in rest and option.startswith("--out"):
                    at = rest.index(str(new))
                    del rest[at - 1:at + 1]
                yield f"{command} {option}", [*rest, option], ENDINGS.get(f"{command} {option}", "")

    def test_full_file_system(self):
        if not may_mount():
            self.skipTest("a file system cannot be mounted here (needs root and unshare)")
        full = self.folder / "mounted"
        full.mkdir()
        within = ["unshare", "-m", "sh", "-c", FULL, str(full)]
        for arguments in self.all_that_print():
            done = self.run_tool(arguments, [1, 3], within=within, stdout=None)
            self.assertIn("No space left", done.stderr, arguments)
        for option, arguments, ending in self.with_files():
            done = self.run_tool([*arguments, full / f"file{ending}"], [1, 3], within=within, stdout=None)
            self.assertIn("No space left", done.stderr, option)
            self.assertIn(str(full / f"file{ending}"), done.stderr, option)

    def test_files_that_cannot_be_written(self):
        seen = set()
        for option, arguments, ending in self.with_files():
            seen.add(option)
            path = self.folder / "none" / f"file{ending}"
            done = self.run_tool([*arguments, path], [1, 3])
            self.assertIn(f"{path}", done.stderr, option)
            self.assertIn("No such file", done.stderr, option)
        self.assertLessEqual(WITH_FILES, seen)

    def test_closed_output_spares_files(self):
        """A file that is opened must not become standard output."""
        for option, arguments, ending in self.with_files():
            wanted, got = self.folder / f"wanted{ending}", self.folder / f"got{ending}"
            for path in (wanted, got):
                path.unlink(missing_ok=True)
            self.run_tool([*arguments, wanted])
            self.run_tool([*arguments, got], [0, 1], stdout=None,
                          within=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
            written = [path.read_bytes() for path in (wanted, got)]
            if option in MEASURED:
                written = [text[:20] for text in written]
            self.assertEqual(written[0], written[1], option)

    def test_a_long_list_ends_early(self):
        specs = f"{SPEC}\n" * 1000
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([MORELLO, "synth", "-", "--json"], input=specs, stdout=full, text=True,
                                  stderr=subprocess.PIPE, timeout=240, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("cannot write"), 1)


def can_emit():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([MORELLO, "emit", OTHER, "-o", f"{folder}/k.o"], capture_output=True, text=True, check=False)
    return "without libelf" not in done.stderr


if __name__ == "__main__":
    MORELLO = os.path.abspath(sys.argv.pop(1))
    if not can_emit():
        LEFT_OUT.add("emit")
        RECIPES.pop("emit")
        WITH_FILES.difference_update({"emit --output", "emit --header", "emit --rust"})
        print("skipped: emit, as the tool was built without libelf (Debian: libelf-dev)")
    unittest.main(verbosity=2)

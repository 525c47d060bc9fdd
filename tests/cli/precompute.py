#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""morello precompute from outside: precompute.py MORELLO."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MORELLO = None
SMALL = "matmul f32[<=9,<=6] f32[<=6,<=7]"
MEMBERS = 9 * 6 * 7
LARGE = "matmul f32[<=384,<=384] f32[<=384,<=384]"  # many seconds: to be interrupted
MEDIUM = "matmul f32[<=24,<=24] f32[<=24,<=24]"
OK, USAGE, LIBRARY, INTERRUPTED = 0, 2, 3, 130


class Precompute(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.path = self.folder / "t.mtab"

    def run_it(self, *arguments, exit_code=OK, given=""):
        done = subprocess.run([MORELLO, *map(str, arguments)], text=True, capture_output=True,
                              input=given, timeout=200)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done

    def precompute(self, *arguments, out=None, exit_code=OK):
        done = self.run_it("precompute", "--isa", "avx2", "--json", "--out", out or self.path,
                           *arguments, exit_code=exit_code)
        return json.loads(done.stdout)

    def coverage(self, path=None):
        info = json.loads(self.run_it("table", "info", "--json", path or self.path).stdout)
        return info["coverage"][0]["covered"]

    def test_run_time_sizes(self):
        """What of their pieces is not covered is named, until it is."""
        spec = "relu f32[?<=200] -> f32[?]"
        self.precompute("relu f32[<=200]", "relu f32[200]")
        info = self.run_it("table", "info", self.path, "--spec", spec).stdout
        self.assertRegex(info, r"the piece of \d+: d0 = .*; precompute the Spec as it is")
        report = self.precompute(spec)
        self.assertGreater(report["saved"], 0)
        self.assertGreater(report["found"], 16)
        info = self.run_it("table", "info", self.path, "--spec", spec).stdout
        self.assertRegex(info, r"spec +covered")
        members = report["members"]
        self.assertIn(f"{spec}: {members} of {members} members", info)

    def test_a_table_is_made_and_used(self):
        report = self.precompute(SMALL)
        self.assertTrue(report["complete"])
        self.assertEqual([report[name] for name in ("members", "done", "saved", "found")],
                         [MEMBERS, MEMBERS, MEMBERS, 0])
        self.assertEqual(report["file_bytes"], self.path.stat().st_size)
        self.assertEqual(self.coverage(), MEMBERS)
        spec = "matmul f32[9,6] f32[6,7]"
        synth = json.loads(self.run_it("show", "--target", "avx2", "--json", "--table", self.path,
                                       spec).stdout)
        self.assertEqual(synth["table"], "answered")
        verified = json.loads(self.run_it("table", "verify", "--json", self.path).stdout)
        self.assertTrue(verified["ok"])
        content = self.path.read_bytes()
        self.assertEqual(self.precompute(SMALL)["found"], MEMBERS)
        self.assertEqual(self.path.read_bytes(), content)
        text = self.run_it("precompute", "--isa", "avx2", "--out", self.path, SMALL).stdout
        self.assertIn(f"{MEMBERS} were in the file", text)

    def test_families_from_standard_input(self):
        relu = "relu f32[<=48,3]{strides=7,1}"
        self.precompute(SMALL, relu)
        given = self.folder / "given.mtab"
        self.run_it("precompute", "--isa", "avx2", "--out", given, "-",
                    given=f"# two families\n{SMALL}\n\n  {relu}\n")
        self.assertEqual(given.read_bytes(), self.path.read_bytes())
        failed = self.folder / "failed.mtab"
        for lines, exit_code, words in (("# nothing\n", 1, "no family"),
                                        (f"{SMALL}\nmatmul f32[<=4\n", 3, "matmul f32[<=4\n")):
            done = self.run_it("precompute", "--isa", "avx2", "--out", failed, "-", given=lines,
                               exit_code=exit_code)
            self.assertIn(words, done.stderr)
            self.assertFalse(failed.exists())

    def test_several_outputs(self):
        family = ("x f32[<=12,37]; m = reduce_max x axis=1; s = reduce_sum x axis=1; "
                  "m -> f32[<=12], s -> bf16[<=12]")
        self.precompute(family)
        self.assertIn("ok", self.run_it("table", "verify", self.path).stdout)
        spec = family.replace("<=12", "7")
        table = ["--isa", "avx2", "--table", self.path, "--strict-table"]
        self.assertIn("the program is the table's", self.run_it("synth", *table, spec).stdout)
        self.assertIn("all 14 results checked", self.run_it("run", *table, spec).stdout)

    def test_parts_make_the_same_file(self):
        families = [SMALL, "relu f32[<=48,3]{strides=7,1}"]
        self.precompute(*families, "--workers", 1)
        shared = self.folder / "shared.mtab"
        parts = []
        for part in (2, 3, 1):
            parts.append(self.folder / f"{part}.mtab")
            self.precompute(*families, "--part", f"{part}/3", out=parts[-1])
            self.precompute(*families, "--part", f"{part}/3", "--workers", 3, out=shared)
        merged = self.folder / "merged.mtab"
        self.run_it("table", "merge", *parts, "-o", merged)
        self.assertEqual(shared.read_bytes(), self.path.read_bytes())
        self.assertEqual(merged.read_bytes(), self.path.read_bytes())

    def interrupt(self, number, *arguments):
        """Sends a signal once something was saved; the exit status and standard output."""
        command = [MORELLO, "precompute", "--isa", "avx2", "--out", self.path, "--save-every", "0.1",
                   *arguments]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 100
            before = self.path.read_bytes() if self.path.exists() else b""
            while not self.path.exists() or len(self.path.read_bytes()) < len(before) + 500:
                self.assertLess(time.monotonic(), deadline)
                self.assertIsNone(process.poll(), "it was done too early")
                time.sleep(0.01)
            process.send_signal(number)
            out = process.stdout.read()
            return process.wait(60), out

    def test_ctrl_c_keeps_what_is_solved(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            status, out = self.interrupt(number, LARGE)
            self.assertEqual(status, INTERRUPTED)
            self.assertIn("what was solved is kept", out)
            solved = int(re.search(r"members +([\d,]+) of", out).group(1).replace(",", ""))
            self.assertGreater(solved, 0)
            self.assertEqual(self.coverage(), solved)

    def test_a_killed_process_loses_little_and_goes_on(self):
        status, _ = self.interrupt(signal.SIGKILL, MEDIUM, LARGE)
        self.assertEqual(status, -signal.SIGKILL)
        self.assertGreater(self.coverage(), 0)
        for path in (self.path, self.folder / "fresh.mtab"):
            self.precompute(MEDIUM, out=path)
        # The killed one has members of the large family besides: drop none of the medium's.
        self.assertEqual(self.coverage(), self.coverage(self.folder / "fresh.mtab"))

    def test_lines_without_a_terminal_and_a_bar_on_one(self):
        quiet = self.run_it("precompute", "--isa", "avx2", "--out", self.path, SMALL)
        self.assertEqual(quiet.stderr, "")
        master, slave = pty.openpty()
        with subprocess.Popen([MORELLO, "precompute", "--isa", "avx2", "--out", self.path, MEDIUM],
                              stdout=subprocess.PIPE, stderr=slave) as process:
            os.close(slave)
            shown = b""
            try:
                while chunk := os.read(master, 4096):
                    shown += chunk
            except OSError:
                pass  # the other end is closed
            process.stdout.read()
            self.assertEqual(process.wait(60), OK)
        os.close(master)
        self.assertRegex(shown.decode(), r"\r\[=* *\] [\d,]+ of [\d,]+ members")
        self.assertTrue(shown.endswith(b"\r\x1b[K"))

    def test_errors(self):
        bad = self.run_it("precompute", "--out", self.path, SMALL, "relu f32[<=0]", exit_code=LIBRARY)
        self.assertIn("families[1]", bad.stderr)
        self.assertIn("  relu f32[<=0]\n           ^\n", bad.stderr)
        self.assertFalse(self.path.exists())
        nowhere = self.run_it("precompute", "--out", self.folder / "no" / "t.mtab", SMALL,
                              exit_code=LIBRARY)
        self.assertIn("MORELLO_IO_ERROR", nowhere.stderr)
        self.path.write_bytes(b"mine")
        self.run_it("precompute", "--out", self.path, SMALL, exit_code=LIBRARY)
        self.assertEqual(self.path.read_bytes(), b"mine")
        for part in ("0/3", "4/3", "3", "1/0", "-1/3", "1/3x"):
            self.run_it("precompute", "--out", self.path, "--part=" + part, SMALL, exit_code=USAGE)
        self.run_it("precompute", "--out", self.path, exit_code=USAGE)
        self.run_it("precompute", SMALL, exit_code=USAGE)


if __name__ == "__main__":
    MORELLO = sys.argv.pop(1)
    unittest.main()

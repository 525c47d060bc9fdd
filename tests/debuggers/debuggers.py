#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What gdb and perf see of kernels: debuggers.py CRASH, the program of crash.c. Where one of the two is not
there, or may not do its work, its tests are skipped, and say why."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CRASH = None
KERNEL = r"morello_matmul_m256n256k256_avx2"


def run(*command, tools="gdb", cwd=None):
    environment = {**os.environ, "MORELLO_TOOLS": tools, "DEBUGINFOD_URLS": "", "LC_ALL": "C"}
    environment.pop("MORELLO_CACHE_DIR", None)
    done = subprocess.run(command, text=True, capture_output=True, timeout=240, env=environment, cwd=cwd,
                          stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


class Case(unittest.TestCase):
    def skipTest(self, reason):
        print(f"skipped: {reason}")
        super().skipTest(reason)


class Gdb(Case):
    def backtrace(self, how, tools="gdb"):
        if shutil.which("gdb") is None:
            self.skipTest("gdb is not installed")
        text = run("gdb", "-nx", "-batch", "-ex", "set disable-randomization off", "-ex", "run", "-ex", "bt",
                   "--args", CRASH, how, tools=tools)
        if re.search("ptrace: Operation not permitted|Couldn't get CS|During startup program exited", text):
            self.skipTest("gdb may not run a program here: " + text.strip().splitlines()[-1])
        self.assertIn("SIGSEGV", text)
        return text[text.index("SIGSEGV"):]

    def check(self, text, *names):
        found = re.findall(r"^#\d+ .*", text, re.M)
        places = [next((i for i, line in enumerate(found) if re.search(name, line)), None) for name in names]
        self.assertNotIn(None, places, text)
        self.assertEqual(places, sorted(places), text)
        self.assertIn("main", found[-1], text)

    def test_a_crash_in_a_callback_below_a_kernel(self):
        self.check(self.backtrace("callback"), "crash_in_executor", KERNEL, "morello_kernel_run", "use_kernel", r"in main \(")

    def test_a_crash_in_a_kernel(self):
        self.check(self.backtrace("guard"), KERNEL, "morello_kernel_run", "use_kernel", r"in main \(")

    def test_without_being_told_gdb_knows_no_name(self):
        self.assertNotRegex(self.backtrace("guard", tools=""), KERNEL)


class Perf(Case):
    def record(self, tools, folder, *options):
        if shutil.which("perf") is None:
            self.skipTest("perf is not installed")
        data = str(folder / "perf.data")
        text = run("perf", "record", "-q", "-e", "cpu-clock", "-o", data, *options, CRASH, "busy", tools=tools, cwd=folder)
        if "done" not in text:
            self.skipTest("perf cannot record here: " + " ".join(text.split())[:200])
        return data

    def test_names_from_a_map(self):
        with tempfile.TemporaryDirectory() as path:
            data = self.record("map", pathlib.Path(path))
            text = run("perf", "report", "--stdio", "-i", data, "--sort", "symbol")
            for left in pathlib.Path("/tmp").glob("perf-*.map"):
                if left.stat().st_uid == os.geteuid() and KERNEL in left.read_text():
                    left.unlink()
            self.assertRegex(text, KERNEL)

    def test_names_from_a_dump(self):
        with tempfile.TemporaryDirectory() as path:
            folder = pathlib.Path(path)
            data = self.record("jitdump", folder, "-k", "mono")
            injected = str(folder / "perf.jit.data")
            text = run("perf", "inject", "--jit", "-i", data, "-o", injected, cwd=folder)
            if not os.path.exists(injected):
                self.skipTest("perf cannot inject: " + " ".join(text.split())[:200])
            self.assertRegex(run("perf", "report", "--stdio", "-i", injected, "--sort", "symbol"), KERNEL)


if __name__ == "__main__":
    CRASH = sys.argv.pop()
    unittest.main(verbosity=2)

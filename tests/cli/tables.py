#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""morello table from outside: tables.py MORELLO SAMPLE_TABLE."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

MORELLO = None
SAMPLE_TABLE = None
MATMUL = "matmul f32[5,7] f32[7,9] -> f32[5,9]"
RELU = "relu f32[100] -> f32[100]"
OK, FAILED, USAGE, LIBRARY = 0, 1, 2, 3


class Tables(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def sample(self, name, *specs):
        path = self.folder / name
        subprocess.run([SAMPLE_TABLE, path, *specs], check=True, timeout=120)
        return path

    def table(self, *arguments, exit_code=OK):
        done = subprocess.run([MORELLO, "table", *map(str, arguments)], text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done.stdout if exit_code == OK else done.stderr

    def test_info(self):
        path = self.sample("t.mtab", MATMUL, RELU)
        report = json.loads(self.table("info", "--json", path))
        self.assertEqual(report["target"], "avx2")
        self.assertEqual(report["machine"], "generic-x86-64")
        self.assertEqual(report["threads"], 1)
        self.assertEqual(report["families"], sorted([MATMUL, RELU]))
        self.assertEqual(report["coverage"], [{"members": 1, "covered": 1}] * 2)
        self.assertEqual(report["points"], 2)
        self.assertGreaterEqual(report["boxes"], report["groups"])
        self.assertEqual(report["file_bytes"], path.stat().st_size)
        text = self.table("info", path, path)
        self.assertEqual(text.count(MATMUL), 2)

    def test_several_targets(self):
        path = self.folder / "both.mtab"
        for target in ("avx512", "avx2"):
            subprocess.run([MORELLO, "precompute", RELU, "--target", target, "--out", path], check=True, timeout=120)
        report = json.loads(self.table("info", "--json", path))
        self.assertEqual([part["target"] for part in report["parts"]], ["avx2", "avx512"])
        self.assertEqual(report["points"], 2)
        self.assertEqual(self.table("info", path).count("kernels"), 2)
        for target in ("avx2", "avx512"):
            done = subprocess.run([MORELLO, "show", RELU, "--target", target, "--json", "--table", path], text=True,
                                  capture_output=True, timeout=120, check=True)
            self.assertEqual(json.loads(done.stdout)["table"], "answered")
        self.assertEqual(self.table("dump", path).count("machine generic-x86-64"), 2)
        for part in (0, 1):
            self.assertTrue(self.table("plot", path, "--part", part).startswith("<svg"))
        self.assertIn("2 parts", self.table("plot", path, "--part", 2, exit_code=LIBRARY))
        # A page draws the part that answers.
        page = self.folder / "page.html"
        explain = [MORELLO, "explain", "--rounds", "1", "--html", page, "--table", path, RELU, "--target"]
        for target in ("avx2", "avx512"):
            subprocess.run([*explain, target], capture_output=True, timeout=120, check=True)
            self.assertIn("Boxes of the table", page.read_text())
            page.unlink()
        done = subprocess.run([*explain, "avx512", "--threads", "2"], text=True, capture_output=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("no part is for avx512 with 2 threads; there are avx2 with 1 thread, avx512 with 1 thread",
                      done.stderr)
        self.assertFalse(page.exists())

    def test_miss(self):
        path = self.sample("t.mtab", MATMUL, RELU)
        said = self.table("info", "--spec", "matmul f32[5,8] f32[8,9]", path)
        self.assertIn("not covered\n          avx2, 1 thread: k = 8; 7 is covered\n", said)
        self.assertIn("spec      covered\n", self.table("info", "--spec", RELU, path))
        report = json.loads(self.table("info", "--json", "--spec", "relu bf16[100]", path))
        self.assertIn("is bf16; covered is f32", report["miss"])
        self.assertIn("MORELLO_SYNTAX_ERROR", self.table("info", "--spec", "relu", path, exit_code=LIBRARY))
        for command in ("synth", "run"):
            done = subprocess.run([MORELLO, command, "relu f32[99]", "--target", "avx2", "--table", path], text=True,
                                  capture_output=True, timeout=120, check=False)
            self.assertIn("d0 = 99; 100 is covered", done.stdout + done.stderr)

    def test_verify(self):
        path = self.sample("t.mtab", MATMUL, RELU)
        report = json.loads(self.table("verify", "--points", 1, "--seed", 3, "--json", path))
        self.assertTrue(report["ok"])
        self.assertEqual(report["searched"], 1)
        self.assertEqual(report["promised"], 2)
        self.assertIn("2 Specs searched for (seed 1): ok", self.table("verify", path))

    def test_merge(self):
        a, b, c = self.sample("a.mtab", MATMUL), self.sample("b.mtab", RELU), self.folder / "c.mtab"
        self.assertIn(RELU, self.table("merge", a, b, "-o", c))
        self.assertEqual(c.read_bytes(), self.sample("both.mtab", RELU, MATMUL).read_bytes())
        for command in [["merge", a], ["merge", "-o", c], ["merge"]]:
            self.table(*command, exit_code=USAGE)
        self.table("merge", a, self.folder / "none", "-o", c, exit_code=LIBRARY)
        error = self.table("merge", a, b, "-o", self.folder / "no" / "c", exit_code=LIBRARY)
        self.assertIn("MORELLO_IO_ERROR", error)

    def test_dump(self):
        path = self.sample("t.mtab", MATMUL)
        report = json.loads(self.table("dump", "--json", path))
        self.assertEqual(report["families"], [MATMUL])
        boxes = sum(len(group["boxes"]) for group in report["groups"])
        self.assertEqual(boxes, json.loads(self.table("info", "--json", path))["boxes"])
        text = self.table("dump", path)
        self.assertEqual(text.count("\n  "), boxes)
        self.assertIn("select ", text)
        self.table("dump", path, "-o", self.folder / "dump.txt")
        self.assertEqual((self.folder / "dump.txt").read_text(), text)

    def test_plot(self):
        path, svg = self.sample("t.mtab", MATMUL), self.folder / "t.svg"
        self.table("plot", path, "-o", svg)
        groups = json.loads(self.table("dump", "--json", path))["groups"]
        rects = [e for e in xml.etree.ElementTree.parse(svg).iter() if e.tag.endswith("}rect")]
        self.assertGreater(len(rects), 0)
        self.assertLessEqual(len(rects), max(len(group["boxes"]) for group in groups))
        named = self.table("plot", path, "--group", 0, "--x", "L1", "--y", "registers")
        xml.etree.ElementTree.fromstring(named)
        self.assertIn("no axis", self.table("plot", path, "--x", "q", exit_code=LIBRARY))
        self.assertIn("no group", self.table("plot", path, "--group", 999, exit_code=LIBRARY))
        self.table("plot", path, "--group", -1, exit_code=USAGE)
        self.table("plot", path, "-o", self.folder / "no" / "t.svg", exit_code=FAILED)

    def test_memory_limit(self):
        path = self.folder / "large.mtab"
        path.write_bytes(bytes((1 << 20) + 1))
        for arguments in [["info"], ["dump"], ["merge", "-o", self.folder / "o.mtab"]]:
            said = self.table(*arguments, path, "--table-memory", 1, exit_code=LIBRARY)
            self.assertIn("more than 1048576 bytes of memory", said)
            self.assertIn("no table", self.table(*arguments, path, exit_code=LIBRARY))

    def test_bad_files(self):
        missing, bad = self.folder / "missing", self.folder / "bad"
        bad.write_bytes(b"no table")
        for command in ["info", "verify", "dump", "plot"]:
            self.assertIn("MORELLO_IO_ERROR", self.table(command, missing, exit_code=LIBRARY))
            self.assertIn("MORELLO_CORRUPT_TABLE", self.table(command, bad, exit_code=LIBRARY))
            self.table(command, exit_code=USAGE)
        self.table("sing", exit_code=USAGE)


if __name__ == "__main__":
    SAMPLE_TABLE, MORELLO = sys.argv.pop(2), sys.argv.pop(1)
    unittest.main()

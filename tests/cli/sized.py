#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run-time sizes through the command: sized.py MORELLO."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

MORELLO = None
LAYER = "matmul f32[?<=20,16] f32[16,24]{*} -> f32[?,24]"
OK, FAILED, USAGE, LIBRARY = 0, 1, 2, 3


class Sized(unittest.TestCase):
    def morello(self, *arguments, exit_code=OK):
        done = subprocess.run([str(part) for part in (MORELLO, *arguments)], text=True, capture_output=True,
                              timeout=240, check=False)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done

    def json_of(self, *arguments):
        return json.loads(self.morello(*arguments, "--json").stdout)

    def test_synth_and_show(self):
        report = self.json_of("synth", "--effort", "quick", LAYER)
        self.assertEqual(report["spec"], LAYER)
        self.assertEqual(len(report["sizes_cost_cycles"]), 20)
        self.assertEqual(report["sizes_cost_cycles"][-1], report["cost_cycles"])
        self.assertIn("1 to 20", self.morello("synth", "--effort", "quick", LAYER).stdout)
        shown = self.morello("show", "--plan", "--effort", "quick", LAYER).stdout
        self.assertIn("pieces for sizes up to 20", shown)
        self.assertIn("piece of 1\n", shown)

    def test_run(self):
        for size in (1, 7, 20):
            report = self.json_of("run", "--effort", "quick", "--size", size, LAYER)
            self.assertTrue(report["ok"])
            self.assertEqual(report["results"], 24 * size)
        self.assertEqual(self.json_of("run", "--effort", "quick", LAYER)["results"], 24 * 20)
        done = self.morello("run", "--effort", "quick", "--size", 21, LAYER, exit_code=LIBRARY)
        self.assertIn("valid are 1 to 20", done.stderr)
        done = self.morello("run", "--size", 2, "relu f32[3]", exit_code=USAGE)
        self.assertIn("no run-time size", done.stderr)

    def test_run_of_several_sizes(self):
        sizes = ("--size", 3, "--size", 7)
        report = self.json_of("run", "--effort", "quick", *sizes, LAYER)
        self.assertEqual([(row["size"], row["results"], row["ok"]) for row in report["sizes"]],
                         [(3, 24 * 3, True), (7, 24 * 7, True)])
        text = self.morello("run", "--effort", "quick", *sizes, LAYER).stdout
        self.assertRegex(text, r"(?s)size +3\nresult +ok.*size +7\nresult +ok")
        done = self.morello("run", "--effort", "quick", "--size", 3, "--size", 21, LAYER, exit_code=LIBRARY)
        self.assertIn("valid are 1 to 20", done.stderr)
        done = self.morello("run", *sizes, "--output", "x.npy", LAYER, exit_code=USAGE)
        self.assertIn("--size once", done.stderr)
        done = self.morello("run", "--size", "abc", LAYER, exit_code=USAGE)
        self.assertIn("--size: 'abc' is not a whole number", done.stderr)

    def test_bench(self):
        report = self.json_of("bench", "--effort", "quick", "--rounds", 2, "--size", 3, "--size", 20, LAYER)
        self.assertEqual([row["size"] for row in report["sizes"]], [3, 20])
        for row in report["sizes"]:
            self.assertGreater(row["ratio"], 0)
            self.assertLess(row["predicted_ratio"], 1.5)
        self.assertIn("mean", self.morello("bench", "--effort", "quick", "--rounds", 1, LAYER).stdout)
        pair = self.json_of("bench", "--effort", "quick", "--rounds", 1, "--size", 5, LAYER,
                            LAYER.replace("?<=20", "5").replace("?", "5"))
        self.assertEqual(len(pair["kernels"]), 2)

    def test_stored(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "k.mkrn"
            self.morello("synth", "--effort", "quick", "--save", path, LAYER)
            self.assertEqual(self.json_of("run", "--size", 9, path)["results"], 24 * 9)

    def test_table(self):
        """With a table of the Spec nothing is searched for, whatever else is in it."""
        with tempfile.TemporaryDirectory() as folder:
            path, found, sought = (pathlib.Path(folder) / name for name in ("t.mtab", "a.mkrn", "b.mkrn"))
            for effort in ("quick", "exact"):  # which answers what is quick as well
                asked = ("--target", "avx2", "--effort", effort)
                report = self.json_of("precompute", *asked, "-o", path, LAYER, "relu f32[<=20]")
                self.assertTrue(report["complete"])
                self.assertEqual(report["done"], report["members"])
                self.assertEqual(report["families"][0], LAYER)
                again = self.json_of("precompute", *asked, "-o", path, LAYER)
                self.assertEqual(again["found"], again["members"])
                self.assertEqual(again["file_bytes"], report["file_bytes"])
                synth = self.json_of("synth", *asked, "--table", path, "--strict-table", "--save", found, LAYER)
                self.assertEqual((synth["table"], synth["table_miss"]), ("answered", ""))
                self.assertEqual(synth["optimal"], effort == "exact")
                search = synth["search"]
                self.assertEqual([search[name] for name in ("states", "expanded", "previews")], [0, 0, 0])
                if effort == "exact":
                    self.morello("synth", "--target", "avx2", "--save", sought, LAYER)
                    self.assertEqual(found.read_bytes(), sought.read_bytes())
            info = self.json_of("table", "info", path, "--spec", LAYER)
            self.assertEqual(info["miss"], "")
            for part in info["parts"]:
                self.assertEqual(part["families"], [LAYER, "relu f32[<=20]"])
                for c in part["coverage"]:
                    self.assertEqual(c["covered"], c["members"])
            self.assertTrue(self.json_of("table", "verify", path)["ok"])

    def test_refuses(self):
        done = self.morello("synth", "relu f32[4,?<=5]", exit_code=LIBRARY)
        self.assertIn("1:12: a run-time size has to be the outermost axis", done.stderr)
        done = self.morello("explain", "relu f32[?<=5]", exit_code=LIBRARY)
        self.assertIn("needs to know all sizes", done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            done = self.morello("precompute", "-o", pathlib.Path(folder) / "t.mtab", "relu f32[?<=5,<=4]",
                                exit_code=LIBRARY)
        self.assertIn("1:15: a family has either a run-time size or bounds", done.stderr)


if __name__ == "__main__":
    MORELLO = sys.argv[1]
    unittest.main(argv=sys.argv[:1])

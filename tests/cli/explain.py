#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command says of where cycles go: explain.py MORELLO."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

MORELLO = None
SMALL = "matmul f32[5,7] f32[7,9] -> f32[5,9]"
FUSED = "matmul f32[6,16] f32[16,24] + bias f32[24] -> relu -> f32[6,24]"
OK, FAILED = 0, 1


def morello(*arguments):
    return subprocess.run([MORELLO, *map(str, arguments)], text=True, capture_output=True, timeout=240, check=False)


class Explain(unittest.TestCase):
    def json_of(self, *arguments):
        done = morello(*arguments, "--json")
        self.assertEqual(done.returncode, OK, done.stderr)
        return json.loads(done.stdout)

    SPECS = [SMALL, FUSED, "relu f32[1000]", "transpose f32[30,50]", "reduce_sum f32[40,70] axis=0",
             "matmul u8[16,32] i8[32,48]", "matmul f32[100,200] f32[200,300]{*}", "softmax f32[40,70] axis=1",
             "max_pool f32[1,60,60,64] window=3 stride=1 nhwc"]

    def test_every_cycle_has_a_node_and_a_resource(self):
        for target in ["avx2", "avx512_vnni"]:
            for spec in self.SPECS:
                with self.subTest(spec=spec, target=target):
                    found = self.json_of("explain", "--target", target, "--rounds", 1, spec)
                    close = 1e-3 * len(found["nodes"]) + 1e-4 * found["cycles"]
                    nodes = [node for node in found["nodes"] if "again" not in node]
                    self.assertAlmostEqual(sum(found["resources"].values()), found["cycles"], delta=close)
                    self.assertAlmostEqual(sum(n["runs"] * n["own"] for n in nodes), found["cycles"],
                                           delta=close + 1e-3 * sum(n["runs"] for n in nodes))
                    self.assertEqual(found["cycles"], found["cost_cycles"])
                    self.assertGreaterEqual(min(found["resources"].values()), 0)
                    for node in nodes:
                        less = "pool" in spec and "tile" in node["text"]  # lines, that tiles of windows share
                        self.assertTrue(less or min(node["own_by_resource"].values()) >= 0, node)
                        self.assertAlmostEqual(sum(node["own_by_resource"].values()), node["own"], delta=1e-3)
                    lines = sum(o["line_cycles"] for o in found["operands"]) + found["buffer_line_cycles"]
                    self.assertAlmostEqual(lines, found["resources"]["L2"] + found["resources"]["memory"], delta=close)
                    self.assertEqual([o["role"] for o in found["operands"]][-1], "output")
                    self.assertLessEqual(found["least"]["arithmetic"], found["lower_bound_cycles"] * 1.001)

    def test_what_holds(self):
        self.assertEqual(self.json_of("explain", "--rounds", 1, "add f32[100000] f32[100000]")["bound"], "memory")
        self.assertEqual(self.json_of("explain", "--rounds", 1, "matmul f32[200,200] f32[200,200]")["bound"], "compute")
        # What moves is apart from what computes.
        for spec, near, copies in (("transpose f32[40,40]", False, True), ("relu f32[1000]", True, False),
                                   ("matmul f32[64,48] f32[48,32]", True, True)):
            resources = self.json_of("explain", "--rounds", 1, spec)["resources"]
            self.assertEqual((resources["near"] > 0, resources["copies"] > 0), (near, copies), (spec, resources))

    def test_for_people_and_as_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            done = morello("explain", "--rounds", 1, "--html", page, FUSED)
            self.assertEqual(done.returncode, OK, done.stderr)
            for words in ["predicted", "measured", "bound ", "D (output, 144 elements)", "select outer_product"]:
                self.assertIn(words, done.stdout)
            text = page.read_text()
            self.assertTrue(text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"))
            self.assertIn("-&gt; relu -&gt;", text)
            self.assertIn("<svg", text)
            self.assertNotRegex(text, "(src|href)=")  # it needs nothing else
            bad = morello("explain", "--rounds", 1, "--html", pathlib.Path(folder, "none/page.html"), SMALL)
            self.assertEqual(bad.returncode, FAILED)

    def test_a_kernel_of_a_cache_is_explained(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                self.assertGreater(self.json_of("explain", "--rounds", 1, "--cache", folder, SMALL)["cycles"], 0)


if __name__ == "__main__":
    MORELLO = sys.argv.pop(1)
    unittest.main()

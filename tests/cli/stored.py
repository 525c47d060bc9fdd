#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stored kernels and the cache through the command, and the example that runs what it saved:
stored.py MORELLO EXAMPLE."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MORELLO = EXAMPLE = None
LAYER = "matmul f32[8,64] f32[64,96]{*} -> f32[8,96]"
INT8 = "matmul u8[5,70] i8[70,40]{*} -> i32[5,40]"
OK, FAILED, USAGE, LIBRARY = 0, 1, 2, 3


def run(*command, **settings):
    environment = {name: value for name, value in os.environ.items() if name != "MORELLO_CACHE_DIR"}
    return subprocess.run([str(part) for part in command], text=True, capture_output=True, timeout=240, check=False,
                          env=dict(environment, **settings))


class Stored(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "k.mkrn"

    def morello(self, *arguments, exit_code=OK, **settings):
        done = run(MORELLO, *arguments, **settings)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done

    def json_of(self, *arguments, **settings):
        return json.loads(self.morello(*arguments, "--json", **settings).stdout)

    def save(self, spec, *options):
        self.morello("synth", "--save", self.path, *options, spec)
        return self.path.read_bytes()

    def test_runs_what_was_saved(self):
        for spec in (LAYER, INT8):
            self.save(spec)
            self.assertTrue(self.json_of("run", self.path)["ok"])
            self.assertIn("result   ok", self.morello("run", self.path).stdout)
            self.assertIn("loaded", self.morello("synth", self.path).stdout)
            self.assertTrue(self.json_of("bench", self.path, "--rounds", 1)["ok"])
            self.assertIn("made     loaded", self.morello("bench", self.path, "--rounds", 1).stdout)
            self.assertEqual(self.json_of("asm", self.path)["lines"], self.json_of("asm", spec)["lines"])

    def test_saves_the_same_bytes_on_every_machine(self):
        self.assertEqual(self.save(LAYER, "--target", "avx512"), self.save(LAYER, "--target", "avx512"))
        done = run(MORELLO, "run", self.path)
        self.assertIn(done.returncode, (OK, LIBRARY))
        if done.returncode == LIBRARY:
            self.assertIn("MORELLO_ISA_UNAVAILABLE", done.stderr)
            self.assertIn("avx512f", done.stderr)

    def test_refuses(self):
        good = self.save(LAYER)
        for command in (["show"], ["show", "--plan"], ["synth", "--save", "x.mkrn"]):
            done = self.morello(*command, self.path, exit_code=LIBRARY)
            self.assertIn("a SPEC is needed", done.stderr)
        self.path.write_bytes(good[:-9])
        self.assertIn("MORELLO_CORRUPT_KERNEL", self.morello("run", self.path, exit_code=LIBRARY).stderr)
        self.assertIn("MORELLO_IO_ERROR", self.morello("run", "missing.mkrn", exit_code=LIBRARY).stderr)
        self.morello("synth", "--save", self.path.parent / "no/k.mkrn", LAYER, exit_code=FAILED)

    def test_example(self):
        self.save(LAYER)
        done = run(EXAMPLE, self.path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.save(INT8)
        done = run(EXAMPLE, self.path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(INT8, done.stderr)
        self.path.write_bytes(b"no kernel")
        self.assertIn("MORELLO_CORRUPT_KERNEL", run(EXAMPLE, self.path).stderr)

    def test_cache(self):
        cache = self.path.parent / "cache"
        self.assertFalse(self.json_of("synth", "--cache", cache, LAYER)["stored"])
        self.assertTrue(self.json_of("synth", "--cache", cache, LAYER)["stored"])
        self.assertTrue(self.json_of("synth", LAYER, MORELLO_CACHE_DIR=str(cache))["stored"])
        self.assertFalse(self.json_of("synth", LAYER)["stored"])
        self.assertTrue(self.json_of("run", LAYER, MORELLO_CACHE_DIR=str(cache))["ok"])
        done = self.morello("synth", "--cache", self.path.parent / "no/cache", LAYER, exit_code=LIBRARY)
        self.assertIn("no/cache", done.stderr)


if __name__ == "__main__":
    MORELLO, EXAMPLE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])

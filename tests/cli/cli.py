#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The morello command from outside: cli.py MORELLO.

Every subcommand on small Specs, its JSON, its exit codes, and what it says about errors.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

MORELLO = None
SMALL = "matmul f32[5,7] f32[7,9] -> f32[5,9]"
FUSED = "matmul f32[6,16] f32[16,24] + bias f32[24] -> relu -> f32[6,24]"
OK, FAILED, USAGE, LIBRARY = 0, 1, 2, 3


def morello(*arguments, stdin=""):
    return subprocess.run([MORELLO, *map(str, arguments)], input=stdin, text=True,
                          capture_output=True, timeout=240)


def npy(shape, values, order="C", version=1):
    header = f"{{'descr': '<f4', 'fortran_order': {order == 'F'}, 'shape': {shape}, }}"
    length = "<H" if version == 1 else "<I"
    header += " " * (-(8 + struct.calcsize(length) + len(header) + 1) % 64) + "\n"
    return (b"\x93NUMPY" + bytes([version, 0]) + struct.pack(length, len(header))
            + header.encode() + struct.pack(f"<{len(values)}f", *values))


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + struct.unpack("<H", data[8:10])[0]
    assert start % 64 == 0
    header = eval(data[10:start])  # a literal that this repository wrote
    return header["shape"], list(struct.unpack(f"<{(len(data) - start) // 4}f", data[start:]))


class Cli(unittest.TestCase):
    def json_of(self, *arguments, exit_code=OK, stdin=""):
        done = morello(*arguments, "--json", stdin=stdin)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 1, done.stdout)
        return json.loads(lines[0])

    def text_of(self, *arguments, exit_code=OK, stdin=""):
        done = morello(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done.stdout if exit_code == OK else done.stderr

    def isas(self):
        best = self.json_of("cpu")["isa"]
        return ["avx2", "avx512"] if best == "avx512" else ["avx2"]

    def test_cpu(self):
        report = self.json_of("cpu")
        self.assertIn(report["isa"], ["avx2", "avx512"])
        self.assertTrue(report["jit"])
        self.assertGreater(report["processors"], 0)
        self.assertIn(report["name"], self.text_of("cpu"))

    def test_version_and_help(self):
        self.assertRegex(self.text_of("--version"), r"^morello \d+\.\d+\.\d+\n$")
        for command in ["synth", "show", "run", "bench", "asm"]:
            self.assertIn(command, self.text_of("--help"))
            self.assertIn("SPEC", self.text_of(command, "--help"))

    def test_synth(self):
        for isa in self.isas():
            report = self.json_of("synth", FUSED, "--target", isa)
            self.assertEqual(report["spec"], FUSED)
            self.assertEqual(report["isa"], isa)
            self.assertIn("6", report["kernel"])
            self.assertGreater(report["cost_cycles"], 0)
            self.assertGreater(report["code_bytes"], 0)
            self.assertGreater(report["search"]["states"], 0)
            text = self.text_of("synth", FUSED, "--target", isa)
            self.assertIn(report["kernel"], text)
            self.assertIn("previews", text)

    def test_search_options(self):
        proven = self.json_of("synth", FUSED, "--target", "avx2")
        self.assertTrue(proven["optimal"])
        self.assertEqual(proven["lower_bound_cycles"], proven["cost_cycles"])
        self.assertEqual(proven["table"], "none")
        threads = self.json_of("synth", FUSED, "--target", "avx2", "--search-threads", 2)
        self.assertEqual(threads["cost_cycles"], proven["cost_cycles"])
        self.assertIn("cheapest on the model", self.text_of("synth", FUSED))
        hurried = ["synth", "matmul f32[500,500] f32[500,500] -> f32[500,500]", "--time-budget", "1e-6"]
        report = self.json_of(*hurried)
        self.assertFalse(report["optimal"])
        self.assertLess(report["lower_bound_cycles"], report["cost_cycles"])
        self.assertRegex(self.text_of(*hurried), r"not proven optimal: .*, gap \d+\.\d%")

    def test_tables_answer(self):
        with tempfile.TemporaryDirectory() as name:
            files = []
            for family in [SMALL, FUSED]:
                files += ["--table", pathlib.Path(name) / f"{len(files)}.mtab"]
                self.text_of("precompute", family, "--target", "avx2", "--out", files[-1])
            for command in ["synth", "run", "bench"]:
                one = self.json_of(command, SMALL, "--target", "avx2", *files[:2])
                self.assertEqual(one["table"], "answered", command)
                both = self.json_of(command, FUSED, "--target", "avx2", *files)
                self.assertEqual(both["table"], "answered", command)
                other = self.json_of(command, FUSED, "--target", "avx2", *files[:2])
                self.assertEqual(other["table"], "not covered", command)
                self.assertEqual(other["cost_cycles"], both["cost_cycles"])
            self.assertIn("the program is the table's",
                          self.text_of("synth", SMALL, "--target", "avx2", *files))
            # A table of other kernels is an error, not a slow surprise.
            for options in [["--target", "avx512"], ["--target", "avx2", "--threads", 2]]:
                error = self.json_of("show", SMALL, *options, *files, exit_code=LIBRARY)["error"]
                self.assertEqual(error["status"], "MORELLO_INCOMPATIBLE_TABLE")

    def test_bad_tables(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "t.mtab"
            for command in ["synth", "run", "bench"]:
                error = self.json_of(command, SMALL, "--table", path, exit_code=LIBRARY)["error"]
                self.assertEqual(error["status"], "MORELLO_IO_ERROR")
            path.write_bytes(b"no table")
            error = self.text_of("run", SMALL, "--table", path, exit_code=LIBRARY)
            self.assertIn("MORELLO_CORRUPT_TABLE", error)
            self.assertIn(str(path), error)

    def test_show(self):
        report = self.json_of("show", SMALL)
        self.assertNotIn("plan", report)
        self.assertEqual(self.text_of("show", SMALL), report["impl"])
        report = self.json_of("show", SMALL, "--plan")
        self.assertTrue(report["impl"] and report["plan"])
        # A tree, unlike code, can be shown for a CPU that is not here.
        self.assertEqual(self.json_of("show", SMALL, "--target", "avx512")["isa"], "avx512")

    def test_run(self):
        for isa in self.isas():
            for spec in [SMALL, FUSED, "matmul f32[5,7]{0,1} f32[7,9]{*} += f32[5,9]",
                         "matmul f32[5,7] f32[7,1]{*} -> f32[5,1]",
                         "transpose f32[9,4] -> f32[4,9]", "reduce_sum f32[9,4] axis=1 -> f32[9]",
                         "add f32[3,5]{strides=8,1} f32[5] -> f32[3,5]", "fill 2.5 -> f32[11]"]:
                report = self.json_of("run", spec, "--target", isa, "--seed", 7)
                self.assertTrue(report["ok"], spec)
                self.assertEqual(report["seed"], 7)
        self.assertIn("ok", self.text_of("run", SMALL))
        self.assertTrue(self.json_of("run", FUSED, "--threads", 2)["ok"])
        self.assertTrue(self.json_of("run", FUSED, "--read-machine")["ok"])

    def test_run_reads_and_writes_npy(self):
        a = [0.5, -1.0, 2.0, 3.0, 0.25, 1.0]
        b = [1.0, 2.0, -1.0, 0.0, 3.0, 0.5]
        expected = [sum(a[3 * i + k] * b[2 * k + j] for k in range(3))
                    for i in range(2) for j in range(2)]
        a_by_columns = [a[3 * i + k] for k in range(3) for i in range(2)]
        spec = "matmul f32[2,3] f32[3,2] -> f32[2,2]"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "b.npy").write_bytes(npy((3, 2), b, version=2))
            for order, values in [("C", a), ("F", a_by_columns)]:
                (folder / "a.npy").write_bytes(npy((2, 3), values, order))
                self.text_of("run", "--input", folder / "a.npy", "--input", folder / "b.npy",
                             "--output", folder / "c.npy", spec)
                self.assertEqual(read_npy(folder / "c.npy"), ((2, 2), expected))

            problem = self.text_of("run", spec, "--input", folder / "b.npy", exit_code=FAILED)
            self.assertIn("[3,2] where operand 0 is [2,3]", problem)
            problem = self.text_of("run", spec, "--input", folder / "none.npy", exit_code=FAILED)
            self.assertIn("none.npy", problem)
            (folder / "cut.npy").write_bytes(npy((2, 3), a)[:-1])
            problem = self.text_of("run", spec, "--input", folder / "cut.npy", exit_code=FAILED)
            self.assertIn("23 bytes", problem)
            problem = self.text_of("run", spec, "--output", folder / "no" / "c.npy",
                                   exit_code=FAILED)
            self.assertIn("cannot be written", problem)

    def test_bench(self):
        report = self.json_of("bench", SMALL, "--rounds", 3, "--show")
        self.assertTrue(report["ok"])
        self.assertEqual(report["rounds"], 3)
        self.assertLessEqual(report["best_ns"], report["median_ns"])
        for key in ["gflops", "compulsory_gbytes_per_second", "peak_gflops", "percent_of_peak"]:
            self.assertGreater(report[key], 0, key)
        self.assertTrue(report["impl"])
        text = self.text_of("bench", SMALL, "--rounds", 3, "--show")
        self.assertTrue(text.startswith(report["impl"]))
        self.assertIn("GFLOP/s", text)

    def test_bench_compares(self):
        for isa in self.isas():
            report = self.json_of("bench", SMALL, "--rounds", 2, "--compare", "--isa", isa)
            loop, blas = report["compare"]
            self.assertEqual(loop["name"], "plain loop")
            self.assertAlmostEqual(loop["times_ours"], loop["best_ns"] / report["best_ns"])
            self.assertEqual(blas["name"], "OpenBLAS")
            self.assertTrue("times_ours" in blas or "not installed" in blas["about"], blas)
        # Rows of B that are apart, and a step: nothing that a plain product could be compared with.
        for spec in (FUSED, "matmul f32[5,7] f32[7,9]{strides=16,1} -> f32[5,9]"):
            self.assertIn("only `matmul`", self.text_of("bench", spec, "--rounds", 2, "--compare"))

    def test_asm(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "code.bin"
            report = self.json_of("asm", SMALL, "--bytes", path)
            self.assertEqual(path.stat().st_size, report["code_bytes"])
        lines = report["lines"]
        # Lines cover the code without a gap, and every label that is named exists.
        offset = 0
        for line in lines:
            self.assertEqual(line["offset"], offset)
            offset += line["length"]
        self.assertEqual(offset, report["code_bytes"])
        self.assertTrue(any(line["text"].startswith("vfmadd") for line in lines))
        self.assertTrue(any(line["text"].startswith("ret") for line in lines))
        labels = {line["label"] for line in lines if "label" in line}
        for line in lines:
            word = line["text"].split()[-1]
            if line["text"].startswith("j"):
                self.assertIn(word, labels)
        self.assertIn("vzeroupper", self.text_of("asm", SMALL))

    def test_errors_point_at_the_text(self):
        text = "matmul f32[5,7] f99[7,9] -> f32[5,9]"
        stderr = self.text_of("synth", text, exit_code=LIBRARY)
        first, shown, caret = stderr.splitlines()
        self.assertIn("1:17:", first)
        self.assertIn("MORELLO_UNKNOWN_DTYPE", first)
        self.assertEqual(shown.strip(), text)
        self.assertEqual(shown[caret.index("^"):][:3], "f99")
        for command in ["synth", "show", "run", "bench", "asm"]:
            error = self.json_of(command, text, exit_code=LIBRARY)["error"]
            self.assertEqual(error["status"], "MORELLO_UNKNOWN_DTYPE")
            self.assertEqual((error["line"], error["column"]), (1, 17))

    def test_usage_errors(self):
        for arguments in [[], ["sing"], ["synth"], ["synth", SMALL, "--target", "sse"],
                          ["synth", SMALL, "--threads", "0"], ["synth", SMALL, "--time-budget", "-1"],
                          ["run", SMALL, "--rounds", "3"], ["synth", SMALL, "extra"]]:
            self.assertNotEqual(self.text_of(*arguments, exit_code=USAGE), "", arguments)

    def test_standard_input(self):
        specs = f"# two, and one that is wrong\n\n{SMALL}\n  {FUSED}\n"
        done = morello("synth", "-", "--json", stdin=specs)
        self.assertEqual(done.returncode, OK)
        printed = [json.loads(line)["spec"] for line in done.stdout.splitlines()]
        self.assertEqual(printed, [SMALL, FUSED])
        done = morello("run", "-", stdin=specs + "nonsense\n" + SMALL + "\n")
        self.assertEqual(done.returncode, LIBRARY)
        self.assertEqual(done.stdout.count("result"), 3)
        self.assertIn("1:1:", done.stderr)


if __name__ == "__main__":
    MORELLO = sys.argv.pop(1)
    unittest.main()

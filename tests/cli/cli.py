#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The morello command from outside: cli.py MORELLO.

Every subcommand on small Specs, its JSON, its exit codes, and what it says about errors.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from npy import npy, read_npy

MORELLO = None
SMALL = "matmul f32[5,7] f32[7,9] -> f32[5,9]"
FUSED = "matmul f32[6,16] f32[16,24] + bias f32[24] -> relu -> f32[6,24]"
TARGETS = ["avx2", "avx512", "avx2_vnni", "avx512_vnni", "avx512_bf16", "avx512_amx"]
OK, FAILED, USAGE, LIBRARY = 0, 1, 2, 3


def morello(*arguments, stdin=""):
    return subprocess.run([MORELLO, *map(str, arguments)], input=stdin, text=True,
                          capture_output=True, timeout=240)


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
        return self.json_of("cpu")["usable_isas"]

    def test_cpu(self):
        report = self.json_of("cpu")
        self.assertIn("avx2", report["usable_isas"])
        self.assertIn(report["isa"], report["usable_isas"])
        self.assertLessEqual(set(report["usable_isas"]), set(TARGETS))
        self.assertIn(", ".join(report["usable_isas"]), self.text_of("cpu"))
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
                self.assertEqual(other["table_reason"], "spec", command)
                self.assertEqual(other["cost_cycles"], both["cost_cycles"])
            self.assertIn("the program is the table's",
                          self.text_of("synth", SMALL, "--target", "avx2", *files))
            # A table of other kernels covers nothing; who would rather have an error asks for it.
            for reason, *options in [["target", "--target", "avx512"],
                                     ["threads", "--target", "avx2", "--threads", 2]]:
                report = self.json_of("show", SMALL, *options, *files)
                self.assertEqual((report["table"], report["table_reason"]), ("not covered", reason))
                error = self.json_of("show", SMALL, *options, *files, "--strict-table",
                                     exit_code=LIBRARY)["error"]
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
                         "add f32[3,5]{strides=8,1} f32[5] -> f32[3,5]", "fill 2.5 -> f32[11]",
                         "matmul bf16[5,7] bf16[7,9] -> bf16[5,9]",
                         "matmul u8[5,7] i8[7,9] + i32[9] * f32[9] + f32[] -> u8[5,9]",
                         "matmul f32[1,37] i8[37,50]{*} * f32[1,50] -> f32[1,50]",
                         "move f32[77] -> f16[77]", "reduce_sum u8[9,4] axis=1"]:
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

    def test_several_outputs(self):
        spec = "x f32[2,3]; m = reduce_max x axis=1; y = neg x; m, y"
        x = [1.5, -2.0, 0.25, -4.0, -1.0, -8.0]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "x.npy").write_bytes(npy((2, 3), x))
            text = self.text_of("run", "--input", folder / "x.npy", "--output", folder / "m.npy", "--output",
                                folder / "y.npy", spec)
            self.assertIn("all 8 results checked", text)
            self.assertEqual(read_npy(folder / "m.npy"), ((2,), [1.5, -1.0]))
            self.assertEqual(read_npy(folder / "y.npy"), ((2, 3), [-value for value in x]))
            problem = self.text_of("run", spec, *["--output", folder / "m.npy"] * 3, exit_code=FAILED)
            self.assertIn("3 files for --output, but the Spec has 2 outputs", problem)

    def test_npy_of_every_element_type(self):
        values = {"f32": [0.5, -2.0, 3.0], "f16": [0.5, -2.0, 3.0],
                  "bf16": [0x3f00, 0xc000, 0x4040], "i8": [-128, 5, 127], "u8": [0, 7, 255],
                  "i32": [-2**31, 16777217, 9]}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for dtype, given in values.items():
                (folder / "x.npy").write_bytes(npy((3,), given, dtype=dtype))
                self.text_of("run", f"move {dtype}[3] -> {dtype}[3]", "--input", folder / "x.npy",
                             "--output", folder / "y.npy")
                self.assertEqual(read_npy(folder / "y.npy"), ((3,), given))
                other = "i8" if dtype != "i8" else "bf16"
                problem = self.text_of("run", f"move {other}[3] -> {other}[3]", "--input",
                                       folder / "x.npy", exit_code=FAILED)
                self.assertIn(f"elements of {dtype} where operand 0 is {other}", problem)
            bytes_ = npy((3,), values["f32"]).replace(b"<f4", b"<f8")
            (folder / "x.npy").write_bytes(bytes_)
            problem = self.text_of("run", "relu f32[3]", "--input", folder / "x.npy",
                                   exit_code=FAILED)
            self.assertIn("'<f8' is none of '<f4'", problem)

    def test_rates_of_integers_are_no_flops(self):
        self.assertIn(" GOP/s", self.text_of("bench", "matmul u8[8,16] i8[16,32]", "--rounds", 3))
        text = self.text_of("bench", "matmul bf16[8,16] bf16[16,32]", "--rounds", 3)
        self.assertIn(" GFLOP/s, median", text)
        # No share of multiply-adds in f32 where the CPU has others.
        self.assertEqual("of this core's" in text, "avx512_bf16" not in self.isas())
        self.assertIn("not measured of these", self.text_of("bench", "relu i8[64]", "--rounds", 3))
        self.assertIsNone(self.json_of("bench", "relu i8[64]", "--rounds", 3)["percent_of_peak"])

    def test_bench(self):
        report = self.json_of("bench", SMALL, "--rounds", 3, "--show")
        self.assertTrue(report["ok"])
        self.assertEqual(report["rounds"], 3)
        self.assertLessEqual(report["best_ns"], report["median_ns"])
        self.assertEqual((report["checked"], report["results"]), (45, 45))
        self.assertEqual(report["noise"], report["spread"] > 0.5)
        for key in ["gflops", "compulsory_gbytes_per_second", "peak_gflops", "percent_of_peak"]:
            self.assertGreater(report[key], 0, key)
        self.assertTrue(report["impl"])
        text = self.text_of("bench", SMALL, "--rounds", 3, "--show")
        self.assertTrue(text.startswith(report["impl"]))
        self.assertIn("GFLOP/s", text)
        self.assertIn("all 45 results checked", text)

    def test_check(self):
        spec = "relu f32[90,100] -> f32[90,100]"
        for command in [["run"], ["bench", "--rounds", 2]]:
            report = self.json_of(*command, spec, "--check=sample")
            self.assertEqual((report["checked"], report["results"], report["ok"]), (4096, 9000, True))
            self.assertIn("ok: checked 4,096 of 9,000 results", self.text_of(*command, spec, "--check", "sample"))
            report = self.json_of(*command, spec, "--check", "none")
            self.assertEqual((report["checked"], report["ok"]), (0, None))
            self.assertIn("not checked", self.text_of(*command, spec, "--check", "NONE"))
            self.assertEqual(self.json_of(*command, spec, "--check", "full")["checked"], 9000)
            self.assertEqual(self.json_of(*command, spec)["checked"], 9000)
        large = "matmul f32[1300,1300] f32[1300,1300] -> f32[1300,1300]"
        self.assertEqual(self.json_of("run", large, "--time-budget", "1e-6")["checked"], 4096)

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

    def test_code_for_other_cpus_is_disassembled(self):
        report = self.json_of("asm", "matmul u8[16,64] i8[64,16] -> i32[16,16]", "--target", "avx512_amx")
        self.assertEqual(report["isa"], "avx512_amx")

    def test_files_that_are_no_specs(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "t.mtab"
            path.write_text("x")
            self.assertIn("is a file, no Spec", self.text_of("run", path, exit_code=LIBRARY))
            self.assertIn("unknown operation", self.text_of("run", "nosuchfile", exit_code=LIBRARY))

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
        for arguments in [[], ["synth"], ["run", SMALL, "--rounds", "3"], ["synth", SMALL, "extra"],
                          ["synth", SMALL, "--target"], ["table"], ["cpu", "extra"],
                          ["synth", SMALL, "--threads", "2", "--threads", "2"]]:
            error = self.text_of(*arguments, exit_code=USAGE)
            self.assertRegex(error, r"^morello: [^\n]+\n(.+\n)*morello.* --help says more.\n$", arguments)
            for internal in ["->0", "INT", "TEXT", "UINT", "FAILED", "required but"]:
                self.assertNotIn(internal, error, arguments)

    def test_values_are_checked(self):
        digits = "9" * 309
        for option, valid, values in [
                ("--target", "one of auto, " + ", ".join(TARGETS), ["sse", "1", "avx", ""]),
                ("--threads", "a whole number from 1 to 1024", ["0", "-1", "1e1", "0x2", "2 ", digits]),
                ("--search-threads", "a whole number from 0 to 1024", ["1025", "nan"]),
                ("--memory-budget", "a whole number from 0 to 1099511627776", ["-1", "1099511627777"]),
                ("--effort", "quick, exact, or a whole number of expansions from 1", ["0", "fast", "-1", "1.5", ""]),
                ("--seed", "a whole number from 0 to 18446744073709551615", ["-1", "18446744073709551616"]),
                ("--rounds", "a whole number from 1 to 100000", ["0", "1.5"]),
                ("--check", "one of full, sample, none", ["some"]),
                ("--time-budget", "a number of seconds from 0 to 1000000000",
                 ["nan", "-nan", "inf", "-1", "-0", "-1e-400", "1e308", "1e999", digits, "", "1s", "0x1"])]:
            for value in values:
                error = self.text_of("bench", SMALL, option, value, exit_code=USAGE)
                self.assertIn(f"{option}: '{value[:40]}", error)
                self.assertIn(f"' is not {valid}\n", error)
                self.assertNotIn("9" * 41, error)
        error = self.text_of("table", "plot", "t.mtab", "--group", "-1", exit_code=USAGE)
        self.assertIn("a whole number from 0 to 9223372036854775807", error)
        self.assertIn("seconds from 0 to 86400",
                      self.text_of("precompute", SMALL, "--out", "t", "--save-every", "nan", exit_code=USAGE))

    def test_words_in_any_case(self):
        for isa in ["AVX2", "Avx2", "avx2"]:
            self.assertEqual(self.json_of("show", SMALL, "--target", isa)["isa"], "avx2")
        self.assertEqual(self.json_of("show", SMALL, "--isa", "AVX512")["isa"], "avx512")
        self.json_of("show", SMALL, "--isa=Auto")

    def test_the_smallest_time_budget_is_one(self):
        hard = ["synth", "matmul f32[500,500] f32[500,500] -> f32[500,500]", "--target", "avx2", "--time-budget"]
        for budget in ["1e-9", "1e-400", "0.0000001"]:
            self.assertFalse(self.json_of(*hard, budget)["optimal"], budget)
        for budget in ["0", "0.0", "1e3"]:
            self.assertTrue(self.json_of("synth", SMALL, "--time-budget", budget)["optimal"], budget)

    def test_what_may_have_been_meant(self):
        for arguments, hint in [
                (["shwo", SMALL], "unknown command 'shwo'; did you mean 'show'?"),
                (["benchmark", SMALL], "did you mean 'bench'?"),
                (["precomp"], "did you mean 'precompute'?"),
                (["table", "inof", "t.mtab"], "unknown command 'table inof'; did you mean 'table info'?"),
                (["sing"], "unknown command 'sing'; there are synth, show, run, bench, explain, asm, cpu, completion, man, emit, table"),
                (["table"], "a command is needed after morello table: info, verify, merge, dump, plot"),
                (["synth", SMALL, "--thread", "2"], "morello synth has no option '--thread'; did you mean '--threads'?"),
                (["synth", SMALL, "--serch-threads=2"], "did you mean '--search-threads'?"),
                (["synth", SMALL, "-target", "avx2"], "did you mean '--target'?"),
                (["synth", SMALL, "--gurgle"], "morello synth has no option '--gurgle'\n"),
                (["synth", SMALL, "--rounds", "3"], "has no option '--rounds'; morello bench has it"),
                (["--target", "avx2", "synth", SMALL], "'--target' goes after the command: morello synth --target"),
                (["--verison"], "did you mean '--version'?")]:
            self.assertIn(hint, self.text_of(*arguments, exit_code=USAGE), arguments)

    def test_unquoted_specs(self):
        words = ["matmul", "f32[5,7]", "f32[7,9]", "-"]  # and > f32[5,9], which the shell takes
        for command in ["synth", "show", "run", "bench", "asm"]:
            error = self.text_of(command, *words, exit_code=USAGE)
            self.assertIn("needs quotes", error)
            self.assertIn(f"  morello {command} 'matmul f32[4,8] f32[8,16] -> f32[4,16]'\n", error)
        for without_command in [words, [SMALL], ["relu", "f32[3]"], ["relu f32[3] -> f33[3]"]]:
            error = self.text_of(*without_command, exit_code=USAGE)
            self.assertIn("is no command", error)
            self.assertIn("needs quotes", error)
        self.assertNotIn("quotes", self.text_of("cpu", "extra", exit_code=USAGE))
        with tempfile.TemporaryDirectory() as name:
            error = self.text_of("precompute", *words, "--out", f"{name}/t.mtab", exit_code=LIBRARY)
            self.assertIn("morello precompute 'matmul", error)

    def test_standard_input(self):
        specs = f"# two, and one that is wrong\n\n{SMALL}\n  {FUSED}\n"
        done = morello("synth", "-", "--json", stdin=specs)
        self.assertEqual(done.returncode, OK)
        printed = [json.loads(line)["spec"] for line in done.stdout.splitlines()]
        self.assertEqual(printed, [SMALL, FUSED])
        done = morello("run", "-", stdin=specs + "nonsense\n" + SMALL + "\n")
        self.assertEqual(done.returncode, LIBRARY)
        self.assertEqual(done.stdout.count("result   ok"), 3)
        self.assertIn("morello: 5:1: unknown operation 'nonsense'", done.stderr)
        for nothing in ["", "\n", "# no Spec", "\n\n"]:
            for command in ["synth"], ["explain"], ["bench", SMALL]:
                command.insert(1, "-")
                self.assertIn("no SPEC was given", self.text_of(*command, stdin=nothing, exit_code=USAGE))

    def test_standard_input_that_is_no_text(self):
        """Nothing is cut: a Spec with a zero byte is no Spec, and the others are read."""
        specs = f"{SMALL}\n{SMALL}\0garbage\n\0\n{FUSED}\n"
        done = morello("synth", "-", "--json", stdin=specs)
        self.assertEqual(done.returncode, LIBRARY)
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([report["spec"] for report in reports], [SMALL, f"{SMALL}\0garbage", "\0", FUSED])
        self.assertEqual([report.get("error", {}).get("input_line") for report in reports], [None, 2, 3, None])
        self.assertEqual([report.get("error", {}).get("status") for report in reports],
                         [None, "MORELLO_SYNTAX_ERROR", "MORELLO_SYNTAX_ERROR", None])
        self.assertIn(f"morello: 2:{len(SMALL) + 1}: a zero byte", done.stderr)
        self.assertNotIn("\0", done.stderr)

    def test_standard_input_that_cannot_be_read(self):
        for source, problem in [("/", "1: cannot read standard input: Is a directory"),
                                ("/dev/zero", "1: a line of more than 1048576 bytes")]:
            file = os.open(source, os.O_RDONLY)
            done = subprocess.run([MORELLO, "synth", "-"], stdin=file, text=True, capture_output=True,
                                  timeout=60, check=False)
            os.close(file)
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(problem, done.stderr)
        done = subprocess.run(["sh", "-c", 'exec "$0" synth - <&-', MORELLO], text=True, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("cannot read standard input", done.stderr)

    def test_messages_stay_short_and_printable(self):
        text = "relu f32[3]" + " " * 5000 + "\x1b[31m " + "x" * 5000
        stderr = self.text_of("synth", text, exit_code=LIBRARY)
        self.assertLess(len(stderr), 800)
        self.assertNotIn("\x1b", stderr)
        _, shown, caret = stderr.splitlines()
        self.assertEqual(shown[caret.index("^"):][:5], "?[31m")


class Duel(unittest.TestCase):
    json_of = Cli.json_of
    def test_several_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            stored, csv, out = (pathlib.Path(folder, name) for name in ("k.mkrn", "r.csv", "r.json"))
            self.assertEqual(morello("synth", "--save", stored, SMALL).returncode, OK)
            large = "matmul f32[64,64] f32[64,64]"
            found = self.json_of("bench", "--rounds", 20, SMALL, stored, large, "--export", csv, "--export", out)
            first, same, more = found["kernels"]
            self.assertEqual(same["spec"], first["spec"])
            self.assertNotIn("against_first", first)
            self.assertTrue(more["against_first"]["differs"])
            self.assertGreater(more["against_first"]["low"], 1.5)
            lines = csv.read_text().splitlines()
            self.assertEqual(len(lines), 1 + 3 * 20)
            self.assertEqual(lines[0], "contender,spec,kernel,round,calls,nanoseconds")
            self.assertEqual([len(each["rounds_ns"]) for each in json.loads(out.read_text())], [20] * 3)
            text = morello("bench", "--rounds", 20, SMALL, large).stdout
            self.assertRegex(text, r"2 against 1: slower: [\d.]+ times as long, [\d.]+ to [\d.]+ with 99% certainty")
            self.assertIn("too few rounds", morello("bench", "--rounds", 2, SMALL, large).stdout)
            self.assertEqual(morello("bench", SMALL, "matmul f32[2").returncode, LIBRARY)


if __name__ == "__main__":
    MORELLO = sys.argv.pop(1)
    unittest.main()

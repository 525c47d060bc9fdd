#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completions and the manual page, beside --help: completions.py MORELLO. Shells that are not there are skipped."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MORELLO = None
COMMANDS = ["synth", "show", "run", "bench", "explain", "asm", "cpu", "completion", "man", "emit", "precompute",
            "table", "table info", "table verify", "table merge", "table dump", "table plot"]


def text_of(*command, **options):
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=True, **options).stdout


def options_of(command):
    """As --help has them."""
    lines = text_of(MORELLO, *command.split(), "--help").splitlines()
    names = [name for line in lines for name in re.match(r" *((?:-[\w-]+,?)*)", line)[1].split(",")]
    found = {name for name in names if name.startswith("--")}
    assert "--help" in found
    return found


class Completions(unittest.TestCase):
    def need(self, tool):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed")
            self.skipTest(f"{tool} is not installed")

    def test_every_option_of_every_command_is_in_the_manual(self):
        page = text_of(MORELLO, "man").replace("\\-", "-")
        for command in COMMANDS:
            section = page.split(f'.SS "morello {command}"\n')[1].split(".SS")[0]
            for option in options_of(command):
                self.assertIn(option, section, command)

    def test_the_synopsis_says_what_repeats(self):
        synopsis = text_of(MORELLO, "man").split(".SH DESCRIPTION")[0].replace("\\fI", "").replace("\\fR", "")
        usages = dict(re.findall(r"^\.B morello (.+)\n\[OPTION\]\.\.\. ?(.*)$", synopsis, re.M))
        for command, usage in (("emit", "SPEC..."), ("precompute", "FAMILY..."), ("table merge", "FILE..."),
                               ("table dump", "FILE"), ("bench", "SPEC [OTHER...]"), ("run", "SPEC"), ("cpu", "")):
            self.assertEqual(usages[command], usage)
            self.assertIn(f"morello {command} [OPTIONS] {usage}".strip(),
                          text_of(MORELLO, *command.split(), "--help"))

    def test_the_manual_has_no_warnings(self):
        self.need("groff")
        done = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-ww"], input=text_of(MORELLO, "man"), text=True,
                              capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("morello table info", done.stdout)

    def bash(self, line):
        words = line.split(" ")
        script = text_of(MORELLO, "completion", "bash") + (
            f"COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _morello; "
            'printf "%s\\n" "${COMPREPLY[@]}"')
        return set(text_of("bash", "-c", script).split())

    def test_bash(self):
        self.need("bash")
        self.assertEqual(self.bash("morello sy"), {"synth"})
        self.assertEqual(self.bash("morello table "), {"info", "verify", "merge", "dump", "plot"})
        self.assertEqual(self.bash("morello bench --target avx2"), {"avx2", "avx2_vnni"})
        self.assertEqual(self.bash("morello emit --isa avx512_b"), {"avx512_bf16"})
        self.assertEqual(self.bash("morello emit --isa avx2,avx512_b"), {"avx2,avx512_bf16"})
        self.assertEqual(self.bash("morello emit --isa avx512_bf16,avx2,avx512_b"), set())  # is there already
        self.assertIn("avx512,avx2", self.bash("morello emit --isa avx512,"))
        self.assertEqual(self.bash("morello synth --effort "), {"exact", "quick"})
        self.assertEqual(self.bash("morello precompute --effort q"), {"quick"})
        self.assertEqual(self.bash("morello completion "), {"bash", "zsh", "fish"})
        self.assertEqual(self.bash("morello synth --save "), set())  # files, by readline
        for command in COMMANDS:
            self.assertLessEqual(options_of(command) - {"--version"}, self.bash(f"morello {command} --"), command)

    def test_fish(self):
        self.need("fish")
        with tempfile.NamedTemporaryFile("w", suffix=".fish") as script:
            script.write(text_of(MORELLO, "completion", "fish"))
            script.flush()

            def complete(line):
                found = text_of("fish", "--no-config", "-c", f"source {script.name}; complete -C '{line}'")
                return {entry.split("\t")[0] for entry in found.splitlines()}
            self.assertEqual(complete("morello table p"), {"plot"})
            self.assertLessEqual({"avx2", "avx512"}, complete("morello synth --target "))
            self.assertEqual(complete("morello emit --isa avx2,avx512_b"), {"avx2,avx512_bf16"})
            for command in COMMANDS:
                self.assertLessEqual(options_of(command), complete(f"morello {command} --"), command)

    def test_zsh(self):
        self.need("zsh")
        script = text_of(MORELLO, "completion", "zsh")
        text_of("zsh", "-f", "-n", "-c", script)
        for command in COMMANDS:
            section = script.split(f"('morello {command}')")[1].split(";;")[0]
            for option in options_of(command):
                self.assertIn(f"'*{option}[", section, command)


if __name__ == "__main__":
    MORELLO = sys.argv.pop()
    unittest.main(verbosity=2)

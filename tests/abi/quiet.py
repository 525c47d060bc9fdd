#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that searches, makes code and runs it has no error and no lost block under valgrind, which
programs that embed the library are debugged with: quiet.py PROGRAM [ARGS], which runs in an empty folder.

Exit status: 0 quiet, 1 not, 77 cannot be checked here (the reason is printed).
"""
import os
import shutil
import subprocess
import sys
import tempfile

COMPLAINS = 99


def main():
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("skipped: valgrind is not installed (Debian: apt-get install valgrind)")
        sys.exit(77)
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([valgrind, "--quiet", f"--error-exitcode={COMPLAINS}", "--leak-check=full",
                              "--show-leak-kinds=definite,indirect",
                              "--errors-for-leak-kinds=definite,indirect", program, *sys.argv[2:]],
                             cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    print(ran.stdout + ran.stderr)
    if ran.returncode != 0 or "==" in ran.stderr:
        sys.exit(f"valgrind complained; exit status {ran.returncode}")
    print(f"{sys.argv[1]} is quiet under valgrind")


if __name__ == "__main__":
    main()

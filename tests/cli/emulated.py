#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the command on emulated CPUs: AVX2 code on CPUs that have no more, a refusal where there is less.

The emulator reads the whole vector of a masked load, which a CPU does not, so operands are not placed
against inaccessible pages here."""
import subprocess
import sys

QEMU, MORELLO = sys.argv[1:3]
SPECS = [
    "matmul f32[17,31] f32[31,47] + bias f32[47] -> relu -> f32[17,47]",
    "matmul f32[2,13,9] f32[2,9,20]{1,2,0} += f32[2,13,20]",
    "matmul f32[5,70]{0,1} f32[70,3] -> f32[5,3]{0,1}",
    "matmul f32[1,64] f32[64,100]{*} -> f32[1,100]",
    "transpose f32[33,17] -> f32[17,33]",
    "reduce_max f32[19,37] axis=1 -> f32[19]",
    "reduce_sum f32[19,37] axis=0 -> f32[37]",
    "sub f32[9,21] f32[21] -> sqrt -> abs -> f32[9,21]{0,1}",
    "fill 2.5 -> f32[3,5]{strides=7,1}",
]


def run(cpu, *arguments):
    return subprocess.run([QEMU, "-cpu", cpu, MORELLO, *arguments], text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


if not QEMU:
    print("skipped: qemu-x86_64 is not installed (Debian: qemu-user)")
    sys.exit(77)
for model in ("Haswell", "EPYC"):
    for spec in SPECS:
        result = run(model, "run", spec)
        if result.returncode != 0 or "avx2" not in result.stdout:
            sys.exit(f"{model}: {spec}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
refused = run("Nehalem", "run", SPECS[0])
if refused.returncode != 3 or "MORELLO_ISA_UNAVAILABLE" not in refused.stderr:
    sys.exit(f"a CPU without AVX2 was not refused: {refused.returncode}\n{refused.stderr}")
print(f"{2 * len(SPECS)} kernels ran, one CPU was refused")

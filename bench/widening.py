#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it takes that vectors of narrow factors become f32 between FMAs (AVX2): the ground of the prices in src/cost.

    python3 bench/widening.py [--processes 3]

Writes inner loops of one register tile in assembly, with the instructions that kernels have, both factors in L1; builds
them with c++, runs them, and prints for each tile and way how many times as long it takes as f32 of the tile that takes the
least for each sum, and, where that is a tenth longer than f32 of the same tile, how many instructions a cycle the FMAs
and what widens are together (f32 of the best tile taken as two FMAs a cycle).
"""
import argparse
import os
import subprocess
import tempfile

TILES = ((2, 6), (2, 5), (3, 3), (4, 2), (5, 2), (6, 2), (8, 1))  # rows, vectors
GROUPS, UNROLLED = 64, 4  # of two elements of k
ROW = 2112  # bytes from one row of the factor that is broadcast to the next


def load_f32(half, vector, vectors, to, mask):
    return [f"vmovups {(half * vectors + vector) * 32}(%rsi), %ymm{to}"]


def load_pairs(half, vector, vectors, to, mask):
    widen = f"vpand %ymm{mask}, %ymm{to}, %ymm{to}" if half else f"vpslld $16, %ymm{to}, %ymm{to}"
    return [f"vmovups {vector * 32}(%rsi), %ymm{to}", widen]


def load_rows(half, vector, vectors, to, mask):
    return [f"vpmovzxwd {(half * vectors + vector) * 16}(%rsi), %ymm{to}", f"vpslld $16, %ymm{to}, %ymm{to}"]


def load_order(half, vector, vectors, to, mask):
    return [f"vbroadcasti128 {(half * vectors + vector) * 16}(%rsi), %ymm{to}",
            f"vpshufb order(%rip), %ymm{to}, %ymm{to}"]


def load_i8(half, vector, vectors, to, mask):
    return [f"vpmovsxbd {(half * vectors + vector) * 8}(%rsi), %ymm{to}", f"vcvtdq2ps %ymm{to}, %ymm{to}"]


def load_f16(half, vector, vectors, to, mask):
    return [f"vcvtph2ps {(half * vectors + vector) * 16}(%rsi), %ymm{to}"]


# Each way: what loads and widens one vector, instructions that widen it, and its bytes over those of f32.
WAYS = {
    "f32": (load_f32, 0, 1),
    "pairs of bf16": (load_pairs, 1, 2),
    "rows of bf16, shifted": (load_rows, 2, 2),
    "rows of bf16, by an order": (load_order, 1, 2),
    "i8": (load_i8, 2, 4),
    "f16": (load_f16, 1, 2),
}


def group(rows, vectors, load):
    """FMAs of two elements of k; what there is less of stays in registers while the other passes."""
    mask = rows * vectors
    held, passing = mask + 1, mask + 1 + min(rows, vectors)
    broadcast = lambda half, row, to: f"vbroadcastss {half * 4 + row * ROW}(%rdi), %ymm{to}"
    lines = []
    for half in (0, 1):
        if rows <= vectors:
            lines += [broadcast(half, r, held + r) for r in range(rows)]
            for v in range(vectors):
                lines += load(half, v, vectors, passing, mask)
                lines += [f"vfmadd231ps %ymm{passing}, %ymm{held + r}, %ymm{r * vectors + v}" for r in range(rows)]
        else:
            for v in range(vectors):
                lines += load(half, v, vectors, held + v, mask)
            for r in range(rows):
                to = passing if passing < 16 else mask
                lines.append(broadcast(half, r, to))
                lines += [f"vfmadd231ps %ymm{held + v}, %ymm{to}, %ymm{r * vectors + v}" for v in range(vectors)]
    return lines


def function(name, rows, vectors, way):
    load, _, narrower = WAYS[way]
    mask = rows * vectors
    lines = [f".globl {name}", ".p2align 6", f"{name}:"]
    lines += [f"vxorps %xmm{i}, %xmm{i}, %xmm{i}" for i in range(rows * vectors)]
    lines += [f"vpcmpeqd %ymm{mask}, %ymm{mask}, %ymm{mask}", f"vpslld $16, %ymm{mask}, %ymm{mask}"]
    lines += [f"mov ${GROUPS // UNROLLED}, %edx", ".p2align 4", "1:"]
    for _ in range(UNROLLED):
        lines += group(rows, vectors, load) + ["add $8, %rdi", f"add ${vectors * 64 // narrower}, %rsi"]
    return lines + ["dec %edx", "jne 1b", "vmovups %ymm0, (%rcx)", "vzeroupper", "ret"]


MAIN = """
#include <algorithm>
#include <chrono>
#include <cstdio>
#define X(name) extern "C" void name(const void*, const void*, long, void*);
LIST
#undef X
int main() {
  // Written first: pages of zeros would share their lines.
  alignas(64) static float a[16 * 4096], b[1 << 14], c[64];
  for (float& x : a) x = 1;
  for (float& x : b) x = 1;
  using Clock = std::chrono::steady_clock;
  const auto time = [&](auto* kernel) {
    double best = 1e9;
    for (int t = 0; t < 200; t++) {
      const auto start = Clock::now();
      for (int i = 0; i < 50; i++) kernel(a, b, 0, c);
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
  };
#define X(name) std::printf(#name " %.9g\\n", time(name));
  LIST
}
"""


def measure(processes):
    names = {f"tile_{r}x{v}_{i}": (r, v, way) for r, v in TILES for i, way in enumerate(WAYS)}
    lines = [".data", ".p2align 5", "order: .zero 32", ".text"]
    for name, of in names.items():
        lines += function(name, *of)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        with open(path("tiles.s"), "w") as out:
            out.write("\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n')
        with open(path("main.cc"), "w") as out:
            out.write(MAIN.replace("LIST", " ".join(f"X({name})" for name in names)))
        subprocess.run(["c++", "-std=c++20", "-O2", "-o", path("run"), path("main.cc"), path("tiles.s")], check=True)
        best = {}
        for _ in range(processes):
            out = subprocess.run([path("run")], check=True, capture_output=True, text=True).stdout
            for name, seconds in (line.split() for line in out.splitlines()):
                best[names[name]] = min(best.get(names[name], 1e9), float(seconds))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=3, help="the best of so many counts")
    best = measure(parser.parse_args().processes)
    of_a_sum = min(best[r, v, "f32"] / (r * v) for r, v in TILES)
    print("| registers | " + " | ".join(WAYS) + " |\n" + "|---" * (len(WAYS) + 1) + "|")
    for r, v in TILES:
        cells = []
        for way, (_, widening, _) in WAYS.items():
            ratio = best[r, v, way] / (of_a_sum * r * v)
            cell = f"{ratio:.2f}"
            if best[r, v, way] > 1.1 * best[r, v, "f32"]:
                cell += f" ({(r * v + widening * v) / (ratio * r * v / 2):.2f})"
            cells.append(cell)
        print(f"| {r}x{v} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`morello emit` from outside: emit.py MORELLO CHECK_C THREADS_C QEMU CC...

What it writes links without morello into programs of every kind, computes what check.c says, can be unwound
from every instruction, and is the same bytes every time; what it refuses leaves no file behind.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MORELLO, CHECK, THREADS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
QEMU, *CC = sys.argv[4:]
SKIP_EXIT = 77
SPECS = [
    "odd = matmul f32[17,31] f32[31,47] -> f32[17,47]",
    "parts = matmul f32[33,65] f32[65,70] -> f32[33,70]",  # code of it has routines
    "layer = matmul f32[5,64] f32[64,33] + bias f32[33] -> relu -> f32[5,33]",
    "half = matmul bf16[9,40] bf16[40,24] += f32[9,24]",
    "loose = matmul f32[4,30] f32[30,50]{*} -> f32[4,50]",
    "column = matmul f32[3,20] f32[20,1]{*} -> f32[3,1]",
    "turned = einsum \"mk,kn->nm\" f32[9,7] f32[7,33] -> f32[33,9]",
    "many = sub f32[21] f32[21] + f32[21] - f32[21] + f32[21] - f32[21] + f32[21] -> f32[21]",
    "filled = fill 2.5 -> f32[15]",
    "both = y = neg f32[21]; m = reduce_max y axis=0; m -> f32[], y += f32[21]",
    "rows = matmul f32[?<=37,20] f32[20,33] -> f32[?,33]",
    "tokens = matmul f32[?<=19,30] f32[30,50]{*} + bias f32[50] -> relu -> f32[?,50]",
    "apart = relu f32[6,?<=5]{strides=1,8} -> f32[6,?]{strides=1,6}",
    "loads = sub f32[?<=9] f32[?] + f32[?] - f32[?] + f32[?] - f32[?] + f32[?] -> f32[?]",
]
SMALL = "relu f32[5] -> f32[5]"
failures = []


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, errors="replace", timeout=300, **options)


def must(*command, **options):
    done = run(*command, **options)
    expect(done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def expect(good, complaint):
    if not good:
        failures.append(complaint)
        print("FAILED:", complaint, flush=True)


def emit(folder, *arguments, name="kernels.o", **options):
    return must(MORELLO, "emit", *arguments, "-o", folder / name, "--header", folder / "kernels.h", **options)


def build(work, name, *options):
    """A program of check.c. Relocations of read-only memory are errors, and so are warnings."""
    program = work / name
    must(*CC, "-std=c11", "-O1", "-g", "-Wall", "-Werror", "-I", work, CHECK, *options, "-pthread",
         "-Wl,-z,text,-z,now,--fatal-warnings", "-o", program)
    return program


def compiled(work):
    """As C and as C++, whatever is warned of."""
    header = work / "kernels.h"
    for words in (("-std=c11", "-x", "c", "-Wstrict-prototypes"), ("-std=c++11", "-x", "c++")):
        must(*CC, *words, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", header)


def inspected(work):
    """The object: what it asks of others, its sections, its symbols."""
    if shutil.which("readelf") is None or shutil.which("nm") is None:
        print("readelf is not installed: the object is not inspected")
        return
    kernels = work / "kernels.o"
    expect(must("nm", "-u", kernels) == "", "the object needs symbols of others")
    sections = must("readelf", "-SW", kernels)
    expect(not re.search(r"\bWAX?\b.*\bX\b|\bWX", sections), "a section is writable and executable")
    expect(re.search(r"\.note\.GNU-stack +PROGBITS +0+ [0-9a-f]+ 000000 00 +0 +0", sections),
           f"no note that the stack is not executable:\n{sections}")
    relocations = set(re.findall(r"\bR_X86_64_\w+", must("readelf", "-rW", kernels)))
    expect(relocations == {"R_X86_64_PC32"}, f"relocations {relocations}")
    symbols = re.findall(r"^ *\d+: [0-9a-f]+ +(\d+) (\w+) +(\w+) +(\w+) +(\w+) (\S+)$",
                         must("readelf", "-sW", kernels), re.M)
    for size, kind, binding, _, _, name in symbols:
        expect(int(size) > 0 or kind == "SECTION", f"{name} has no size")
        expect(binding != "GLOBAL" or kind == "FUNC", f"{name} is {kind}")
    names = {name: binding for _, _, binding, _, _, name in symbols}
    for name in ("odd", "odd_avx2", "odd_avx512", "loose_pack_b", "loose_pack_b_avx2"):
        expect(names.get(name) == "GLOBAL", f"no function {name}")
    expect(names.get("odd_avx2.kernel") == "LOCAL", "no symbol of the kernel itself")
    expect(names.get("parts_avx2.routine1") == "LOCAL", "no routine: take another Spec")
    # What nobody calls can be left out.
    source = work / "one.c"
    source.write_text('#include "kernels.h"\nint main(void) { float out[15]; return filled(out, 0) > 0; }\n')
    must(*CC, "-I", work, source, kernels, "-Wl,--gc-sections,--fatal-warnings", "-o", work / "one")
    left = must("nm", work / "one")
    expect("filled_avx2" in left and "odd_avx2" not in left, f"not the one function that is called:\n{left}")
    frames = must("readelf", "--debug-dump=frames", kernels)
    expect(frames.count("FDE") >= sum(kind == "FUNC" for _, kind, *_ in symbols), "frames are missing")


def program_inspected(program):
    if shutil.which("readelf") is None:
        return
    expect("TEXTREL" not in must("readelf", "-dW", program), f"{program.name} has text relocations")
    expect(re.search(r"GNU_STACK.* RW +0x", must("readelf", "-lW", program)),
           f"the stack of {program.name} is executable")
    needed = re.findall(r"NEEDED.*\[(.*?)\]", must("readelf", "-dW", program))
    expect(not any("morello" in name for name in needed), f"{program.name} needs {needed}")


def runs(work):
    kernels = work / "kernels.o"
    usable = "avx2" in re.split(r"[\s,]+", must(MORELLO, "cpu"))
    programs = [build(work, "pie", kernels, "-fPIE", "-pie"), build(work, "fixed", kernels, "-no-pie")]
    emit(work, *SPECS, "--static-lib", name="libkernels.a")
    programs.append(build(work, "archive", "-fPIE", "-pie", "-L", work, "-lkernels"))
    must(*CC, "-shared", "-Wl,-z,text", "-o", work / "libmade.so", kernels)
    programs.append(build(work, "shared", "-L", work, f"-Wl,-rpath,{work}", "-lmade"))
    if shutil.which("ld"):
        emit(work, *SPECS, "--shared", name="libwhole.so")
        programs.append(build(work, "whole", "-L", work, f"-Wl,-rpath,{work}", "-lwhole"))
        program_inspected(work / "libwhole.so")
    for program in programs:
        program_inspected(program)
        print(must(program, *(() if usable else ("none",))), end="")
    if usable:
        for program in (programs[0], programs[-1]):
            print(must(program, "step"), end="")
    static = build(work, "static", kernels, "-static") if not QEMU == "" else None
    for cpu, mode in (("Haswell", ()), ("EPYC", ()), ("Nehalem", ("none",)), ("qemu64", ("none",))):
        if static is not None:
            must(QEMU, "-cpu", cpu, static, *mode)
    if static is None:
        print("skipped: qemu-x86_64 is not installed (Debian: qemu-user): no other CPUs were tried")
    if usable and shutil.which("gdb"):
        shown = run("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "break odd_avx2.kernel",
                    "-ex", "run", "-ex", "bt", programs[1]).stdout
        found = re.search(r"#0 .*odd_avx2.kernel.*#1 .*odd_avx2.*#\d .*check_all", shown, re.S)
        if "ptrace" not in shown and "avx512" not in must(MORELLO, "cpu").split("usable")[-1]:
            expect(found, f"gdb shows:\n{shown}")


def the_same_again(work):
    """The bytes depend on the Specs and instruction sets, and on nothing else."""
    first = {name: (work / name).read_bytes() for name in ("kernels.o", "kernels.h", "libkernels.a")}
    again = work / "again"
    again.mkdir()
    emit(again, *SPECS, "--search-threads", "3", "--isa", "avx512,AVX2,avx2", env=dict(os.environ, TZ="UTC+5"))
    emit(again, *SPECS, "--static-lib", name="libkernels.a", cwd="/")
    lines = again / "lines"
    lines.write_text("# all of them\n" + "\n".join(SPECS) + "\n")
    for name, content in first.items():
        expect((again / name).read_bytes() == content, f"{name} is not the same again")
    with open(lines, encoding="utf-8") as source:
        emit(again, "-", stdin=source)
    expect((again / "kernels.o").read_bytes() == first["kernels.o"], "other bytes from standard input")
    # With tables there is no search; the programs are the same.
    spec = "matmul f32[8,16] f32[16,8] -> f32[8,8]"
    tables = []
    for isa in ("avx2", "avx512"):
        tables += ["--table", again / f"{isa}.mtab"]
        must(MORELLO, "precompute", spec, "--isa", isa, "--out", tables[-1])
    emit(again, spec, *tables)
    found = (again / "kernels.o").read_bytes()
    emit(again, spec)
    expect((again / "kernels.o").read_bytes() == found, "a table makes another object")


def tiled(work):
    """A program asks Linux for the tile registers itself, and takes other code where it gets none."""
    spec = "matmul u8[20,70] i8[70,40] -> i32[20,40]"
    must(MORELLO, "emit", spec, "--isa", "avx2,avx512_amx", "-o", work / "tiled.o", "--header", work / "tiled.h")
    source = work / "tiled.c"
    source.write_text("""
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include "tiled.h"
int main(void) {
  static uint8_t a[20 * 70];
  static int8_t b[70 * 40];
  static int32_t out[20 * 40];
  int wrong = 0;
  for (int i = 0; i < 20 * 70; i++) a[i] = (uint8_t)(i * 37);
  for (int i = 0; i < 70 * 40; i++) b[i] = (int8_t)(i * 91);
  void *scratch = aligned_alloc(64, 1 << 20);
  if (NAME(a, b, out, scratch) != 0) return 2;
  for (int m = 0; m < 20; m++)
    for (int n = 0; n < 40; n++) {
      int32_t sum = 0;
      for (int k = 0; k < 70; k++) sum += a[m * 70 + k] * b[k * 40 + n];
      wrong += sum != out[m * 40 + n];
    }
  printf("%d wrong\\n", wrong);
  return wrong != 0;
}
""")
    name = re.search(r"int (morello_\w+)\(const uint8_t", (work / "tiled.h").read_text()).group(1)
    must(*CC, "-std=c11", "-Wall", "-Werror", "-I", work, f"-DNAME={name}", source, work / "tiled.o", "-o",
         work / "tiled")
    usable = re.split(r"[\s,]+", must(MORELLO, "cpu"))
    if "avx2" not in usable:
        print("no AVX2 here: kernels for tile registers are linked, not run")
        return
    must(work / "tiled")
    if "avx512_amx" not in usable:
        print("no AMX here: the program took other code")


def threaded(work):
    """The program brings the threads, whose number is no more than was asked for."""
    product = "product = matmul f32[96,64] f32[64,80] -> f32[96,80]"
    rows = "rows = matmul f32[?<=96,64] f32[64,80] -> f32[?,80]"
    many = "many = add f32[60000] f32[60000] - f32[60000] + f32[60000] - f32[60000] + f32[60000] - f32[60000]"
    must(MORELLO, "emit", "--threads", "3", product, rows, "-o", work / "threads.o", "--header", work / "threads.h")
    must(MORELLO, "emit", "--threads", "2", many, "-o", work / "threads2.o", "--header", work / "threads2.h")
    header = (work / "threads.h").read_text()
    for part in ("#define PRODUCT_THREADS 3", "void *scratch, morello_parallel_for parallel_for, void *user);",
                 "typedef void (*morello_parallel_for)", "brings up to PRODUCT_THREADS (3) threads"):
        expect(part in header, f"the header lacks {part}:\n{header}")
    expect("parallel_for" not in (work / "kernels.h").read_text(), "one thread, and a header that speaks of more")
    must(*CC, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", work, THREADS,
         work / "threads.o", work / "threads2.o", "-pthread", "-Wl,-z,text,--fatal-warnings", "-o", work / "threads")
    must(*CC, "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", work / "threads.h")
    if "avx2" in re.split(r"[\s,]+", must(MORELLO, "cpu")):
        print(must(work / "threads"), end="")
    done = run(MORELLO, "emit", "--threads", "2", product, "-o", work / "no.o", "--rust", work / "no.rs")
    expect(done.returncode == 2 and "leave out --threads" in done.stdout, f"Rust with threads: {done.stdout}")


def named(work):
    text = must(MORELLO, "emit", SMALL, "--isa", "avx2,avx512_bf16,avx2_vnni", "--prefix", "my_", "-o", work / "a.o",
                "--header", work / "a.h")
    expect("my_relu_5" in text, f"the function is not named: {text}")
    header = (work / "a.h").read_text()
    for part in (SMALL, "int my_relu_5(const float *a, float *out, void *scratch);", "my_relu_5_avx512_bf16(",
                 "MY_RELU_5_SCRATCH_BYTES", 'extern "C"'):
        expect(part in header, f"the header lacks {part}:\n{header}")
    # A run-time size is an argument.
    text = must(MORELLO, "emit", "relu f32[?<=5,3] -> f32[?,3]", "-o", work / "a.o", "--header", work / "a.h",
                "--rust", work / "a.rs")
    expect("morello_relu_5x3_sized" in text, f"the function is not named: {text}")
    header, rust = (work / "a.h").read_text(), (work / "a.rs").read_text()
    for part in ("int morello_relu_5x3_sized(const float *a, float *out, int64_t size, void *scratch);", "f32[size,3]",
                 "MORELLO_RELU_5X3_SIZED_LARGEST_SIZE 5", "or -2"):
        expect(part in header, f"the header lacks {part}:\n{header}")
    for part in ("a: &[f32]", "out: &mut [f32]", "size: usize", "a.len() >= (size - 1) * 3 + 3"):
        expect(part in rust, f"Rust lacks {part}:\n{rust}")
    # Outputs that were left out are documented like others.
    must(MORELLO, "emit", "left = matmul f32[?<=4,6] f32[6,8]", "two = p = softmax f32[?<=3,6] axis=1; l = neg p; p, l",
         "sum = relu f32[?<=3] += f32[?]", "-o", work / "a.o", "--header", work / "a.h")
    header = (work / "a.h").read_text()
    for part in ("/** matmul f32[?<=4,6] f32[6,8] -> f32[?,8]\n", "; p -> f32[?,6], l -> f32[?,6]\n"):
        expect(part in header, f"the header lacks {part}:\n{header}")
    expect(header.count("is written, never read") == 3 and header.count("is read, and added to") == 1,
           f"the header does not say what is added to:\n{header}")
    # A graph that begins with a word and "=" has no name; one in front of it is the function's.
    graph = "s = matmul q f32[4,6] k f32[6,8]; softmax s axis=1"
    text = must(MORELLO, "emit", graph, f"named = {graph}", "-o", work / "a.o", "--header", work / "a.h")
    for part in ("morello_graph_matmul_softmax_4x8  ", "named  "):
        expect(part in text, f"no {part}: {text}")
    # Every element type has its name in C and in Rust.
    known = re.search(r"known are ([\w, ]+)", run(MORELLO, "emit", "relu f33[5]", "-o", work / "a.o").stdout).group(1)
    for dtype in known.strip().split(", "):
        must(MORELLO, "emit", f"move {dtype}[5] -> {dtype}[5]", "-o", work / "a.o", "--header", work / "a.h", "--rust",
             work / "a.rs")
        header, rust = (work / "a.h").read_text(), (work / "a.rs").read_text()
        kind = {"f": "float" if dtype == "f32" else "uint16_t", "b": "uint16_t"}.get(dtype[0])
        kind = kind or f"{'u' * (dtype[0] == 'u')}int{dtype[1:]}_t"
        word = dtype if kind != "uint16_t" else "u16"
        expect(f"(const {kind} *a, {kind} *out," in header and f"  {dtype}[5]," in header, f"{dtype} in C:\n{header}")
        expect(f"a: &[{word}; 5]," in rust, f"{dtype} in Rust:\n{rust}")
    # Without a header, and with a link in place of a file, which stays one.
    (work / "real.o").write_text("old")
    (work / "link.o").symlink_to("real.o")
    must(MORELLO, "emit", SMALL, "-o", work / "link.o")
    expect((work / "link.o").is_symlink() and (work / "real.o").read_bytes()[:4] == b"\x7fELF", "the link is gone")


def refused(work):
    """(arguments, exit code, words of the message); no file is left, and one that was there is as it was."""
    other = "relu bf16[5] -> bf16[5]"
    cases = [
        (["matmul f32[4,8] f32[9,16] -> f32[4,16]"], 3, ["MORELLO_INVALID_SHAPE", "^"]),
        (["x = relu f32[5] -> f33[5]"], 3, ["1:20", "MORELLO_UNKNOWN_DTYPE"]),
        ([SMALL, "relu f32[5] ->"], 3, ["MORELLO_SYNTAX_ERROR"]),
        (["relu f32[?,5] -> f32[?,5]"], 3, ["1:10"]),
        ([SMALL, "--isa", "avx2,sse2"], 2, ["'sse2'", "avx512_vnni"]),
        ([SMALL, "--isa", "auto"], 2, ["'auto'"]),
        ([SMALL, "--isa", ""], 2, ["--isa"]),
        ([SMALL, "--prefix", "1x"], 2, ["--prefix", "'1x'"]),
        ([SMALL, "--shared", "--static-lib"], 2, ["--shared"]),
        ([SMALL, other], 3, ["morello_relu_5", "NAME = SPEC"]),
        ([f"f = {SMALL}", f"F = {other}"], 3, ["NAME = SPEC"]),
        ([f"f = {SMALL}", f"F_SCRATCH_BYTES = {other}"], 3, ["NAME = SPEC"]),
        *(([f"{name} = {SMALL}"], 3, ["no function can be named"])
          for name in ("NULL", "int64_t", "INT64_MAX", "_Bool", "linux", "switch")),
        ([f"f = {SMALL}", f"f_avx2 = {other}"], 3, ["f_avx2"]),
        ([f"while = {SMALL}"], 3, ["while"]),
        ([f"match = {SMALL}", "--rust", work / "k.rs"], 3, ["match"]),
        ([SMALL, "--table", work / "no.mtab"], 3, ["MORELLO_IO_ERROR"]),
        ([SMALL, "--header", work / "no" / "k.h"], 1, ["k.h", "cannot be written"]),
        ([SMALL, "--header", "/dev/full"], 1, ["/dev/full"]),
    ]
    folder = work / "refused"
    folder.mkdir()
    for arguments, code, words in cases:
        (folder / "k.o").write_text("as it was")
        done = run(MORELLO, "emit", *arguments, "-o", folder / "k.o")
        expect(done.returncode == code and all(word in done.stdout for word in words),
               f"{arguments}: exit {done.returncode}, not {code}, with {words}:\n{done.stdout}")
        expect((folder / "k.o").read_text() == "as it was", f"{arguments}: the file was touched")
        expect(len(list(folder.iterdir())) == 1, f"{arguments}: {list(folder.iterdir())} is left")
    for path, code in ((work / "no" / "k.o", 1), ("/dev/full", 1), (folder, 1)):
        done = run(MORELLO, "emit", SMALL, "-o", path)
        expect(done.returncode == code, f"-o {path}: exit {done.returncode}\n{done.stdout}")
    done = run(MORELLO, "emit", SMALL, "-o", folder / "k.so", "--shared", env=dict(os.environ, LD="no-such-linker"))
    expect(done.returncode == 1 and "no-such-linker" in done.stdout, f"a missing linker: {done.stdout}")
    expect(not (folder / "k.so").exists(), "a file was left by a linker that is missing")


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if "without libelf" in run(MORELLO, "emit", SMALL, "-o", work / "k.o").stdout:
            expect(not (work / "k.o").exists(), "a file was written without libelf")
            print("skipped: the tool was built without libelf (Debian: libelf-dev)")
            sys.exit(1 if failures else SKIP_EXIT)
        emit(work, *SPECS)
        for test in (compiled, inspected, runs, tiled, the_same_again, threaded, named, refused):
            test(work)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

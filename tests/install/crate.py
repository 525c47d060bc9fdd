#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The crate that brings the library with it: crate.py SOURCE JOBS, or crate.py SOURCE --only-look CXX.

Packages it, unpacks it into an empty folder, builds a program of ten lines against it and runs that, without
an installed libmorello. Takes minutes: the library is compiled. Skipped where crates cannot be had.
With --only-look, which needs no cargo: all that the sources include of others is there, with its licence.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

SKIP_EXIT = 77
PROGRAM = """fn main() {
    let spec: morello::Spec = "matmul f32[4,8] f32[8,16] -> f32[4,16]".parse().unwrap();
    let context = morello::Context::new().unwrap();
    let families = ["matmul f32[<=4,8] f32[8,16]"];  // with a table: zstd is there
    let table = morello::Precompute::new().table_in(&context, &families, None).unwrap();
    let options = morello::Options::new().table(&table);
    let kernel = morello::Kernel::with_options(&spec, &options).unwrap();
    let mut c = vec![0.0f32; 64];
    kernel.run(&[&[1.0f32; 32], &[1.0f32; 128]], &mut c).unwrap();
    assert!(c.iter().all(|x| *x == 8.0));
    println!("ok");
}
"""


def run(*command, **settings):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **settings)


def must(*command, **settings):
    done = run(*command, **settings)
    if done.returncode != 0:
        print("FAILED:", done.stdout)
        sys.exit(1)
    return done.stdout


def unpacked(crates, folder):
    for crate in crates:
        with tarfile.open(crate) as archive:
            archive.extractall(folder)
            names = archive.getnames()
        if "morello-sys" in crate.name:
            for wanted in ("LICENSE", "vendor/licences/xbyak", "vendor/licences/cereal", "vendor/licences/xxhash"):
                if not any(name.endswith(wanted) for name in names):
                    print(f"FAILED: {crate.name} has no {wanted}")
                    sys.exit(1)


def write_program(folder):
    (folder / "program/src").mkdir(parents=True)
    (folder / "program/src/main.rs").write_text(PROGRAM)
    (folder / "program/Cargo.toml").write_text(
        '[package]\nname = "program"\nversion = "0.1.0"\nedition = "2021"\n'
        '[dependencies]\nmorello = { path = "../morello-0.1.0" }\n'
        '[patch.crates-io]\nmorello-sys = { path = "../morello-sys-0.1.0" }\n')


def look(source, compiler):
    """Are headers of others taken from the crate alone?"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "packaged"
        must(sys.executable, source / "capi/rust/packaging/package.py", folder)
        vendor = folder / "morello-sys/vendor"
        for licence in ("xbyak", "cereal", "xxhash"):
            if not (vendor / "licences" / licence).read_text().strip():
                sys.exit(f"FAILED: {licence} has no licence")
        listed = {line for name in ("core", "hot") for line in (vendor / f"{name}.txt").read_text().split()}
        others = ("xbyak", "cereal", "xxhash")
        for file in sorted(listed):
            path = vendor / "src" / file
            if not any(f"{other}" in path.read_text() for other in others) and "x64" not in file:
                continue
            used = must(*compiler, "-std=c++20", "-M", f"-I{vendor}/src", f"-I{vendor}/include", f"-I{vendor}/others", path)
            outside = [word for word in used.split() if any(f"/{other}" in word for other in others)
                       and not pathlib.Path(word).is_relative_to(vendor)]
            if outside:
                sys.exit(f"FAILED: {file} includes {outside}, which the crate lacks")
        print("ok")


def main():
    if sys.argv[2] == "--only-look":
        look(pathlib.Path(sys.argv[1]).resolve(), sys.argv[3:])
        return
    if shutil.which("cargo") is None:
        print("skipped: cargo is not installed")
        sys.exit(SKIP_EXIT)
    source = pathlib.Path(sys.argv[1]).resolve()
    jobs = [sys.argv[2]]
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CARGO_TARGET_DIR", "RUSTFLAGS") and not name.startswith("MORELLO_")}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        must(sys.executable, source / "capi/rust/packaging/package.py", folder / "packaged")
        packaged = run("cargo", "package", "--workspace", "--no-verify", "--allow-dirty", cwd=folder / "packaged",
                       env=environment, timeout=300)
        if packaged.returncode != 0:
            # Without a registry its crates cannot be found; an old cargo packages no workspaces.
            print(packaged.stdout, "skipped: cargo cannot package here, see above")
            sys.exit(SKIP_EXIT)
        crates = sorted((folder / "packaged/target/package").glob("*.crate"))
        for crate in crates:
            print(f"{crate.name}: {crate.stat().st_size} bytes")
        unpacked(crates, folder / "elsewhere")
        shutil.rmtree(folder / "packaged")
        write_program(folder / "elsewhere")
        fetched = run("cargo", "fetch", cwd=folder / "elsewhere/program", env=environment, timeout=300)
        if fetched.returncode != 0:
            print(fetched.stdout, "skipped: the registry is not reached")
            sys.exit(SKIP_EXIT)
        start = time.monotonic()
        must("cargo", "build", "--release", "--offline", "--jobs", *jobs, cwd=folder / "elsewhere/program", env=environment)
        print(f"built in {time.monotonic() - start:.0f} s by {jobs[0]} jobs")
        program = folder / "elsewhere/program/target/release/program"
        print(f"program of {program.stat().st_size} bytes")
        said = must(program, env=environment)
        print(said, end="")
        sys.exit(0 if said == "ok\n" else 1)


if __name__ == "__main__":
    main()

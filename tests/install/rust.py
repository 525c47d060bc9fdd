#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A crate that depends on a crate that depends on morello: rust.py SOURCE BUILD.

Its program starts from its target folder with no variable set; a relative MORELLO_LIB_DIR starts where
cargo is called; with MORELLO_LINK=shared, an rpath in RUSTFLAGS does the same.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP_EXIT = 77
LIBRARY = """pub fn ones() -> f32 {
    let spec: morello::Spec = "matmul f32[4,8] f32[8,16] -> f32[4,16]".parse().unwrap();
    let mut c = vec![0.0; 64];
    morello::Kernel::new(&spec).unwrap().run(&[&[1.0; 32], &[1.0; 128]], &mut c).unwrap();
    c[63]
}
"""


def write_crates(root, source):
    def crate(name, dependency, path, file, text):
        (root / name / "src").mkdir(parents=True)
        (root / name / "Cargo.toml").write_text(
            f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
            f'[dependencies]\n{dependency} = {{ path = "{path}" }}\n')
        (root / name / "src" / file).write_text(text)
    crate("middle", "morello", source / "capi/rust/morello", "lib.rs", LIBRARY)
    crate("outer", "middle", "../middle", "main.rs", "fn main() { assert_eq!(middle::ones(), 8.0); }\n")


def cargo(root, environment, **settings):
    command = ["cargo", "build", "--offline", "--quiet", "--manifest-path", root / "outer/Cargo.toml"]
    return subprocess.run(command, cwd=root, env=dict(environment, **settings), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    if shutil.which("cargo") is None:
        print("skipped: cargo is not installed")
        sys.exit(SKIP_EXIT)
    source, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CARGO_TARGET_DIR", "RUSTFLAGS", "LD_LIBRARY_PATH", "PWD", "OLDPWD")
                   and not name.startswith("MORELLO_")}
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        write_crates(root, source)
        (root / "library").symlink_to(build)
        program = root / "outer/target/debug/outer"
        rpath = f"-Clink-arg=-Wl,-rpath,{build}/capi"
        for settings in ({}, {"MORELLO_LINK": "static"}, {"MORELLO_LINK": "shared", "RUSTFLAGS": rpath}):
            built = cargo(root, environment, MORELLO_LIB_DIR="library", **settings)
            started = built.returncode == 0 and subprocess.run([program], env=environment, check=False,
                                                               timeout=60).returncode == 0
            print(f"{settings or 'as it comes'}: {'ok' if started else 'FAILED'}")
            if not started:
                bad.append(f"{settings}: {built.stdout}")
        # What is wrong is said with the folder that was looked into.
        built = cargo(root, environment, MORELLO_LIB_DIR="outer")
        if built.returncode == 0 or not re.search(r"MORELLO_LIB_DIR=outer: neither \S+/outer nor", built.stdout):
            bad.append(f"a folder without a library: {built.stdout}")
    for complaint in bad:
        print("FAILED:", complaint)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

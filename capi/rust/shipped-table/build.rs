// SPDX-License-Identifier: MIT
//! Makes the tables that the program has inside, with the library that it is built with: another one
//! may have another cost model, and would refuse them.

use morello::{Isa, Precompute};
use std::path::PathBuf;

/// A layer for up to 64 rows at once.
const FAMILIES: [&str; 1] = ["matmul f32[<=64,64] f32[64,256] + bias f32[256] -> relu"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
    for (isa, name) in [(Isa::Avx2, "avx2.mtab"), (Isa::Avx512, "avx512.mtab")] {
        let path = folder.join(name);
        let _ = std::fs::remove_file(&path); // of an older library
        Precompute::new().isa(isa).run(&FAMILIES, &path).unwrap();
    }
}

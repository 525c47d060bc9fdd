// SPDX-License-Identifier: MIT
//! Compiles the C++ sources that are in this crate, unless `MORELLO_LIB_DIR` says where a library is.
//!
//! The library is compiled with optimization in every profile: searches take several times as long
//! without. That takes a compiler of C++20 (g++ 12, clang++ 14), by the rules of the crate `cc`
//! (`CXX`, `CXXFLAGS`), and some minutes of CPU time; cargo keeps the result.

mod system;

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-env-changed=MORELLO_LIB_DIR");
    if env::var_os("MORELLO_LIB_DIR").is_some() || env::var_os("DOCS_RS").is_some() {
        return system::main();
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=vendor");
    let vendor = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("vendor");
    // As in src/meson.build: what a search spends its time in is compiled for speed.
    let mut hot = compiler(&vendor, 3);
    hot.flag_if_supported("-mmemcpy-strategy=vector_loop:1024:noalign,libcall:-1:noalign");
    let objects = add(&mut hot, &vendor, "hot").compile_intermediates();
    let mut core = compiler(&vendor, 2);
    core.objects(objects);
    add(&mut core, &vendor, "core").compile("morello");
    for library in ["pthread", "dl", "m"] {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}

fn compiler(vendor: &Path, level: u32) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++20")
        .opt_level(level)
        .debug(false)
        .define("NDEBUG", None)
        .define("_FILE_OFFSET_BITS", "64")
        .flag("-fvisibility=hidden")
        .flag("-pthread")
        .include(vendor.join("src"))
        .include(vendor.join("include"))
        .include(vendor.join("others"))
        .warnings(false);
    if let Some(zstd) = env::var_os("DEP_ZSTD_INCLUDE") {
        build.includes(env::split_paths(&zstd));
    }
    build
}

fn add<'a>(build: &'a mut cc::Build, vendor: &Path, list: &str) -> &'a mut cc::Build {
    let names = std::fs::read_to_string(vendor.join(list).with_extension("txt")).unwrap();
    build.files(names.lines().map(|name| vendor.join("src").join(name)))
}

// SPDX-License-Identifier: MIT
//! Lets the tests and examples find a shared libmorello that is not installed.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(dir) = std::env::var("DEP_MORELLO_LIB_DIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    }
}

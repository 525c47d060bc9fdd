// SPDX-License-Identifier: MIT
//! Finds libmorello.
//!
//! 1. `MORELLO_LIB_DIR`: a directory with `libmorello.so` or `libmorello.a`, or a Meson build
//!    directory of morello. `MORELLO_LINK=static` or `shared` chooses where both are there
//!    (default: shared).
//! 2. Else pkg-config, module `morello`.
//!
//! A shared library outside the system's directories must also be found when programs start. `cargo
//! run` and `cargo test` see to that. For programs that are started otherwise, crates that depend on
//! this one get its directory as `DEP_MORELLO_LIB_DIR` in their build scripts, and can add it as an
//! rpath, as the `morello` crate does for its tests and examples.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MORELLO_LIB_DIR");
    println!("cargo:rerun-if-env-changed=MORELLO_LINK");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library
    }
    match env::var_os("MORELLO_LIB_DIR") {
        Some(dir) => link_from(Path::new(&dir)),
        None => link_with_pkg_config(),
    }
}

fn link_from(given: &Path) {
    let given = given.canonicalize().unwrap_or_else(|error| {
        panic!("MORELLO_LIB_DIR={}: {}", given.display(), error);
    });
    let wanted: &[&str] = match env::var("MORELLO_LINK").as_deref() {
        Ok("static") => &["libmorello.a"],
        Ok("shared") => &["libmorello.so"],
        Err(_) => &["libmorello.so", "libmorello.a"],
        Ok(other) => panic!("MORELLO_LINK={other}: must be static or shared"),
    };
    let library = find(&given, wanted).unwrap_or_else(|| {
        panic!(
            "MORELLO_LIB_DIR={}: neither it nor its directory capi has {}",
            given.display(),
            wanted.join(" or ")
        )
    });
    let dir = library.parent().unwrap().display();
    println!("cargo:rerun-if-changed={}", library.display());
    println!("cargo:rustc-link-search=native={dir}");
    println!("cargo:lib_dir={dir}");
    if library.extension().unwrap() == "a" {
        println!("cargo:rustc-link-lib=static=morello");
        for dependency in ["zstd", "stdc++", "pthread", "dl", "m"] {
            println!("cargo:rustc-link-lib=dylib={dependency}");
        }
    } else {
        println!("cargo:rustc-link-lib=dylib=morello");
        // For the tests of this crate.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
        show_cargo(library.parent().unwrap());
    }
}

/// Cargo sets LD_LIBRARY_PATH for what it runs, build scripts of other crates among them, but only to
/// directories of its own: so one of these refers to the library.
fn show_cargo(dir: &Path) {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    for entry in dir.read_dir().unwrap().map(Result::unwrap) {
        let is_library = entry.file_name().to_string_lossy().starts_with("libmorello.so");
        if is_library && entry.path().is_file() {
            let link = out.join(entry.file_name());
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(entry.path(), link).unwrap();
        }
    }
    println!("cargo:rustc-link-search=native={}", out.display());
}

/// Looks in `dir`, then where a Meson build directory has the library.
fn find(dir: &Path, wanted: &[&str]) -> Option<PathBuf> {
    wanted
        .iter()
        .flat_map(|name| [dir.join(name), dir.join("capi").join(name)])
        .find(|path| path.exists())
}

/// Runs the program itself: no crate is needed, so none is downloaded.
fn link_with_pkg_config() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let linking_statically = env::var("MORELLO_LINK").as_deref() == Ok("static");
    let mut command = Command::new("pkg-config");
    command.args(["--libs", "morello >= 0.1.0"]);
    if linking_statically {
        command.arg("--static");
    }
    let reason = match command.output() {
        Ok(output) if output.status.success() => {
            return link_with_flags(&String::from_utf8_lossy(&output.stdout), linking_statically);
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("pkg-config: {error}"),
    };
    panic!(
        "libmorello not found. Set MORELLO_LIB_DIR to its directory or to a Meson build \
         directory, or PKG_CONFIG_PATH to where morello.pc is.\n{reason}"
    );
}

fn link_with_flags(flags: &str, statically: bool) {
    for flag in flags.split_whitespace() {
        if let Some(dir) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={dir}");
            println!("cargo:lib_dir={dir}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            let ours = library == "morello";
            let kind = if ours && statically { "static" } else { "dylib" };
            println!("cargo:rustc-link-lib={kind}={library}");
        } else if flag == "-pthread" {
            println!("cargo:rustc-link-lib=dylib=pthread");
        }
    }
}

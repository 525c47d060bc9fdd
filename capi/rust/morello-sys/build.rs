// SPDX-License-Identifier: MIT
//! Finds libmorello.
//!
//! 1. `MORELLO_LIB_DIR`: a directory with `libmorello.a` or `libmorello.so`, or a Meson build
//!    directory of morello. A relative path starts where cargo was called.
//! 2. Else pkg-config, module `morello`.
//!
//! Where both are there, `libmorello.a` is taken: programs that contain the library start from
//! anywhere, also those of crates that do not know of this one. They need libzstd.so.1 and
//! libstdc++.so.6 at run time; linking needs both (Debian: libzstd-dev, g++).
//!
//! `MORELLO_LINK=shared` or `static` asks for one of the two. A shared library outside the system's
//! directories must also be found when programs start. `cargo run` and `cargo test` see to that. For
//! programs that are started otherwise, give them an rpath:
//! `RUSTFLAGS=-Clink-arg=-Wl,-rpath,DIRECTORY`. A build script cannot, as the linker's arguments that
//! it prints apply to its own package only; crates that directly depend on this one get the directory
//! as `DEP_MORELLO_LIB_DIR` in theirs.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MORELLO_LIB_DIR");
    println!("cargo:rerun-if-env-changed=MORELLO_LINK");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library
    }
    match env::var_os("MORELLO_LIB_DIR") {
        Some(dir) => {
            let place = format!("MORELLO_LIB_DIR={}", dir.to_string_lossy());
            link_from(&absolute(Path::new(&dir)), &place)
        }
        None => link_from(&ask_pkg_config(), "pkg-config, morello"),
    }
}

/// Build scripts run in the folder of their package, so a relative path is resolved where cargo, the
/// parent process, runs.
fn absolute(path: &Path) -> PathBuf {
    if path.is_absolute() {
        return path.to_owned();
    }
    println!("cargo:rerun-if-env-changed=PWD");
    let cargo = std::os::unix::process::parent_id();
    let start = std::fs::read_link(format!("/proc/{cargo}/cwd"))
        .ok()
        .or_else(|| env::var_os("PWD").map(PathBuf::from))
        .expect(
            "neither /proc nor PWD says where cargo was called: MORELLO_LIB_DIR must be absolute",
        );
    start.join(path)
}

/// `place` is what the user said, for errors.
fn link_from(given: &Path, place: &str) {
    let given = given
        .canonicalize()
        .unwrap_or_else(|error| panic!("{place}: {}: {error}", given.display()));
    let wanted: &[&str] = match env::var("MORELLO_LINK").as_deref() {
        Ok("static") => &["libmorello.a"],
        Ok("shared") => &["libmorello.so"],
        Err(_) => &["libmorello.a", "libmorello.so"],
        Ok(other) => panic!("MORELLO_LINK={other}: must be static or shared"),
    };
    let library = find(&given, wanted).unwrap_or_else(|| {
        panic!(
            "{place}: neither {} nor its directory capi has {}",
            given.display(),
            wanted.join(" or ")
        )
    });
    let dir = library.parent().unwrap();
    println!("cargo:rerun-if-changed={}", library.display());
    println!("cargo:rustc-link-search=native={}", dir.display());
    if library.extension().unwrap() == "a" {
        println!("cargo:rustc-link-lib=static=morello");
        for dependency in ["zstd", "stdc++", "pthread", "dl", "m"] {
            println!("cargo:rustc-link-lib=dylib={dependency}");
        }
    } else {
        println!("cargo:rustc-link-lib=dylib=morello");
        println!("cargo:lib_dir={}", dir.display());
        // For the tests of this crate.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", dir.display());
        show_cargo(dir);
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

/// Where the installed library is. Runs the program itself: no crate is needed, so none is downloaded.
fn ask_pkg_config() -> PathBuf {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let asked = |arguments: &[&str]| {
        let reason = match Command::new("pkg-config").args(arguments).output() {
            Ok(output) if output.status.success() => {
                return String::from_utf8_lossy(&output.stdout).trim().to_owned();
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => format!("pkg-config: {error}"),
        };
        panic!(
            "libmorello not found. Set MORELLO_LIB_DIR to its directory or to a Meson build \
             directory, or PKG_CONFIG_PATH to where morello.pc is.\n{reason}"
        )
    };
    asked(&["--exists", "--print-errors", "morello >= 0.1.0"]);
    PathBuf::from(asked(&["--variable=libdir", "morello"]))
}

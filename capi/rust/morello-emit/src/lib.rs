// SPDX-License-Identifier: MIT
//! For build scripts: has kernels for tensor computations made when a program is built, by the command
//! `morello emit`. The program contains them, chooses among instruction sets when it runs, and needs
//! no morello.
//!
//! In `build.rs`, with this crate as a build dependency:
//!
//! ```no_run
//! morello_emit::Kernels::new()
//!     .spec("layer = matmul f32[8,64] f32[64,96] + bias f32[96] -> relu -> f32[8,96]")
//!     .build("kernels");
//! ```
//!
//! and in the program, where each function has the name that its Spec begins with:
//!
//! ```ignore
//! mod kernels {
//!     include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
//! }
//! kernels::layer(&input, &weights, &bias, &mut out, &mut [])?;
//! ```
//!
//! The command is what the environment variable `MORELLO_TOOL` names; else it is looked for in the
//! Meson build directory or beside the library that `MORELLO_LIB_DIR` names (crate `morello-sys`),
//! then in `PATH`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to make. Like those of the crate `cc`, [`build`](Kernels::build) panics if it cannot, which
/// ends the build script with a message.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    specs: Vec<String>,
    isas: Vec<String>,
    tables: Vec<PathBuf>,
}

impl Kernels {
    pub fn new() -> Kernels {
        Kernels::default()
    }

    /// Adds a computation: a Spec, or `name = ` and a Spec.
    pub fn spec(mut self, text: &str) -> Kernels {
        self.specs.push(text.to_owned());
        self
    }

    /// Adds an instruction set to make kernels for, such as `avx2`. Without any: AVX2 and AVX-512.
    pub fn isa(mut self, name: &str) -> Kernels {
        self.isas.push(name.to_owned());
        self
    }

    /// Adds a table, which spares searches for what it covers.
    pub fn table(mut self, path: impl AsRef<Path>) -> Kernels {
        self.tables.push(path.as_ref().to_owned());
        self
    }

    /// Makes a static library `name` that is linked, and `name.rs` in `OUT_DIR`, to be included.
    pub fn build(&self, name: &str) {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("only build scripts have OUT_DIR"));
        let tool = find_tool();
        let mut command = Command::new(&tool);
        command.arg("emit").args(&self.specs).arg("--static-lib");
        command.arg("-o").arg(out.join(format!("lib{name}.a")));
        command.arg("--rust").arg(out.join(format!("{name}.rs")));
        if !self.isas.is_empty() {
            command.arg("--isa").arg(self.isas.join(","));
        }
        for table in &self.tables {
            println!("cargo:rerun-if-changed={}", table.display());
            command.arg("--table").arg(table);
        }
        let output = command.output().unwrap_or_else(|error| {
            panic!(
                "{}: {error}; install morello's command line tool, or set MORELLO_TOOL",
                tool.display()
            )
        });
        if !output.status.success() {
            panic!("morello emit: {}", String::from_utf8_lossy(&output.stderr));
        }
        println!("cargo:rustc-link-search=native={}", out.display());
        println!("cargo:rustc-link-lib=static={name}");
    }
}

fn find_tool() -> PathBuf {
    for name in ["MORELLO_TOOL", "MORELLO_LIB_DIR", "PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if let Some(tool) = env::var_os("MORELLO_TOOL") {
        let tool = absolute(Path::new(&tool));
        println!("cargo:rerun-if-changed={}", tool.display());
        return tool;
    }
    let near = env::var_os("MORELLO_LIB_DIR").map(|dir| absolute(Path::new(&dir)));
    near.iter()
        .flat_map(|dir| ["morello", "../morello", "../bin/morello"].map(|place| dir.join(place)))
        .find(|path| path.is_file())
        .map(|path| {
            println!("cargo:rerun-if-changed={}", path.display());
            path
        })
        .unwrap_or_else(|| PathBuf::from("morello"))
}

/// Build scripts run in the folder of their package, so a relative path is resolved where cargo, the
/// parent process, runs.
fn absolute(path: &Path) -> PathBuf {
    let cargo = std::os::unix::process::parent_id();
    let start = std::fs::read_link(format!("/proc/{cargo}/cwd")).unwrap_or_default();
    start.join(path)
}

// SPDX-License-Identifier: MIT
//! Contexts: where Specs, kernels and tables are made.

use crate::cpu::Isa;
use crate::precompute::c_text;
use crate::table::c_path;
use crate::{create, Kernel, Options, Result, Spec, Table};
use morello_sys as sys;
use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::path::Path;
use std::ptr::NonNull;

/// Settings of a [`Context`].
#[derive(Clone, Debug)]
pub struct ContextOptions {
    raw: sys::morello_context_options,
    cache: Option<CString>,
    tools: Option<CString>,
}

// SAFETY: its pointers are null until `create`, which sets them in a copy.
unsafe impl Send for ContextOptions {}
// SAFETY: as above.
unsafe impl Sync for ContextOptions {}

impl ContextOptions {
    pub fn new() -> ContextOptions {
        let mut options = MaybeUninit::uninit();
        // SAFETY: init fills the whole struct, whose size it is given.
        let raw = unsafe {
            sys::morello_context_options_init(
                options.as_mut_ptr(),
                size_of::<sys::morello_context_options>(),
            );
            options.assume_init()
        };
        ContextOptions { raw, cache: None, tools: None }
    }

    /// Caps every target that is used through the context.
    pub fn max_isa(mut self, isa: Isa) -> ContextOptions {
        self.raw.max_isa = isa.to_raw();
        self
    }

    /// Searches for this machine's cache sizes and processors instead of the fixed, named model.
    pub fn read_machine(mut self, read: bool) -> ContextOptions {
        self.raw.read_machine = u32::from(read);
        self
    }

    /// The most bytes that loading a table may take, its file included; 256 MiB if this is not
    /// called. Larger tables are refused with [`Status::TableTooLarge`](crate::Status).
    pub fn table_memory(mut self, bytes: u64) -> ContextOptions {
        self.raw.table_memory = bytes;
        self
    }

    /// Keeps kernels in a directory, of which at most `bytes` (0: 256 MiB) are used, for the next
    /// process. What is in it will run: it must be one that others cannot write to. "" for none,
    /// whatever the environment variable `MORELLO_CACHE_DIR` says.
    pub fn cache(mut self, directory: impl AsRef<Path>, bytes: u64) -> Result<ContextOptions> {
        self.cache = Some(c_path(directory.as_ref())?);
        self.raw.cache_bytes = bytes;
        Ok(self)
    }

    /// Who is told of kernels: names with commas between them, such as "gdb,unwind,map,jitdump"
    /// (docs/tools.md); "" for nobody, whatever the environment variable `MORELLO_TOOLS` says.
    pub fn tools(mut self, names: &str) -> Result<ContextOptions> {
        self.tools = Some(c_text(names)?);
        Ok(self)
    }

    pub fn create(&self) -> Result<Context> {
        let mut raw = self.raw;
        raw.cache_directory = self.cache.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
        raw.tools = self.tools.as_ref().map_or(std::ptr::null(), |names| names.as_ptr());
        // SAFETY: all pointers are valid for the call.
        create(|context, err| unsafe { sys::morello_context_create(&raw, context, err) })
            .map(Context)
    }
}

impl Default for ContextOptions {
    fn default() -> ContextOptions {
        ContextOptions::new()
    }
}

/// Where kernels are synthesized, by any number of threads at once. Specs and kernels outlive it.
#[derive(Debug)]
pub struct Context(NonNull<sys::morello_context>);

// SAFETY: a context is bound to no thread, and never changes.
unsafe impl Send for Context {}
// SAFETY: functions take a pointer to const.
unsafe impl Sync for Context {}

impl Context {
    /// A context with default settings.
    pub fn new() -> Result<Context> {
        ContextOptions::new().create()
    }

    /// Finds the cheapest program for `spec` and makes a kernel of it.
    pub fn synthesize(&self, spec: &Spec, options: &Options) -> Result<Kernel> {
        let operands = spec.operands()?;
        let kernel = options.with_raw(|raw| {
            // SAFETY: all pointers are valid for the call.
            create(|kernel, err| unsafe {
                sys::morello_synthesize(self.0.as_ptr(), spec.as_ptr(), raw, kernel, err)
            })
        })?;
        // SAFETY: the kernel is new, owned here, and was made for these operands.
        Ok(unsafe { Kernel::from_raw(kernel, operands) })
    }

    /// Reads a table from a file, for kernels that are made in contexts with these settings.
    pub fn load_table(&self, path: impl AsRef<Path>) -> Result<Table> {
        Table::load_in(self, path.as_ref())
    }

    /// The same from the bytes of a file.
    pub fn table_from_bytes(&self, bytes: &[u8]) -> Result<Table> {
        Table::from_bytes_in(self, bytes)
    }

    pub(crate) fn as_ptr(&self) -> *const sys::morello_context {
        self.0.as_ptr()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: released once.
        unsafe { sys::morello_context_release(self.0.as_ptr()) }
    }
}

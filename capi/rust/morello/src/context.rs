// SPDX-License-Identifier: MIT
//! Contexts and the options of a synthesis.

use crate::cpu::Isa;
use crate::{create, Kernel, Result, Spec};
use morello_sys as sys;
use std::mem::{size_of, MaybeUninit};
use std::ptr::NonNull;
use std::time::Duration;

/// Settings of a [`Context`].
#[derive(Clone, Debug)]
pub struct ContextOptions(sys::morello_context_options);

impl ContextOptions {
    pub fn new() -> ContextOptions {
        let mut options = MaybeUninit::uninit();
        // SAFETY: init fills the whole struct, whose size it is given.
        ContextOptions(unsafe {
            sys::morello_context_options_init(
                options.as_mut_ptr(),
                size_of::<sys::morello_context_options>(),
            );
            options.assume_init()
        })
    }

    /// Caps every target that is used through the context.
    pub fn max_isa(mut self, isa: Isa) -> ContextOptions {
        self.0.max_isa = isa.to_raw();
        self
    }

    /// Searches for this machine's cache sizes and processors instead of the fixed, named model.
    pub fn read_machine(mut self, read: bool) -> ContextOptions {
        self.0.read_machine = u32::from(read);
        self
    }

    pub fn create(&self) -> Result<Context> {
        // SAFETY: all pointers are valid for the call.
        create(|context, err| unsafe { sys::morello_context_create(&self.0, context, err) })
            .map(Context)
    }
}

impl Default for ContextOptions {
    fn default() -> ContextOptions {
        ContextOptions::new()
    }
}

/// Where kernels are synthesized. Specs and kernels outlive it.
#[derive(Debug)]
pub struct Context(NonNull<sys::morello_context>);

// SAFETY: a context is bound to no thread. It is not Sync: functions need exclusive use of it.
unsafe impl Send for Context {}

impl Context {
    /// A context with default settings.
    pub fn new() -> Result<Context> {
        ContextOptions::new().create()
    }

    /// Finds the cheapest program for `spec` and makes a kernel of it.
    pub fn synthesize(&mut self, spec: &Spec, options: &Options) -> Result<Kernel> {
        let operands = spec.operands()?;
        // SAFETY: all pointers are valid for the call.
        let kernel = create(|kernel, err| unsafe {
            sys::morello_synthesize(self.0.as_ptr(), spec.as_ptr(), &options.0, kernel, err)
        })?;
        // SAFETY: the kernel is new, owned here, and was made for these operands.
        Ok(unsafe { Kernel::from_raw(kernel, operands) })
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut sys::morello_context {
        self.0.as_ptr()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: released once.
        unsafe { sys::morello_context_release(self.0.as_ptr()) }
    }
}

/// How to synthesize one kernel.
///
/// ```
/// let options = morello::Options::new().isa(morello::Isa::Avx2).threads(2);
/// ```
#[derive(Clone, Debug)]
pub struct Options(sys::morello_options);

impl Options {
    pub fn new() -> Options {
        let mut options = MaybeUninit::uninit();
        // SAFETY: init fills the whole struct, whose size it is given.
        Options(unsafe {
            let size = size_of::<sys::morello_options>();
            sys::morello_options_init(options.as_mut_ptr(), size);
            options.assume_init()
        })
    }

    /// The instruction set to make code for; default: the best one of this CPU.
    pub fn isa(mut self, isa: Isa) -> Options {
        self.0.target = isa.to_raw();
        self
    }

    /// Most threads that the kernel may use at once; default 1.
    pub fn threads(mut self, threads: u32) -> Options {
        self.0.threads = threads;
        self
    }

    /// Ends the search after this time; default: no limit.
    pub fn time_budget(mut self, budget: Duration) -> Options {
        self.0.time_budget = budget.as_micros().clamp(1, u128::from(u64::MAX)) as u64;
        self
    }

    /// Bytes of memory that the search may use; default: no limit.
    pub fn memory_budget(mut self, bytes: u64) -> Options {
        self.0.memory_budget = bytes.max(1);
        self
    }

    /// Makes no code: the kernel can be printed for any target, but not run.
    pub fn search_only(mut self, search_only: bool) -> Options {
        self.0.search_only = u32::from(search_only);
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

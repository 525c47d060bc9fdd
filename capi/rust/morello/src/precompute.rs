// SPDX-License-Identifier: MIT
//! Making tables.

use crate::cpu::Isa;
use crate::table::c_path;
use crate::watch::{watched, Cancel, Reported, Watcher};
use crate::{error, Context, Effort, Error, Result, Status, Table};
use morello_sys as sys;
use std::ffi::{c_char, CString};
use std::mem::{size_of, MaybeUninit};
use std::path::Path;
use std::time::Duration;

/// Solves whole families of Specs and keeps what it finds in a table file. A family is a Spec in
/// which sizes may be bounds, such as `matmul f32[<=64,256] f32[256,<=64]`, or one with a run-time
/// size, `matmul f32[?<=64,256] f32[256,64]`: then a kernel for it needs no search.
///
/// ```
/// # fn main() -> morello::Result<()> {
/// # let path = std::env::temp_dir().join(format!("morello-doc-{}.mtab", std::process::id()));
/// morello::Precompute::new().run(&["matmul f32[<=4,8] f32[8,<=4]"], &path)?;
/// let table = morello::Table::load(&path)?;
/// assert!(table.covers(&"matmul f32[3,8] f32[8,2] -> f32[3,2]".parse()?));
/// # std::fs::remove_file(path.with_extension("mtab.lock")).unwrap();
/// # std::fs::remove_file(path).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Precompute {
    /// Its pointers are null until a call.
    raw: sys::morello_precompute_options,
    cancel: Option<Cancel>,
    progress: Option<Watcher<PrecomputeProgress>>,
}

// SAFETY: the pointers in `raw` are null; everything else may be sent and shared.
unsafe impl Send for Precompute {}
// SAFETY: as above.
unsafe impl Sync for Precompute {}

impl Precompute {
    pub fn new() -> Precompute {
        let mut options = MaybeUninit::uninit();
        // SAFETY: init fills the whole struct, whose size it is given.
        let raw = unsafe {
            let size = size_of::<sys::morello_precompute_options>();
            sys::morello_precompute_options_init(options.as_mut_ptr(), size);
            options.assume_init()
        };
        Precompute { raw, cancel: None, progress: None }
    }

    /// The instruction set of the kernels, whatever this CPU has; default: its best one.
    pub fn isa(mut self, isa: Isa) -> Precompute {
        self.raw.target = isa.to_raw();
        self
    }

    /// [`crate::Options::threads`] of the kernels; default 1.
    pub fn threads(mut self, threads: u32) -> Precompute {
        self.raw.threads = threads;
        self
    }

    /// How good programs are to be: [`Effort::Exact`], the default, or [`Effort::Quick`], which is
    /// solved sooner, and answers a synthesis of that effort or less.
    pub fn effort(mut self, effort: Effort) -> Precompute {
        self.raw.effort = u32::try_from(effort.to_raw()).unwrap_or(u32::MAX);
        self
    }

    /// Threads that solve; default: one per processor.
    pub fn workers(mut self, workers: u32) -> Precompute {
        self.raw.workers = workers;
        self
    }

    /// Only this part, counted from 0, of so many of about the same work.
    pub fn part(mut self, part: u32, parts: u32) -> Precompute {
        self.raw.part = part;
        self.raw.parts = parts;
        self
    }

    /// Bytes of memory that the search may use, about.
    pub fn memory_budget(mut self, bytes: u64) -> Precompute {
        self.raw.memory_budget = bytes;
        self
    }

    /// Lets any thread end the call, with [`Status::Cancelled`]. What is solved is saved.
    pub fn cancel(mut self, cancel: &Cancel) -> Precompute {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Calls `watch` on the calling thread, about once in `interval`. If it panics, the call is
    /// cancelled, and the panic goes on when it has ended.
    pub fn progress(
        mut self,
        interval: Duration,
        watch: impl FnMut(&PrecomputeProgress) + Send + 'static,
    ) -> Precompute {
        self.raw.progress_interval = interval.as_millis().clamp(1, u128::from(u32::MAX)) as u32;
        self.progress = Some(Watcher::new(watch));
        self
    }

    /// Adds what the file does not cover yet; makes the file if there is none. At any moment it is
    /// a valid table, and a later call goes on where one was interrupted.
    pub fn run(&self, families: &[&str], path: impl AsRef<Path>) -> Result<()> {
        self.run_in(&Context::new()?, families, path)
    }

    /// The same for kernels of contexts with these settings.
    pub fn run_in(
        &self,
        context: &Context,
        families: &[&str],
        path: impl AsRef<Path>,
    ) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: all pointers are valid for the call.
        self.solve(families, |texts, count, raw, err| unsafe {
            let context = context.as_ptr();
            sys::morello_precompute(context, texts, count, path.as_ptr(), raw, err)
        })
    }

    /// The same without a file: a new table of all members, and of what `known` covers. Nothing is
    /// kept of a call that is cancelled.
    pub fn table_in(
        &self,
        context: &Context,
        families: &[&str],
        known: Option<&Table>,
    ) -> Result<Table> {
        let known = known.map_or(std::ptr::null(), |table| table.as_ptr());
        let mut table = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call.
        self.solve(families, |texts, count, raw, err| unsafe {
            let context = context.as_ptr();
            sys::morello_precompute_table(context, texts, count, known, raw, &mut table, err)
        })?;
        Table::made(table)
    }

    fn solve(
        &self,
        families: &[&str],
        call: impl FnOnce(
            *const *const c_char,
            usize,
            *const sys::morello_precompute_options,
            *mut *mut sys::morello_error,
        ) -> sys::morello_status,
    ) -> Result<()> {
        let texts = families.iter().map(|text| c_text(text)).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let mut raw = self.raw;
        watched(self.progress.as_ref(), self.cancel.as_ref(), |cancel, progress, user| {
            raw.cancel = cancel;
            raw.progress = progress;
            raw.progress_user = user;
            let mut err = std::ptr::null_mut();
            let status = call(pointers.as_ptr(), pointers.len(), &raw, &mut err);
            // SAFETY: the error is that of the call, and not used again.
            unsafe { error::check(status, err) }
        })
    }
}

impl Default for Precompute {
    fn default() -> Precompute {
        Precompute::new()
    }
}

/// Where a precompute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrecomputeProgress {
    /// Of this part of the families. Grows while run-time sizes are solved.
    pub members: u64,
    /// Of them, solved, or found in the file.
    pub done: u64,
    /// Of them, found in the file.
    pub found: u64,
    /// Of them, those that fit no program into the target's limits.
    pub without_program: u64,
    /// Solved, and in the file by now.
    pub saved: u64,
    /// That the file's programs consist of.
    pub pairs: u64,
    /// Of decisions in the file.
    pub boxes: u64,
    /// Memory of the search.
    pub bytes: u64,
    /// Since the call began.
    pub elapsed: Duration,
    /// An estimate.
    pub remaining: Option<Duration>,
}

impl Reported for PrecomputeProgress {
    type Raw = sys::morello_precompute_progress;

    fn from_raw(raw: &sys::morello_precompute_progress) -> PrecomputeProgress {
        PrecomputeProgress {
            members: raw.members,
            done: raw.done,
            found: raw.found,
            without_program: raw.without_program,
            saved: raw.saved,
            pairs: raw.pairs,
            boxes: raw.boxes,
            bytes: raw.bytes,
            elapsed: Duration::from_micros(raw.microseconds),
            remaining: Some(Duration::from_micros(raw.remaining)).filter(|left| !left.is_zero()),
        }
    }
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::new(Status::InvalidArgument, "the text has a zero byte"))
}

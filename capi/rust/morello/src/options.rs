// SPDX-License-Identifier: MIT
//! The options of a synthesis.

use crate::cpu::Isa;
use crate::watch::{watched, Cancel, Reported, Watcher};
use crate::Table;
use morello_sys as sys;
use std::mem::{size_of, MaybeUninit};
use std::ptr;
use std::time::Duration;

/// How to synthesize one kernel.
///
/// ```
/// let options = morello::Options::new().isa(morello::Isa::Avx2).threads(2);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Its pointers are null until a call.
    raw: sys::morello_options,
    table: Option<Table>,
    cancel: Option<Cancel>,
    progress: Option<Watcher<Progress>>,
}

// SAFETY: the pointers in `raw` are null; everything else may be sent and shared.
unsafe impl Send for Options {}
// SAFETY: as above.
unsafe impl Sync for Options {}

impl Options {
    pub fn new() -> Options {
        let mut options = MaybeUninit::uninit();
        // SAFETY: init fills the whole struct, whose size it is given.
        let raw = unsafe {
            let size = size_of::<sys::morello_options>();
            sys::morello_options_init(options.as_mut_ptr(), size);
            options.assume_init()
        };
        Options { raw, table: None, cancel: None, progress: None }
    }

    /// The instruction set to make code for; default: the best one of this CPU.
    pub fn isa(mut self, isa: Isa) -> Options {
        self.raw.target = isa.to_raw();
        self
    }

    /// Most threads that the kernel may use at once; default 1.
    pub fn threads(mut self, threads: u32) -> Options {
        self.raw.threads = threads;
        self
    }

    /// Threads that search; default 1; 0: one per processor. The result does not depend on it.
    pub fn search_threads(mut self, threads: u32) -> Options {
        self.raw.search_threads = threads;
        self
    }

    /// Ends the search after this time; default: no limit. The kernel is then of the best program
    /// found; see [`crate::SearchStats::optimal`].
    pub fn time_budget(mut self, budget: Duration) -> Options {
        self.raw.time_budget = budget.as_micros().clamp(1, u128::from(u64::MAX)) as u64;
        self
    }

    /// How long to search; default: [`Effort::Exact`]. Unlike a budget, the same effort finds the
    /// same program on every machine.
    pub fn effort(mut self, effort: Effort) -> Options {
        self.raw.effort = effort.to_raw();
        self
    }

    /// Bytes of memory that the search may use; default: no limit.
    pub fn memory_budget(mut self, bytes: u64) -> Options {
        self.raw.memory_budget = bytes.max(1);
        self
    }

    /// Makes no code: the kernel can be printed for any target, but not run.
    pub fn search_only(mut self, search_only: bool) -> Options {
        self.raw.search_only = u32::from(search_only);
        self
    }

    /// Asks a table before searching. One for another instruction set or number of threads covers
    /// nothing; see [`crate::SearchStats::table_reason`].
    pub fn table(mut self, table: &Table) -> Options {
        self.table = Some(table.clone());
        self
    }

    /// Makes a table for another instruction set or number of threads an error,
    /// [`crate::Status::IncompatibleTable`].
    pub fn strict_table(mut self, strict: bool) -> Options {
        self.raw.strict_table = u32::from(strict);
        self
    }

    /// Lets any thread end the search, with [`crate::Status::Cancelled`].
    pub fn cancel(mut self, cancel: &Cancel) -> Options {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Calls `watch` during the search, on the thread that synthesizes, and at most once in
    /// `interval`. If it panics, the search is cancelled, and the panic goes on when it has ended.
    pub fn progress(
        mut self,
        interval: Duration,
        watch: impl FnMut(&Progress) + Send + 'static,
    ) -> Options {
        self.raw.progress_interval = interval.as_millis().min(u128::from(u32::MAX)) as u32;
        self.progress = Some(Watcher::new(watch));
        self
    }

    /// Calls `body` with what C needs, which is valid during the call.
    pub(crate) fn with_raw<T>(&self, body: impl FnOnce(&sys::morello_options) -> T) -> T {
        let mut raw = self.raw;
        raw.table = self.table.as_ref().map_or(ptr::null(), Table::as_ptr);
        watched(self.progress.as_ref(), self.cancel.as_ref(), |cancel, progress, user| {
            raw.cancel = cancel;
            raw.progress = progress;
            raw.progress_user = user;
            body(&raw)
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

/// How long to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Effort {
    /// Until the cheapest program is proven.
    #[default]
    Exact,
    /// Some milliseconds.
    Quick,
    /// So many expansions at most, at least 1; more of them never find a dearer program.
    Expansions(u64),
}

impl Effort {
    pub(crate) fn to_raw(self) -> u64 {
        match self {
            Effort::Exact => sys::MORELLO_EFFORT_EXACT as u64,
            Effort::Quick => sys::MORELLO_EFFORT_QUICK as u64,
            Effort::Expansions(count) => count.max(1),
        }
    }
    pub(crate) fn from_raw(raw: u64) -> Effort {
        match raw {
            _ if raw == Effort::Exact.to_raw() => Effort::Exact,
            _ if raw == Effort::Quick.to_raw() => Effort::Quick,
            count => Effort::Expansions(count),
        }
    }
}

/// Where a search is. Costs are in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    pub states: u64,
    pub previews: u64,
    /// Memory of the search.
    pub bytes: u64,
    /// Since it began.
    pub elapsed: Duration,
    /// Of the best program so far, if there is one.
    pub best_cost: Option<f64>,
    /// No program costs less.
    pub lower_bound: f64,
}

impl Reported for Progress {
    type Raw = sys::morello_progress;

    fn from_raw(raw: &sys::morello_progress) -> Progress {
        Progress {
            states: raw.states,
            previews: raw.previews,
            bytes: raw.bytes,
            elapsed: Duration::from_micros(raw.microseconds),
            best_cost: Some(raw.best_cost).filter(|cost| cost.is_finite()),
            lower_bound: raw.lower_bound,
        }
    }
}

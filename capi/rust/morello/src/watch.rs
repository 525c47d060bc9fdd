// SPDX-License-Identifier: MIT
//! Watching long calls, and ending them.

use std::any::Any;
use std::fmt;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

/// Ends searches and precomputes from any thread. Clones share the switch, which stays on until [`Cancel::reset`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicI32>);

impl Cancel {
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Ends the calls that have it in their options, now or later.
    pub fn cancel(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Lets them run again.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn as_ptr(&self) -> *const i32 {
        // The library reads it atomically, and an AtomicI32 is laid out as an i32.
        &*self.0 as *const AtomicI32 as *const i32
    }
}

/// What C reports to a callback, as this crate has it.
pub(crate) trait Reported {
    type Raw;
    fn from_raw(raw: &Self::Raw) -> Self;
}

/// A callback for many calls, perhaps from several threads.
pub(crate) struct Watcher<P>(Arc<Mutex<dyn FnMut(&P) + Send>>);

impl<P> Watcher<P> {
    pub(crate) fn new(watch: impl FnMut(&P) + Send + 'static) -> Watcher<P> {
        Watcher(Arc::new(Mutex::new(watch)))
    }
}

impl<P> Clone for Watcher<P> {
    fn clone(&self) -> Watcher<P> {
        Watcher(self.0.clone())
    }
}

impl<P> fmt::Debug for Watcher<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

pub(crate) type Callback<P> =
    Option<unsafe extern "C" fn(user: *mut c_void, progress: *const <P as Reported>::Raw)>;

/// What the callback of one call needs.
struct Call<'a, P> {
    watcher: Option<&'a Watcher<P>>,
    cancel: &'a Cancel,
    panic: Option<Box<dyn Any + Send>>,
}

/// Calls `body` with what C needs to be cancelled and to report: the switch, a callback and its
/// argument, all valid during the call. A panic of the watcher cancels the call, and goes on here.
pub(crate) fn watched<P: Reported, T>(
    watcher: Option<&Watcher<P>>,
    cancel: Option<&Cancel>,
    body: impl FnOnce(*const i32, Callback<P>, *mut c_void) -> T,
) -> T {
    let own_cancel = Cancel::new();
    let mut call = Call { watcher, cancel: cancel.unwrap_or(&own_cancel), panic: None };
    let switch = call.cancel.as_ptr();
    let callback: Callback<P> = match watcher {
        Some(_) => Some(on_progress::<P>),
        None => None,
    };
    let result = body(switch, callback, &mut call as *mut Call<P> as *mut c_void);
    match call.panic.take() {
        Some(panic) => resume_unwind(panic),
        None => result,
    }
}

/// A panic must not cross C: it waits in the call.
unsafe extern "C" fn on_progress<P: Reported>(user: *mut c_void, progress: *const P::Raw) {
    // SAFETY: `user` is the Call of watched(), which nobody else uses while the library runs;
    // `progress` is valid during this call.
    let (call, progress) = unsafe { (&mut *(user as *mut Call<P>), P::from_raw(&*progress)) };
    let watcher = match call.watcher {
        Some(watcher) if call.panic.is_none() => watcher,
        _ => return,
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        // One that panicked before may be called again.
        let mut watch = watcher.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        watch(&progress);
    }));
    if let Err(panic) = result {
        call.panic = Some(panic);
        call.cancel.cancel();
    }
}

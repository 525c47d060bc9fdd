// SPDX-License-Identifier: MIT
//! A small thread pool for parallel kernels.

use crate::{create, Result};
use morello_sys as sys;
use std::ptr::NonNull;

/// Threads for kernels that were made with [`crate::Options::threads`] above 1. Many threads may run
/// kernels on one pool.
#[derive(Debug)]
pub struct Pool(NonNull<sys::morello_pool>);

// SAFETY: a pool is bound to no thread.
unsafe impl Send for Pool {}
// SAFETY: its executor may be used from many threads at once; the pool is only released when no
// kernel borrows it.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `threads` threads, the caller of a kernel being one; 0: one per processor.
    pub fn new(threads: u32) -> Result<Pool> {
        // SAFETY: all pointers are valid for the call.
        create(|pool, err| unsafe { sys::morello_pool_create(threads, pool, err) }).map(Pool)
    }

    pub(crate) fn executor(&self) -> *const sys::morello_executor {
        // SAFETY: `self` is a live pool.
        unsafe { sys::morello_pool_executor(self.0.as_ptr()) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: released once; kernels that run borrow the pool, so none does.
        unsafe { sys::morello_pool_release(self.0.as_ptr()) }
    }
}

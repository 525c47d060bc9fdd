// SPDX-License-Identifier: MIT
//! Tables made from families of Specs.

use crate::*;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_precompute_progress {
    pub struct_size: usize,
    pub members: u64,
    pub done: u64,
    pub found: u64,
    pub without_program: u64,
    pub saved: u64,
    pub pairs: u64,
    pub boxes: u64,
    pub bytes: u64,
    pub microseconds: u64,
    pub remaining: u64,
}

pub type morello_precompute_progress_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, progress: *const morello_precompute_progress)>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_precompute_options {
    pub struct_size: usize,
    pub target: i32,
    pub threads: u32,
    pub workers: u32,
    pub part: u32,
    pub parts: u32,
    pub save_interval: u32,
    pub progress_interval: u32,
    pub effort: u32,
    pub memory_budget: u64,
    pub progress: morello_precompute_progress_fn,
    pub progress_user: *mut c_void,
    pub cancel: *const i32,
}

extern "C" {
    pub fn morello_table_coverage(
        table: *const morello_table,
        family: *const c_char,
        members: *mut u64,
        covered: *mut u64,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_precompute_options_init(
        options: *mut morello_precompute_options,
        options_size: usize,
    );
    pub fn morello_precompute(
        context: *const morello_context,
        families: *const *const c_char,
        family_count: usize,
        path: *const c_char,
        options: *const morello_precompute_options,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_precompute_table(
        context: *const morello_context,
        families: *const *const c_char,
        family_count: usize,
        known: *const morello_table,
        options: *const morello_precompute_options,
        table: *mut *mut morello_table,
        err: *mut *mut morello_error,
    ) -> morello_status;
}

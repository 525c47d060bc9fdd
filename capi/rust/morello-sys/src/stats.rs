// SPDX-License-Identifier: MIT
//! What a search did, and what became of a table.

use crate::*;

pub type morello_table_use = c_int;
pub const MORELLO_TABLE_NONE: morello_table_use = 0;
pub const MORELLO_TABLE_ANSWERED: morello_table_use = 1;
pub const MORELLO_TABLE_NOT_COVERED: morello_table_use = 2;
pub const MORELLO_TABLE_WRONG: morello_table_use = 3;
pub const MORELLO_TABLE_NEAR: morello_table_use = 4;

pub type morello_table_reason = c_int;
pub const MORELLO_TABLE_REASON_NONE: morello_table_reason = 0;
pub const MORELLO_TABLE_REASON_SPEC: morello_table_reason = 1;
pub const MORELLO_TABLE_REASON_TARGET: morello_table_reason = 2;
pub const MORELLO_TABLE_REASON_THREADS: morello_table_reason = 3;
pub const MORELLO_TABLE_REASON_EFFORT: morello_table_reason = 4;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_search_stats {
    pub struct_size: usize,
    pub specs: u64,
    pub states: u64,
    pub expanded: u64,
    pub previews: u64,
    pub memo_hits: u64,
    pub bytes: u64,
    pub search_microseconds: u64,
    pub codegen_microseconds: u64,
    pub misfits: u64,
    pub advances: u64,
    pub borrowed: u64,
    pub lookup_nanoseconds: u64,
    pub search_nanoseconds: u64,
    pub plan_nanoseconds: u64,
    pub emit_nanoseconds: u64,
    pub lower_bound: f64,
    pub optimal: u32,
    pub table_use: i32,
    pub table_reason: i32,
    pub stored: u32,
    pub effort: u64,
}

extern "C" {
    pub fn morello_kernel_stats_get(
        kernel: *const morello_kernel,
        stats: *mut morello_search_stats,
        stats_size: usize,
    ) -> morello_status;
}

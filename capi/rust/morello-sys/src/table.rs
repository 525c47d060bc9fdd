// SPDX-License-Identifier: MIT
//! What searches found, to ship with an application.

use crate::*;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_table_info {
    pub struct_size: usize,
    pub target: i32,
    pub threads: u32,
    pub machine: [c_char; 64],
    pub families: u64,
    pub points: u64,
    pub groups: u64,
    pub boxes: u64,
    pub bytes: u64,
    pub parts: u64,
    pub effort: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_table_verification {
    pub struct_size: usize,
    pub promised: u64,
    pub pairs: u64,
    pub searched: u64,
    pub failures: u64,
    pub failure: [c_char; 512],
}

extern "C" {
    pub fn morello_table_load(
        context: *const morello_context,
        path: *const c_char,
        table: *mut *mut morello_table,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_load_memory(
        context: *const morello_context,
        data: *const c_void,
        size: usize,
        table: *mut *mut morello_table,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_save_memory(
        table: *const morello_table,
        buffer: *mut c_void,
        size: usize,
        length: *mut usize,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_save(
        table: *const morello_table,
        path: *const c_char,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_merge(
        a: *const morello_table,
        b: *const morello_table,
        merged: *mut *mut morello_table,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_info_get(
        table: *const morello_table,
        info: *mut morello_table_info,
        info_size: usize,
    ) -> morello_status;
    pub fn morello_table_family(table: *const morello_table, index: u64) -> *const c_char;
    pub fn morello_table_part(
        table: *const morello_table,
        index: u64,
        part: *mut *mut morello_table,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_covers(table: *const morello_table, spec: *const morello_spec) -> c_int;
    pub fn morello_table_miss(
        table: *const morello_table,
        spec: *const morello_spec,
        buffer: *mut c_char,
        size: usize,
    ) -> usize;
    pub fn morello_table_verify(
        table: *const morello_table,
        points: u64,
        seed: u64,
        found: *mut morello_table_verification,
        found_size: usize,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_dump(
        table: *const morello_table,
        json: c_int,
        buffer: *mut c_char,
        size: usize,
    ) -> usize;
    pub fn morello_table_plot(
        table: *const morello_table,
        group: i64,
        x: *const c_char,
        y: *const c_char,
        buffer: *mut c_char,
        size: usize,
        length: *mut usize,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_table_retain(table: *const morello_table) -> *mut morello_table;
    pub fn morello_table_release(table: *mut morello_table);
}

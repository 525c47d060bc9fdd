// SPDX-License-Identifier: MIT
//! Code to be kept, and what chooses among instruction sets where the library is not.

use crate::{c_int, morello_kernel, morello_spec, morello_status};
use std::os::raw::c_char;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_cpu_feature {
    pub name: [c_char; 32],
    pub leaf: u32,
    pub subleaf: u32,
    pub register_number: u32,
    pub bit: u32,
    pub xcr0: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_code {
    pub struct_size: usize,
    pub bytes: *const u8,
    pub size: usize,
    pub alignment: usize,
    pub entry: usize,
    pub scratch_size: usize,
    pub function_count: u32,
    pub reserved0: u32,
}

pub type morello_code_kind = c_int;
pub const MORELLO_CODE_ENTRY: morello_code_kind = 0;
pub const MORELLO_CODE_TASK: morello_code_kind = 1;
pub const MORELLO_CODE_ROUTINE: morello_code_kind = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct morello_frame_step {
    pub offset: u32,
    pub cfa: u32,
    pub saved: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_code_function {
    pub struct_size: usize,
    pub begin: u32,
    pub end: u32,
    pub kind: i32,
    pub step_count: u32,
    pub steps: *const morello_frame_step,
}

extern "C" {
    pub fn morello_isa_features(
        isa: i32,
        features: *mut morello_cpu_feature,
        count: usize,
    ) -> usize;
    pub fn morello_spec_isa(spec: *const morello_spec, usable_isas: u32) -> i32;
    pub fn morello_kernel_code_get(
        kernel: *const morello_kernel,
        operand: i32,
        code: *mut morello_code,
        code_size: usize,
    ) -> morello_status;
    pub fn morello_kernel_code_function_get(
        kernel: *const morello_kernel,
        operand: i32,
        index: u32,
        function: *mut morello_code_function,
        function_size: usize,
    ) -> morello_status;
}

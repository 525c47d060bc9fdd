// SPDX-License-Identifier: MIT
//! Sizes that are known only at run time.

use crate::{morello_error, morello_executor, morello_kernel, morello_spec, morello_status};
use std::os::raw::c_void;

pub type morello_sized_kernel_fn = Option<
    unsafe extern "C" fn(
        operands: *const *mut c_void,
        scratch: *mut c_void,
        executor: *const morello_executor,
        size: i64,
    ),
>;

extern "C" {
    pub fn morello_spec_largest_size(spec: *const morello_spec) -> i64;
    pub fn morello_spec_at_size(
        spec: *const morello_spec,
        size: i64,
        fixed: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_largest_size(kernel: *const morello_kernel) -> i64;
    pub fn morello_kernel_run_sized(
        kernel: *const morello_kernel,
        size: i64,
        operands: *const *mut c_void,
        scratch: *mut c_void,
        executor: *const morello_executor,
    ) -> morello_status;
    pub fn morello_kernel_run_sized_checked(
        kernel: *const morello_kernel,
        size: i64,
        operands: *const *mut c_void,
        operand_bytes: *const usize,
        operand_count: u32,
        scratch: *mut c_void,
        scratch_bytes: usize,
        executor: *const morello_executor,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_sized_function(kernel: *const morello_kernel) -> morello_sized_kernel_fn;
    pub fn morello_kernel_sized_cost(kernel: *const morello_kernel, size: i64) -> f64;
}

// SPDX-License-Identifier: MIT
//! Kernels as files and bytes.

use crate::*;

extern "C" {
    pub fn morello_kernel_save(
        kernel: *const morello_kernel,
        path: *const c_char,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_save_memory(
        kernel: *const morello_kernel,
        buffer: *mut c_void,
        size: usize,
        length: *mut usize,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_load(
        context: *const morello_context,
        path: *const c_char,
        kernel: *mut *mut morello_kernel,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_load_memory(
        context: *const morello_context,
        data: *const c_void,
        size: usize,
        kernel: *mut *mut morello_kernel,
        err: *mut *mut morello_error,
    ) -> morello_status;
}

// SPDX-License-Identifier: MIT
//! Kernels that are stored: as files, as bytes, and loaded from them.

use crate::table::c_path;
use crate::{create, error, saved_bytes, Context, Kernel, Result, Spec};
use morello_sys as sys;
use std::ffi::CStr;
use std::path::Path;
use std::ptr::NonNull;

impl Kernel {
    /// Its Spec says what its operands are.
    fn loaded(kernel: NonNull<sys::morello_kernel>) -> Result<Kernel> {
        // SAFETY: the kernel is new and owned here; without operands it cannot be run.
        let mut made = unsafe { Kernel::from_raw(kernel, Vec::new()) };
        let operands = made.spec().parse::<Spec>()?.operands()?;
        made.set_operands(operands);
        Ok(made)
    }

    /// Writes the kernel to a file, for [`Context::load_kernel`] and libmorello-runtime.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        let mut err = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call; the error is not used again.
        unsafe {
            let status = sys::morello_kernel_save(self.as_ptr(), path.as_ptr(), &mut err);
            error::check(status, err)
        }
    }

    /// The bytes of such a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: the pointers are valid for the call, and the buffer has the size that it is told.
        saved_bytes(|buffer, size, length, err| unsafe {
            sys::morello_kernel_save_memory(self.as_ptr(), buffer, size, length, err)
        })
    }

    /// What it computes, as text.
    pub fn spec(&self) -> &str {
        // SAFETY: the string lives as long as the kernel.
        unsafe { CStr::from_ptr(sys::morello_kernel_spec(self.as_ptr())) }
            .to_str()
            .unwrap_or_default()
    }
}

impl Context {
    /// Loads a kernel that [`Kernel::save`] wrote: without search, without making code.
    ///
    /// # Safety
    /// The file is machine code, which will run: it has to be one that you would load as a library.
    /// Checks find damage, and no malice.
    pub unsafe fn load_kernel(&self, path: impl AsRef<Path>) -> Result<Kernel> {
        let path = c_path(path.as_ref())?;
        Kernel::loaded(create(|kernel, err| unsafe {
            sys::morello_kernel_load(self.as_ptr(), path.as_ptr(), kernel, err)
        })?)
    }

    /// The same from the bytes of a file.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn kernel_from_bytes(&self, bytes: &[u8]) -> Result<Kernel> {
        let data = bytes.as_ptr().cast();
        Kernel::loaded(create(|kernel, err| unsafe {
            sys::morello_kernel_load_memory(self.as_ptr(), data, bytes.len(), kernel, err)
        })?)
    }
}

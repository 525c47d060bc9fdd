// SPDX-License-Identifier: MIT
//! Kernels with a size that is known only at run time.

use crate::kernel::{operand_pointers, Scratch};
use crate::{error, Kernel, Pool, Result, Slice, SliceMut};
use morello_sys as sys;

impl Kernel {
    /// The bound of a size that is known only at run time, `?<=512` in the Spec; 0 if there is none.
    /// Such a kernel is run with [`Kernel::run_sized`], and what is asked of operands and cost is of
    /// that largest size.
    pub fn largest_size(&self) -> usize {
        // SAFETY (here and below): `self` holds a live kernel.
        unsafe { sys::morello_kernel_largest_size(self.as_ptr()) as usize }
    }

    /// Predicted cycles of one run of `size`; 0 if the kernel has no such size.
    pub fn cost_at_size(&self, size: usize) -> f64 {
        unsafe { sys::morello_kernel_sized_cost(self.as_ptr(), size as i64) }
    }

    /// Runs a kernel with a run-time size on operands of `size`, which may be longer than that needs.
    pub fn run_sized(
        &self,
        size: usize,
        inputs: &[Slice],
        output: SliceMut,
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        self.run_sized_outputs(size, inputs, &mut [output], scratch, pool)
    }

    /// The same of several outputs.
    pub fn run_sized_outputs(
        &self,
        size: usize,
        inputs: &[Slice],
        outputs: &mut [SliceMut],
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        let count = self.operands().len();
        let mut bytes = [0; sys::MORELLO_MAX_OPERANDS];
        for (bytes, input) in bytes.iter_mut().zip(inputs) {
            *bytes = input.len * input.dtype.size();
        }
        for (bytes, output) in bytes.iter_mut().skip(inputs.len()).zip(outputs.iter()) {
            *bytes = output.len * output.dtype.size();
        }
        // The lengths are checked with the size.
        let none = vec![0; count];
        let pointers =
            operand_pointers(self.operands(), &none, inputs, outputs, self.output_count())?;
        let scratch = match scratch {
            Some(scratch) => scratch.for_kernel(self)?,
            None => std::ptr::null_mut(),
        };
        let executor = pool.map_or(std::ptr::null(), Pool::executor);
        let mut err = std::ptr::null_mut();
        // SAFETY: there is a pointer for every operand, with its size; slices are aligned, and the
        // library checks the rest. The scratch is borrowed mutably and is large and aligned enough.
        unsafe {
            let status = sys::morello_kernel_run_sized_checked(
                self.as_ptr(),
                size as i64,
                pointers.as_ptr(),
                bytes.as_ptr(),
                count as u32,
                scratch,
                self.scratch_size(),
                executor,
                &mut err,
            );
            error::check(status, err)
        }
    }
}

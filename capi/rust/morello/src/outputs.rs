// SPDX-License-Identifier: MIT
//! Specs and kernels with several outputs.

use crate::{Kernel, Pool, Result, Scratch, Slice, SliceMut, Spec};
use morello_sys as sys;

impl Spec {
    /// How many of the operands, the last ones, are outputs: 1, unless the Spec is a graph with several.
    pub fn output_count(&self) -> usize {
        // SAFETY: `self` is a live Spec.
        unsafe { sys::morello_spec_output_count(self.as_ptr()) as usize }
    }

    /// As [`Spec::evaluate_any`], of any number of outputs.
    pub fn evaluate_outputs(&self, inputs: &[Slice], outputs: &mut [SliceMut]) -> Result<()> {
        self.evaluate_checked(inputs, outputs)
    }
}

impl Kernel {
    /// How many of the operands, the last ones, are outputs.
    pub fn output_count(&self) -> usize {
        // SAFETY: `self` holds a live kernel.
        unsafe { sys::morello_kernel_output_count(self.as_ptr()) as usize }
    }

    /// As [`Kernel::run_any_with`], of any number of outputs:
    /// `kernel.run_outputs(&[(&x).into()], &mut [(&mut y).into(), (&mut z).into()], None, None)`.
    pub fn run_outputs(
        &self,
        inputs: &[Slice],
        outputs: &mut [SliceMut],
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        self.run_checked(inputs, outputs, scratch, pool)
    }
}

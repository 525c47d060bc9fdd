// SPDX-License-Identifier: MIT
//! Kernels: machine code for one Spec.

use crate::cpu::Isa;
use crate::{
    error, text_of, Context, Dtype, Effort, Element, Error, Options, Packed, Pool, Result, Slice,
    SliceMut, Spec, Status, Tensor,
};
use morello_sys as sys;
use std::alloc::{alloc, dealloc, Layout as AllocLayout};
use std::ffi::CStr;
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// Machine code for one Spec. Immutable; clones share it, and any number of threads may run it at
/// once.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    kernel: NonNull<sys::morello_kernel>,
    operands: Vec<Tensor>,
    /// Elements that each operand needs at least.
    lengths: Vec<usize>,
}

// SAFETY: a kernel never changes, and functions on a const kernel may be called from many threads.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: released once.
        unsafe { sys::morello_kernel_release(self.kernel.as_ptr()) }
    }
}

impl Kernel {
    /// Synthesizes a sequential kernel for the best instruction set of this CPU.
    pub fn new(spec: &Spec) -> Result<Kernel> {
        Kernel::with_options(spec, &Options::new())
    }

    /// Synthesizes in a context with default settings.
    pub fn with_options(spec: &Spec, options: &Options) -> Result<Kernel> {
        Context::new()?.synthesize(spec, options)
    }

    /// # Safety
    /// `kernel` must be owned by the caller, who gives it up, and be made for a Spec with `operands`.
    pub(crate) unsafe fn from_raw(
        kernel: NonNull<sys::morello_kernel>,
        operands: Vec<Tensor>,
    ) -> Kernel {
        let lengths = lengths_of(kernel, &operands);
        Kernel(Arc::new(Inner { kernel, operands, lengths }))
    }

    /// What `kernel` says that its operands are. REQUIRES: no clones.
    pub(crate) fn set_operands(&mut self, operands: Vec<Tensor>) {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            // SAFETY: the kernel is live.
            inner.lengths = unsafe { lengths_of(inner.kernel, &operands) };
            inner.operands = operands;
        }
    }

    pub(crate) fn as_ptr(&self) -> *const sys::morello_kernel {
        self.0.kernel.as_ptr()
    }

    /// Runs a kernel of `f32` on the calling thread. `inputs` in the order of the Spec; each slice
    /// must have at least [`Kernel::operand_len`] elements. An accumulating Spec reads `output`.
    pub fn run(&self, inputs: &[&[f32]], output: &mut [f32]) -> Result<()> {
        self.run_with(inputs, output, None, None)
    }

    /// Runs the kernel, on the threads of `pool` if there is one, and without allocating if there is
    /// `scratch`.
    pub fn run_with(
        &self,
        inputs: &[&[f32]],
        output: &mut [f32],
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        self.run_slices(inputs, output.into(), scratch, pool)
    }

    /// Runs a kernel of any element types on the calling thread: as [`Kernel::run`], with slices of
    /// the elements that the Spec has, such as `kernel.run_any(&[(&a).into()], (&mut b).into())`.
    pub fn run_any(&self, inputs: &[Slice], output: SliceMut) -> Result<()> {
        self.run_any_with(inputs, output, None, None)
    }

    /// As [`Kernel::run_with`].
    pub fn run_any_with(
        &self,
        inputs: &[Slice],
        output: SliceMut,
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        self.run_slices(inputs, output, scratch, pool)
    }

    fn run_slices<'a, T: Copy + Into<Slice<'a>>>(
        &self,
        inputs: &[T],
        output: SliceMut,
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        self.run_checked(inputs, &mut [output], scratch, pool)
    }

    pub(crate) fn run_checked<'a, T: Copy + Into<Slice<'a>>>(
        &self,
        inputs: &[T],
        outputs: &mut [SliceMut],
        scratch: Option<&mut Scratch>,
        pool: Option<&Pool>,
    ) -> Result<()> {
        let (operands, lengths) = (&self.0.operands, &self.0.lengths);
        let pointers = operand_pointers(operands, lengths, inputs, outputs, self.output_count())?;
        let scratch = match scratch {
            Some(scratch) => scratch.for_kernel(self)?,
            None => std::ptr::null_mut(),
        };
        let executor = pool.map_or(std::ptr::null(), Pool::executor);
        // SAFETY: there is a pointer for every operand, to as many elements of its type as it needs,
        // and slices are aligned. Inputs are only read; outputs are borrowed mutably, so they overlap
        // nothing. The scratch is borrowed mutably and is large and aligned enough.
        unsafe {
            let status =
                sys::morello_kernel_run(self.as_ptr(), pointers.as_ptr(), scratch, executor);
            error::check(status, std::ptr::null_mut())
        }
    }

    /// Elements that operand `index` needs; for an operand whose layout was free, of its packed
    /// form. `None` if there is no such operand.
    pub fn operand_len(&self, index: usize) -> Option<usize> {
        self.0.lengths.get(index).copied()
    }

    /// Inputs in the order of the Spec, then the output, or outputs.
    pub fn operands(&self) -> &[Tensor] {
        &self.0.operands
    }

    /// Rearranges a dense row-major operand to what the kernel reads. For operands whose layout is
    /// [`crate::Layout::Free`]; pack once, run often.
    pub fn pack<T: Element>(&self, index: usize, source: &[T]) -> Result<Packed<T>> {
        let tensor = self.0.operands.get(index).ok_or_else(|| {
            let message =
                format!("operand {} of a kernel that has {}", index, self.0.operands.len());
            Error::new(Status::InvalidArgument, message)
        })?;
        check_dtype(index, tensor, T::DTYPE)?;
        if source.len() < tensor.elements() {
            return Err(too_small(index, source.len(), tensor.elements()));
        }
        let mut packed = Packed::<T>::zeros(self.0.lengths[index]);
        // SAFETY: `source` has an element for every place of the shape, `packed` the size that the
        // kernel asks for.
        unsafe {
            let status = sys::morello_kernel_pack(
                self.as_ptr(),
                index as i32,
                source.as_ptr().cast(),
                packed.as_mut_ptr().cast(),
            );
            error::check(status, std::ptr::null_mut())?;
        }
        Ok(packed)
    }

    /// A name that says what the kernel computes, and for which instruction set.
    pub fn name(&self) -> &str {
        // SAFETY: the string lives as long as the kernel.
        unsafe { CStr::from_ptr(sys::morello_kernel_name(self.as_ptr())) }
            .to_str()
            .unwrap_or_default()
    }

    /// The instruction set that running it needs.
    pub fn isa(&self) -> Option<Isa> {
        // SAFETY (here and below): `self` holds a live kernel.
        Isa::from_raw(unsafe { sys::morello_kernel_isa(self.as_ptr()) })
    }

    /// Predicted cycles of one run.
    pub fn cost(&self) -> f64 {
        unsafe { sys::morello_kernel_cost(self.as_ptr()) }
    }

    /// Every decision that was made, as text, with costs.
    pub fn impl_tree(&self) -> String {
        text_of(|buffer, size| unsafe { sys::morello_kernel_print(self.as_ptr(), buffer, size) })
    }

    /// Where its predicted cycles go, as JSON (docs/tools.md); empty for loaded kernels.
    pub fn explain(&self) -> String {
        text_of(|buffer, size| unsafe { sys::morello_kernel_explain(self.as_ptr(), buffer, size) })
    }

    /// Loops, buffers and microkernels as they were emitted; empty if only searched.
    pub fn plan(&self) -> String {
        text_of(|buffer, size| unsafe {
            sys::morello_kernel_print_plan(self.as_ptr(), buffer, size)
        })
    }

    /// The machine code; empty if only searched.
    pub fn code(&self) -> &[u8] {
        let mut size = 0;
        // SAFETY: the code lives as long as the kernel and never changes.
        unsafe {
            let code = sys::morello_kernel_code(self.as_ptr(), &mut size);
            if code.is_null() || size == 0 {
                return &[];
            }
            std::slice::from_raw_parts(code, size)
        }
    }

    /// What the search did.
    pub fn stats(&self) -> Result<SearchStats> {
        let mut stats = MaybeUninit::<sys::morello_search_stats>::zeroed();
        // SAFETY: the struct is plain data for which zeros are valid; the library is given its size.
        let stats = unsafe {
            let size = size_of::<sys::morello_search_stats>();
            let status = sys::morello_kernel_stats_get(self.as_ptr(), stats.as_mut_ptr(), size);
            error::check(status, std::ptr::null_mut())?;
            stats.assume_init()
        };
        Ok(SearchStats {
            specs: stats.specs,
            states: stats.states,
            expanded: stats.expanded,
            previews: stats.previews,
            memo_hits: stats.memo_hits,
            bytes: stats.bytes,
            search_microseconds: stats.search_microseconds,
            codegen_microseconds: stats.codegen_microseconds,
            misfits: stats.misfits,
            advances: stats.advances,
            borrowed: stats.borrowed,
            lookup: Duration::from_nanos(stats.lookup_nanoseconds),
            search: Duration::from_nanos(stats.search_nanoseconds),
            plan: Duration::from_nanos(stats.plan_nanoseconds),
            emit: Duration::from_nanos(stats.emit_nanoseconds),
            lower_bound: stats.lower_bound,
            optimal: stats.optimal != 0,
            table_use: TableUse::from_raw(stats.table_use),
            table_reason: TableReason::from_raw(stats.table_reason),
            stored: stats.stored != 0,
            effort: Effort::from_raw(stats.effort),
        })
    }

    /// Bytes of scratch that one run needs.
    pub fn scratch_size(&self) -> usize {
        unsafe { sys::morello_kernel_scratch_size(self.as_ptr()) }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name())
    }
}

/// What a search did; see `morello_search_stats` in C.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchStats {
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
    /// Time for asking the table.
    pub lookup: Duration,
    pub search: Duration,
    pub plan: Duration,
    pub emit: Duration,
    /// No program costs less, in cycles.
    pub lower_bound: f64,
    /// Proven; or else a budget or the effort ended the search.
    pub optimal: bool,
    pub table_use: TableUse,
    pub table_reason: TableReason,
    /// The kernel was loaded, from a file or the cache: there was no search, and no code was made.
    pub stored: bool,
    /// What the search was asked for.
    pub effort: Effort,
}

/// What became of the [`crate::Table`] in the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableUse {
    /// There was none.
    None,
    /// The program is the table's.
    Answered,
    /// It does not cover the Spec: a search found the program.
    NotCovered,
    /// What it decides for the Spec is no program: likewise.
    Wrong,
    /// It does not cover the Spec, but what it decides for near sizes made the program, which is not
    /// proven: an effort or a budget ended the search.
    Near,
    /// Of a newer library.
    Other(i32),
}

impl TableUse {
    fn from_raw(number: i32) -> TableUse {
        match number {
            sys::MORELLO_TABLE_NONE => TableUse::None,
            sys::MORELLO_TABLE_ANSWERED => TableUse::Answered,
            sys::MORELLO_TABLE_NOT_COVERED => TableUse::NotCovered,
            sys::MORELLO_TABLE_WRONG => TableUse::Wrong,
            sys::MORELLO_TABLE_NEAR => TableUse::Near,
            other => TableUse::Other(other),
        }
    }
}

/// Why a table does not cover a Spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableReason {
    /// It covers the Spec, or there was none.
    None,
    /// No family of the table has the Spec.
    Spec,
    /// It is for another instruction set, or other cache sizes.
    Target,
    /// It is for another number of threads.
    Threads,
    /// It was made with less effort.
    Effort,
    /// Of a newer library.
    Other(i32),
}

impl TableReason {
    fn from_raw(number: i32) -> TableReason {
        match number {
            sys::MORELLO_TABLE_REASON_NONE => TableReason::None,
            sys::MORELLO_TABLE_REASON_SPEC => TableReason::Spec,
            sys::MORELLO_TABLE_REASON_TARGET => TableReason::Target,
            sys::MORELLO_TABLE_REASON_THREADS => TableReason::Threads,
            sys::MORELLO_TABLE_REASON_EFFORT => TableReason::Effort,
            other => TableReason::Other(other),
        }
    }
}

/// Memory for the temporaries of a run, kept from one run to the next. Grows to what the kernels
/// that use it need.
#[derive(Debug)]
pub struct Scratch {
    memory: Option<(NonNull<u8>, AllocLayout)>,
}

// SAFETY: owns plain memory.
unsafe impl Send for Scratch {}
// SAFETY: a shared reference gives no access to it.
unsafe impl Sync for Scratch {}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { memory: None }
    }

    /// Memory that is large and aligned enough for `kernel`.
    pub(crate) fn for_kernel(&mut self, kernel: &Kernel) -> Result<*mut c_void> {
        // SAFETY: `kernel` is live.
        let alignment = unsafe { sys::morello_kernel_scratch_alignment(kernel.as_ptr()) };
        let needed = AllocLayout::from_size_align(kernel.scratch_size().max(1), alignment.max(1))
            .map_err(|_| Error::new(Status::OutOfMemory, "scratch size"))?;
        if let Some((memory, layout)) = self.memory {
            if layout.size() >= needed.size() && layout.align() >= needed.align() {
                return Ok(memory.as_ptr().cast());
            }
        }
        self.release();
        // SAFETY: the size is not zero.
        let memory = NonNull::new(unsafe { alloc(needed) })
            .ok_or_else(|| Error::new(Status::OutOfMemory, "scratch"))?;
        self.memory = Some((memory, needed));
        Ok(memory.as_ptr().cast())
    }

    fn release(&mut self) {
        if let Some((memory, layout)) = self.memory.take() {
            // SAFETY: allocated with this layout, and taken, so freed once.
            unsafe { dealloc(memory.as_ptr(), layout) }
        }
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.release();
    }
}

/// Elements that each operand of a kernel needs at least.
///
/// # Safety
/// `kernel` must be live.
unsafe fn lengths_of(kernel: NonNull<sys::morello_kernel>, operands: &[Tensor]) -> Vec<usize> {
    (0..operands.len())
        .map(|index| sys::morello_kernel_operand_size(kernel.as_ptr(), index as u32))
        .zip(operands)
        .map(|(bytes, tensor)| (bytes + tensor.dtype.size() - 1) / tensor.dtype.size())
        .collect()
}

fn check_dtype(index: usize, tensor: &Tensor, given: Dtype) -> Result<()> {
    if tensor.dtype == given {
        return Ok(());
    }
    let message = format!("operand {} is {:?}; its slice is {:?}", index, tensor.dtype, given);
    Err(Error::new(Status::InvalidArgument, message))
}

/// Pointers for a call, after the number, types and lengths of the slices were checked.
pub(crate) fn operand_pointers<'a, T: Copy + Into<Slice<'a>>>(
    operands: &[Tensor],
    lengths: &[usize],
    inputs: &[T],
    outputs: &mut [SliceMut],
    output_count: usize,
) -> Result<[*mut c_void; sys::MORELLO_MAX_OPERANDS]> {
    let count = lengths.len();
    if outputs.len() != output_count {
        let message = format!("{} outputs where the Spec has {}", outputs.len(), output_count);
        return Err(Error::new(Status::InvalidArgument, message));
    }
    if count > sys::MORELLO_MAX_OPERANDS || inputs.len() + output_count != count {
        let wanted = count.saturating_sub(output_count);
        let message = format!("{} inputs where the Spec has {}", inputs.len(), wanted);
        return Err(Error::new(Status::InvalidArgument, message));
    }
    let mut pointers = [std::ptr::null_mut(); sys::MORELLO_MAX_OPERANDS];
    for (index, input) in inputs.iter().enumerate() {
        let input: Slice = (*input).into();
        check_dtype(index, &operands[index], input.dtype)?;
        if input.len < lengths[index] {
            return Err(too_small(index, input.len, lengths[index]));
        }
        pointers[index] = input.pointer as *mut c_void;
    }
    for (output, index) in outputs.iter().zip(inputs.len()..) {
        check_dtype(index, &operands[index], output.dtype)?;
        if output.len < lengths[index] {
            return Err(too_small(index, output.len, lengths[index]));
        }
        pointers[index] = output.pointer;
    }
    Ok(pointers)
}

fn too_small(index: usize, have: usize, need: usize) -> Error {
    let message = format!("operand {index} has {have} elements; the kernel needs {need}");
    Error::new(Status::OperandTooSmall, message)
}

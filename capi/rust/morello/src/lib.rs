// SPDX-License-Identifier: MIT
//! Synthesizes fast kernels for tensor computations.
//!
//! A [`Spec`] says what to compute, in one line of text or through its constructors. A [`Kernel`] is
//! machine code for exactly that: found by search over tilings, layouts and microkernels, immutable,
//! callable from any thread.
//!
//! ```
//! use morello::{Kernel, Spec};
//!
//! # fn main() -> morello::Result<()> {
//! let spec: Spec = "matmul f32[4,8] f32[8,16] -> f32[4,16]".parse()?;
//! let kernel = Kernel::new(&spec)?;
//! let (a, b, mut c) = ([1.0; 32], [2.0; 128], [0.0; 64]);
//! kernel.run(&[&a, &b], &mut c)?;
//! assert_eq!(c, [16.0; 64]);
//! # Ok(())
//! # }
//! ```
//!
//! Operands may have other element types, each its own: [`Kernel::run_any`] takes slices of any
//! [`Element`].
//!
//! ```
//! use morello::{Bf16, Kernel, Spec};
//!
//! # fn main() -> morello::Result<()> {
//! let spec: Spec = "matmul bf16[4,8] i8[8,16] * f32[1,16] -> f32[4,16]".parse()?;
//! let kernel = Kernel::new(&spec)?;
//! let (a, b, scale) = ([Bf16::from_f32(1.5); 32], [-2i8; 128], [0.25f32; 16]);
//! let mut c = [0.0f32; 64];
//! kernel.run_any(&[(&a).into(), (&b).into(), (&scale).into()], (&mut c).into())?;
//! assert_eq!(c, [-6.0; 64]);
//! # Ok(())
//! # }
//! ```
//!
//! This version runs on x86-64 CPUs with AVX2, FMA and F16C, or AVX-512.

mod context;
mod cpu;
mod element;
mod error;
mod graph;
mod inspect;
mod kernel;
mod options;
mod outputs;
mod packed;
mod pool;
mod precompute;
mod sized;
mod spec;
mod stored;
mod table;
mod tensor;
mod watch;

pub use context::{Context, ContextOptions};
pub use cpu::{cpu_info, version, CpuInfo, Isa};
pub use element::{Bf16, Element, Slice, SliceMut, F16};
pub use error::{Error, Result, Status};
pub use graph::{Graph, Value};
pub use inspect::Verification;
pub use kernel::{Kernel, Scratch, SearchStats, TableReason, TableUse};
pub use options::{Effort, Options, Progress};
pub use packed::Packed;
pub use pool::Pool;
pub use precompute::{Precompute, PrecomputeProgress};
pub use spec::{Op, Spec, Write};
pub use table::{Table, TableInfo};
pub use tensor::{Dtype, Layout, Tensor};
pub use watch::Cancel;

use std::ptr::NonNull;

/// Calls one of C's two-call text functions: for the length, then for the text.
fn text_of(print: impl Fn(*mut morello_sys::c_char, usize) -> usize) -> String {
    let mut buffer = vec![0u8; print(std::ptr::null_mut(), 0) + 1];
    print(buffer.as_mut_ptr().cast(), buffer.len());
    buffer.pop();
    String::from_utf8_lossy(&buffer).into_owned()
}

/// Calls one of C's functions that write bytes: for the length, then for them.
fn saved_bytes(
    save: impl Fn(
        *mut std::ffi::c_void,
        usize,
        *mut usize,
        *mut *mut morello_sys::morello_error,
    ) -> morello_sys::morello_status,
) -> Result<Vec<u8>> {
    let (mut bytes, mut length) = (Vec::<u8>::new(), 0);
    for _ in 0..2 {
        bytes.resize(length, 0);
        let mut error = std::ptr::null_mut();
        let status = save(bytes.as_mut_ptr().cast(), bytes.len(), &mut length, &mut error);
        // SAFETY: `error` is null or what the library returned, and is not used again.
        unsafe { error::check(status, error) }?;
    }
    Ok(bytes)
}

/// Calls a function of C that makes an object or an error.
fn create<T>(
    make: impl FnOnce(*mut *mut T, *mut *mut morello_sys::morello_error) -> morello_sys::morello_status,
) -> Result<NonNull<T>> {
    let (mut object, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
    let status = make(&mut object, &mut error);
    // SAFETY: `error` is null or what the library returned, and is not used again.
    unsafe { error::check(status, error) }?;
    NonNull::new(object)
        .ok_or_else(|| Error::new(Status::Internal, "the library returned no object"))
}

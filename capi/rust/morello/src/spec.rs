// SPDX-License-Identifier: MIT
//! Specs: what to compute.

use crate::context::Context;
use crate::{create, error, kernel, text_of, Error, Result, Slice, SliceMut, Status, Tensor};
use morello_sys as sys;
use std::ffi::CString;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;
use std::str::FromStr;

/// Scalar functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    Relu,
    Neg,
    Abs,
    Sqrt,
    Square,
    Recip,
    Exp,
    Exp2,
    /// Natural.
    Log,
    Tanh,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    Erf,
    /// `x / 2 * (1 + erf(x / sqrt(2)))`.
    Gelu,
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
    GeluTanh,
    /// `x * sigmoid(x)`.
    Silu,
    /// `1 / sqrt(x)`.
    Rsqrt,
    /// Of radians, any finite number of them.
    Sin,
    Cos,
    Floor,
    Ceil,
    /// To the nearest integer, ties to even.
    Round,
    Add,
    Sub,
    Mul,
    Div,
    /// NaN if one is NaN, and +0 is above -0.
    Max,
    /// NaN if one is NaN, and -0 is below +0.
    Min,
    /// `a > b ? a : b`.
    FastMax,
    /// `a < b ? a : b`.
    FastMin,
    /// 1 or 0. With a NaN 0, but for `NotEqual`.
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// `a != 0 ? b : c`, of three inputs: in texts and graphs.
    Select,
}

impl Op {
    fn to_raw(self) -> i32 {
        match self {
            Op::Relu => sys::MORELLO_OP_RELU,
            Op::Neg => sys::MORELLO_OP_NEG,
            Op::Abs => sys::MORELLO_OP_ABS,
            Op::Sqrt => sys::MORELLO_OP_SQRT,
            Op::Square => sys::MORELLO_OP_SQUARE,
            Op::Recip => sys::MORELLO_OP_RECIP,
            Op::Exp => sys::MORELLO_OP_EXP,
            Op::Exp2 => sys::MORELLO_OP_EXP2,
            Op::Log => sys::MORELLO_OP_LOG,
            Op::Tanh => sys::MORELLO_OP_TANH,
            Op::Sigmoid => sys::MORELLO_OP_SIGMOID,
            Op::Erf => sys::MORELLO_OP_ERF,
            Op::Gelu => sys::MORELLO_OP_GELU,
            Op::GeluTanh => sys::MORELLO_OP_GELU_TANH,
            Op::Silu => sys::MORELLO_OP_SILU,
            Op::Rsqrt => sys::MORELLO_OP_RSQRT,
            Op::Sin => sys::MORELLO_OP_SIN,
            Op::Cos => sys::MORELLO_OP_COS,
            Op::Floor => sys::MORELLO_OP_FLOOR,
            Op::Ceil => sys::MORELLO_OP_CEIL,
            Op::Round => sys::MORELLO_OP_ROUND,
            Op::Add => sys::MORELLO_OP_ADD,
            Op::Sub => sys::MORELLO_OP_SUB,
            Op::Mul => sys::MORELLO_OP_MUL,
            Op::Div => sys::MORELLO_OP_DIV,
            Op::Max => sys::MORELLO_OP_MAX,
            Op::Min => sys::MORELLO_OP_MIN,
            Op::FastMax => sys::MORELLO_OP_FAST_MAX,
            Op::FastMin => sys::MORELLO_OP_FAST_MIN,
            Op::Less => sys::MORELLO_OP_LESS,
            Op::LessEqual => sys::MORELLO_OP_LESS_EQUAL,
            Op::Greater => sys::MORELLO_OP_GREATER,
            Op::GreaterEqual => sys::MORELLO_OP_GREATER_EQUAL,
            Op::Equal => sys::MORELLO_OP_EQUAL,
            Op::NotEqual => sys::MORELLO_OP_NOT_EQUAL,
            Op::Select => sys::MORELLO_OP_SELECT,
        }
    }
}

/// What a reduction does with the values that its output holds before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// They are never read.
    Overwrite,
    /// They are one more term.
    Accumulate,
}

impl Write {
    pub(crate) fn to_raw(self) -> i32 {
        i32::from(self == Write::Accumulate)
    }
}

/// A computation on tensors of given shapes and layouts. Immutable; clones share it. Parsed from
/// text (`"matmul f32[4,8] f32[8,16] -> f32[4,16]".parse()`) or made by the functions below, and
/// printed in one form that parses back to an equal Spec.
pub struct Spec(NonNull<sys::morello_spec>);

// SAFETY: a Spec never changes, and the library counts its owners atomically.
unsafe impl Send for Spec {}
// SAFETY: as above; functions on a const Spec may be called from many threads at once.
unsafe impl Sync for Spec {}

pub(crate) type SpecOut = *mut *mut sys::morello_spec;
pub(crate) type ErrorOut = *mut *mut sys::morello_error;

impl Spec {
    pub(crate) fn build(
        make: impl FnOnce(*const sys::morello_context, SpecOut, ErrorOut) -> sys::morello_status,
    ) -> Result<Spec> {
        let context = Context::new()?;
        create(|spec, err| make(context.as_ptr(), spec, err)).map(Spec)
    }

    /// `out[..,m,n] = a[..,m,k] * b[..,k,n]`; leading axes are a batch.
    pub fn matmul(a: &Tensor, b: &Tensor, out: &Tensor, write: Write) -> Result<Spec> {
        let (a, b, out) = (a.to_raw()?, b.to_raw()?, out.to_raw()?);
        // SAFETY (here and below): all pointers are valid for the call; the library keeps none.
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_matmul(context, &a, &b, &out, write.to_raw(), spec, err)
        })
    }

    /// A general contraction with a letter for each axis, such as `"bmk,bkn->bmn"`.
    pub fn einsum(
        subscripts: &str,
        a: &Tensor,
        b: &Tensor,
        out: &Tensor,
        write: Write,
    ) -> Result<Spec> {
        let subscripts = c_string(subscripts)?;
        let (a, b, out) = (a.to_raw()?, b.to_raw()?, out.to_raw()?);
        Spec::build(|context, spec, err| unsafe {
            let subscripts = subscripts.as_ptr();
            sys::morello_spec_einsum(context, subscripts, &a, &b, &out, write.to_raw(), spec, err)
        })
    }

    /// `out = op(input)`, elementwise.
    pub fn unary(op: Op, input: &Tensor, out: &Tensor) -> Result<Spec> {
        let (input, out) = (input.to_raw()?, out.to_raw()?);
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_unary(context, op.to_raw(), &input, &out, spec, err)
        })
    }

    /// `out = op(a, b)`; a and b are broadcast to the shape of out.
    pub fn binary(op: Op, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<Spec> {
        let (a, b, out) = (a.to_raw()?, b.to_raw()?, out.to_raw()?);
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_binary(context, op.to_raw(), &a, &b, &out, spec, err)
        })
    }

    /// Reduces one axis by [`Op::Add`], [`Op::Max`], [`Op::Min`], [`Op::FastMax`] or [`Op::FastMin`].
    pub fn reduce(op: Op, axis: usize, input: &Tensor, out: &Tensor, write: Write) -> Result<Spec> {
        let axis = axis.min(u32::MAX as usize) as u32;
        let (input, out) = (input.to_raw()?, out.to_raw()?);
        Spec::build(|context, spec, err| unsafe {
            let write = write.to_raw();
            sys::morello_spec_reduce(context, op.to_raw(), axis, &input, &out, write, spec, err)
        })
    }

    /// A copy, to another layout or broadcast to the shape of out.
    pub fn copy(input: &Tensor, out: &Tensor) -> Result<Spec> {
        let (input, out) = (input.to_raw()?, out.to_raw()?);
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_move(context, &input, &out, spec, err)
        })
    }

    /// Axis j of out is axis `permutation[j]` of input.
    pub fn transpose(permutation: &[usize], input: &Tensor, out: &Tensor) -> Result<Spec> {
        if permutation.len() != input.shape.len() {
            let message = format!(
                "permutation has {} entries for {} axes",
                permutation.len(),
                input.shape.len()
            );
            return Err(Error::new(Status::InvalidArgument, message));
        }
        let permutation: Vec<u32> =
            permutation.iter().map(|axis| (*axis).min(u32::MAX as usize) as u32).collect();
        let (input, out) = (input.to_raw()?, out.to_raw()?);
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_transpose(context, permutation.as_ptr(), &input, &out, spec, err)
        })
    }

    /// Every element is `value`.
    pub fn fill(value: f32, out: &Tensor) -> Result<Spec> {
        let out = out.to_raw()?;
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_fill(context, value, &out, spec, err)
        })
    }

    /// One more elementwise step on the result: `op(result)`, or `op(result, operand)` with the
    /// operand broadcast to the result, as the new last input.
    pub fn then(&self, op: Op, operand: Option<&Tensor>) -> Result<Spec> {
        let operand = operand.map(Tensor::to_raw).transpose()?;
        let operand = operand.as_ref().map_or(std::ptr::null(), |operand| operand as *const _);
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_append(context, self.as_ptr(), op.to_raw(), operand, spec, err)
        })
    }

    /// Inputs in the order of the Spec, then the output.
    pub fn operands(&self) -> Result<Vec<Tensor>> {
        // SAFETY: `self` is a live Spec; `raw` is valid for the call.
        let count = unsafe { sys::morello_spec_operand_count(self.as_ptr()) };
        (0..count)
            .map(|index| {
                let mut raw = sys::morello_tensor::default();
                unsafe {
                    let status = sys::morello_spec_operand(self.as_ptr(), index, &mut raw);
                    error::check(status, std::ptr::null_mut())?;
                }
                Tensor::from_raw(&raw)
            })
            .collect()
    }

    /// The bound of a size that is known only at run time, `?<=512` in the text; 0 if there is none.
    /// What is asked of such a Spec is of that largest size.
    pub fn largest_size(&self) -> usize {
        // SAFETY: `self` is a live Spec.
        unsafe { sys::morello_spec_largest_size(self.as_ptr()) as usize }
    }

    /// The Spec of one size, 1 to [`Spec::largest_size`].
    pub fn at_size(&self, size: usize) -> Result<Spec> {
        Spec::build(|_context, spec, err| unsafe {
            sys::morello_spec_at_size(self.as_ptr(), size as i64, spec, err)
        })
    }

    /// Floating-point operations of one run.
    pub fn flops(&self) -> f64 {
        // SAFETY: `self` is a live Spec.
        unsafe { sys::morello_spec_flops(self.as_ptr()) }
    }

    /// Computes the Spec slowly, in double precision: the reference to check kernels against.
    /// Operands as for [`crate::Kernel::run`], with free layouts row-major.
    pub fn evaluate(&self, inputs: &[&[f32]], output: &mut [f32]) -> Result<()> {
        self.evaluate_slices(inputs, output.into())
    }

    /// The same for any element types, as [`crate::Kernel::run_any`].
    pub fn evaluate_any(&self, inputs: &[Slice], output: SliceMut) -> Result<()> {
        self.evaluate_slices(inputs, output)
    }

    fn evaluate_slices<'a, T: Copy + Into<Slice<'a>>>(
        &self,
        inputs: &[T],
        output: SliceMut,
    ) -> Result<()> {
        self.evaluate_checked(inputs, &mut [output])
    }

    pub(crate) fn evaluate_checked<'a, T: Copy + Into<Slice<'a>>>(
        &self,
        inputs: &[T],
        outputs: &mut [SliceMut],
    ) -> Result<()> {
        let operands = self.operands()?;
        let lengths: Vec<usize> = operands.iter().map(extent).collect();
        let count = self.output_count();
        let pointers = kernel::operand_pointers(&operands, &lengths, inputs, outputs, count)?;
        let mut err = std::ptr::null_mut();
        // SAFETY: every operand has as many elements as its shape and strides reach, which was
        // checked above; inputs are only read.
        unsafe {
            let status = sys::morello_spec_evaluate(self.as_ptr(), pointers.as_ptr(), &mut err);
            error::check(status, err)
        }
    }

    pub(crate) fn as_ptr(&self) -> *const sys::morello_spec {
        self.0.as_ptr()
    }
}

/// Elements from the first to past the last one.
fn extent(tensor: &Tensor) -> usize {
    match &tensor.layout {
        crate::Layout::Strided(strides) => {
            let reach = tensor.shape.iter().zip(strides).map(|(size, stride)| (size - 1) * stride);
            reach.sum::<usize>() + 1
        }
        _ => tensor.elements(),
    }
}

/// `text` for C, or an error at its first NUL byte.
pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|nul| {
        let before = &text[..nul.nul_position()];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.len() - before.rfind('\n').map_or(0, |newline| newline + 1);
        let message = "a NUL character has no place in a Spec";
        Error::at(Status::SyntaxError, message, line as u32, column as u32)
    })
}

impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Spec> {
        let text = c_string(text)?;
        // SAFETY: all pointers are valid for the call.
        Spec::build(|context, spec, err| unsafe {
            sys::morello_spec_parse(context, text.as_ptr(), spec, err)
        })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: text_of gives a buffer and its size.
        f.write_str(&text_of(|buffer, size| unsafe {
            sys::morello_spec_print(self.as_ptr(), buffer, size)
        }))
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spec({self})")
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Spec) -> bool {
        // SAFETY: both are live Specs.
        unsafe { sys::morello_spec_equal(self.as_ptr(), other.as_ptr()) != 0 }
    }
}

impl Eq for Spec {}

impl Hash for Spec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // SAFETY: `self` is a live Spec.
        state.write_u64(unsafe { sys::morello_spec_hash(self.as_ptr()) });
    }
}

impl Clone for Spec {
    fn clone(&self) -> Spec {
        // SAFETY: `self` is a live Spec; the new owner releases it in drop().
        unsafe { sys::morello_spec_retain(self.as_ptr()) };
        Spec(self.0)
    }
}

impl Drop for Spec {
    fn drop(&mut self) {
        // SAFETY: this owner releases once.
        unsafe { sys::morello_spec_release(self.0.as_ptr()) }
    }
}

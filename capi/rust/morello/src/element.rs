// SPDX-License-Identifier: MIT
//! Elements of tensors as Rust types, and slices of them.

use crate::Dtype;
use std::ffi::c_void;
use std::marker::PhantomData;

/// A `bf16`: the upper half of an `f32`. The bits are those that crates such as `half` have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// An IEEE 754 binary16, likewise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F16(pub u16);

impl Bf16 {
    /// The nearest one, ties to even; NaN stays NaN.
    pub fn from_f32(value: f32) -> Bf16 {
        Bf16(half_bits(value, 7, -126))
    }

    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl F16 {
    /// The nearest one, ties to even; past 65504 infinity; NaN stays NaN.
    pub fn from_f32(value: f32) -> F16 {
        F16(half_bits(value, 10, -14))
    }

    pub fn to_f32(self) -> f32 {
        let bits = u32::from(self.0);
        let (exponent, fraction) = (bits >> 10 & 0x1f, bits & 0x3ff);
        let size = match exponent {
            0 => fraction as f32 / 16_777_216.0,
            31 => f32::from_bits(0x7f80_0000 | fraction << 13),
            _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
        };
        f32::from_bits(size.to_bits() | (bits & 0x8000) << 16)
    }
}

/// A float of 16 bits with so many digits of fraction, of which the smallest normal one is
/// 2^least.
fn half_bits(value: f32, digits: i32, least: i32) -> u16 {
    let infinity = 0x7fff >> digits << digits;
    let sign = (value.to_bits() >> 16 & 0x8000) as u16;
    if value.is_nan() {
        return sign | infinity | 1 << (digits - 1);
    }
    // In steps of the last digit; an f32 times a power of two is exact in f64.
    let size = f64::from(value.abs());
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).clamp(least, 128);
    let steps = size * 2f64.powi(digits - exponent);
    let mut whole = steps.floor().min(1e6);
    let rest = steps - whole;
    if rest > 0.5 || (rest == 0.5 && whole % 2.0 != 0.0) {
        whole += 1.0;
    }
    let bits = f64::from((exponent - least) << digits) + whole;
    sign | bits.min(f64::from(infinity)) as u16
}

mod sealed {
    pub trait Sealed {}
}

/// What slices of operands are made of: `f32`, [`Bf16`], [`F16`], `i8`, `u8`, `i32`.
pub trait Element: Copy + Default + sealed::Sealed {
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => {
        $(impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        })*
    };
}
elements!(f32 => F32, Bf16 => Bf16, F16 => F16, i8 => I8, u8 => U8, i32 => I32);

/// An input: a slice of any [`Element`].
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    pub(crate) dtype: Dtype,
    pub(crate) len: usize,
    pub(crate) pointer: *const c_void,
    borrowed: PhantomData<&'a [u8]>,
}

/// The output, likewise.
#[derive(Debug)]
pub struct SliceMut<'a> {
    pub(crate) dtype: Dtype,
    pub(crate) len: usize,
    pub(crate) pointer: *mut c_void,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a, T: Element> From<&'a [T]> for Slice<'a> {
    fn from(slice: &'a [T]) -> Slice<'a> {
        let pointer = slice.as_ptr().cast();
        Slice { dtype: T::DTYPE, len: slice.len(), pointer, borrowed: PhantomData }
    }
}

impl<'a, T: Element> From<&'a mut [T]> for SliceMut<'a> {
    fn from(slice: &'a mut [T]) -> SliceMut<'a> {
        let pointer = slice.as_mut_ptr().cast();
        SliceMut { dtype: T::DTYPE, len: slice.len(), pointer, borrowed: PhantomData }
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Slice<'a> {
    fn from(vec: &'a Vec<T>) -> Slice<'a> {
        vec.as_slice().into()
    }
}

impl<'a, T: Element> From<&'a mut Vec<T>> for SliceMut<'a> {
    fn from(vec: &'a mut Vec<T>) -> SliceMut<'a> {
        vec.as_mut_slice().into()
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Slice<'a> {
    fn from(array: &'a [T; N]) -> Slice<'a> {
        array.as_slice().into()
    }
}

impl<'a, T: Element, const N: usize> From<&'a mut [T; N]> for SliceMut<'a> {
    fn from(array: &'a mut [T; N]) -> SliceMut<'a> {
        array.as_mut_slice().into()
    }
}

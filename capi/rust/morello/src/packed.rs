// SPDX-License-Identifier: MIT
//! Operands in the layout that a kernel chose.

use crate::Element;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Deref;

/// What [`crate::Kernel::pack`] makes: a slice that begins where a cache line does. Loads that
/// straddle two lines, as those from a large `Vec` do, take up to twice as long where memory is the
/// limit.
#[derive(Clone)]
pub struct Packed<T: Element> {
    lines: Vec<Line>,
    len: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl<T: Element> Packed<T> {
    pub(crate) fn zeros(len: usize) -> Packed<T> {
        let count = (len * size_of::<T>() + 63) / 64;
        Packed { lines: vec![Line([0; 64]); count], len, element: PhantomData }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.lines.as_mut_ptr().cast()
    }
}

impl<T: Element> Deref for Packed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: there are so many elements or more, aligned, initialized, and numbers all of them,
        // for which any bits are good.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

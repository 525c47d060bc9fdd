// SPDX-License-Identifier: MIT
//! Descriptions of tensors.

use crate::{Error, Result, Status};
use morello_sys as sys;

/// Element types; [`crate::Element`] has the Rust types of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    F32,
    Bf16,
    F16,
    I8,
    U8,
    I32,
}

impl Dtype {
    fn to_raw(self) -> i32 {
        match self {
            Dtype::F32 => sys::MORELLO_F32,
            Dtype::Bf16 => sys::MORELLO_BF16,
            Dtype::F16 => sys::MORELLO_F16,
            Dtype::I8 => sys::MORELLO_I8,
            Dtype::U8 => sys::MORELLO_U8,
            Dtype::I32 => sys::MORELLO_I32,
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::Bf16 | Dtype::F16 => 2,
            Dtype::I8 | Dtype::U8 => 1,
        }
    }

    fn from_raw(dtype: i32) -> Result<Dtype> {
        [Dtype::F32, Dtype::Bf16, Dtype::F16, Dtype::I8, Dtype::U8, Dtype::I32]
            .into_iter()
            .find(|known| known.to_raw() == dtype)
            .ok_or_else(|| Error::new(Status::UnknownDtype, format!("element type number {dtype}")))
    }
}

/// How the elements of a tensor lie in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    RowMajor,
    /// The last two axes swapped in memory.
    ColumnMajor,
    /// Elements between neighbours, for every axis.
    Strided(Vec<usize>),
    /// Inputs only: the library chooses, and [`crate::Kernel::pack`] writes it.
    Free,
}

/// The type, shape and layout of one operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub layout: Layout,
}

impl Tensor {
    /// A row-major `f32` tensor.
    pub fn f32(shape: &[usize]) -> Tensor {
        Tensor::new(Dtype::F32, shape)
    }

    /// A row-major tensor.
    pub fn new(dtype: Dtype, shape: &[usize]) -> Tensor {
        Tensor { dtype, shape: shape.to_vec(), layout: Layout::RowMajor }
    }

    /// The same tensor in another layout.
    pub fn with_layout(self, layout: Layout) -> Tensor {
        Tensor { layout, ..self }
    }

    /// Elements of the tensor; saturates.
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |count, size| count.saturating_mul(*size))
    }

    pub(crate) fn to_raw(&self) -> Result<sys::morello_tensor> {
        let mut raw = sys::morello_tensor {
            dtype: self.dtype.to_raw(),
            layout: match self.layout {
                Layout::RowMajor => sys::MORELLO_LAYOUT_ROW_MAJOR,
                Layout::ColumnMajor => sys::MORELLO_LAYOUT_COLUMN_MAJOR,
                Layout::Strided(_) => sys::MORELLO_LAYOUT_STRIDED,
                Layout::Free => sys::MORELLO_LAYOUT_FREE,
            },
            rank: self.shape.len().min(u32::MAX as usize) as u32,
            ..Default::default()
        };
        copy_numbers(&mut raw.shape, &self.shape)?;
        if let Layout::Strided(strides) = &self.layout {
            if strides.len() != self.shape.len() {
                let message = format!("{} strides for {} axes", strides.len(), self.shape.len());
                return Err(Error::new(Status::InvalidLayout, message));
            }
            copy_numbers(&mut raw.strides, strides)?;
        }
        Ok(raw)
    }

    pub(crate) fn from_raw(raw: &sys::morello_tensor) -> Result<Tensor> {
        let axes = |numbers: &[i64]| -> Vec<usize> {
            numbers.iter().take(raw.rank as usize).map(|number| *number as usize).collect()
        };
        Ok(Tensor {
            dtype: Dtype::from_raw(raw.dtype)?,
            shape: axes(&raw.shape),
            layout: match raw.layout {
                sys::MORELLO_LAYOUT_ROW_MAJOR => Layout::RowMajor,
                sys::MORELLO_LAYOUT_COLUMN_MAJOR => Layout::ColumnMajor,
                sys::MORELLO_LAYOUT_FREE => Layout::Free,
                _ => Layout::Strided(axes(&raw.strides)),
            },
        })
    }
}

fn copy_numbers(to: &mut [i64; sys::MORELLO_MAX_RANK], from: &[usize]) -> Result<()> {
    if from.len() > to.len() {
        let message = format!("{} axes; a tensor has at most {}", from.len(), to.len());
        return Err(Error::new(Status::Unsupported, message));
    }
    for (to, from) in to.iter_mut().zip(from) {
        *to = i64::try_from(*from)
            .map_err(|_| Error::new(Status::SizeOverflow, format!("{from} is too large")))?;
    }
    Ok(())
}

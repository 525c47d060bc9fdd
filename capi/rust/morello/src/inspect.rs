// SPDX-License-Identifier: MIT
//! What is in a table, for people and for checks.

use crate::precompute::c_text;
use crate::table::Table;
use crate::{error, text_of, Result};
use morello_sys as sys;
use std::ffi::{CStr, CString};
use std::mem::{size_of, MaybeUninit};

/// What [`Table::verify`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Specs that the table covers.
    pub promised: u64,
    /// Of Specs and memory limits that their kernels decide.
    pub pairs: u64,
    /// Covered Specs that were searched for.
    pub searched: u64,
    /// Missing or illegal decisions, and Specs for which the search has another kernel.
    pub failures: u64,
    /// The first failure; empty without any.
    pub failure: String,
}

impl Table {
    /// Checks every decision that covered Specs need, and searches again for `points` of them, chosen
    /// by `seed`, to compare. Takes as long as these searches. Failures are no error.
    pub fn verify(&self, points: u64, seed: u64) -> Result<Verification> {
        let mut found = MaybeUninit::<sys::morello_table_verification>::zeroed();
        let mut err = std::ptr::null_mut();
        // SAFETY: the struct is plain data for which zeros are valid; the library is given its size,
        // and terminates the text. The error is not used again.
        unsafe {
            let size = size_of::<sys::morello_table_verification>();
            let (table, to) = (self.as_ptr(), found.as_mut_ptr());
            error::check(sys::morello_table_verify(table, points, seed, to, size, &mut err), err)?;
            let found = found.assume_init();
            Ok(Verification {
                promised: found.promised,
                pairs: found.pairs,
                searched: found.searched,
                failures: found.failures,
                failure: CStr::from_ptr(found.failure.as_ptr()).to_string_lossy().into_owned(),
            })
        }
    }

    /// Every box and its decision, in words, or as one JSON object.
    pub fn dump(&self, json: bool) -> String {
        // SAFETY: the table is live, and the buffer as large as it says.
        text_of(|buffer, size| unsafe {
            sys::morello_table_dump(self.as_ptr(), json.into(), buffer, size)
        })
    }

    /// An SVG document of boxes of one group, by its number in a dump (`None`: the largest), over two
    /// axes by name (`None`: the widest).
    pub fn plot(&self, group: Option<u32>, x: Option<&str>, y: Option<&str>) -> Result<String> {
        let (x, y) = (x.map(c_text).transpose()?, y.map(c_text).transpose()?);
        let name = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
        let group = group.map_or(-1, i64::from);
        let (mut length, mut err) = (0, std::ptr::null_mut());
        let mut buffer = Vec::new();
        // Once for the length, once for the text.
        for _ in 0..2 {
            buffer.resize(if length == 0 { 0 } else { length + 1 }, 0u8);
            let (to, size) = (buffer.as_mut_ptr().cast(), buffer.len());
            // SAFETY: all pointers are valid for the call, and the buffer as large as it says; the
            // error is not used again.
            unsafe {
                let (table, x, y) = (self.as_ptr(), name(&x), name(&y));
                let status =
                    sys::morello_table_plot(table, group, x, y, to, size, &mut length, &mut err);
                error::check(status, err)?;
            }
        }
        buffer.pop();
        Ok(String::from_utf8_lossy(&buffer).into_owned())
    }
}

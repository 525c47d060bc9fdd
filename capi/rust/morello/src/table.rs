// SPDX-License-Identifier: MIT
//! Tables: programs that were found before, to ship with an application.

use crate::cpu::Isa;
use crate::precompute::c_text;
use crate::{create, error, saved_bytes, text_of, Context, Effort, Error, Result, Spec, Status};
use morello_sys as sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// What searches found for a set of Specs, so that kernels for them need no search. Immutable;
/// clones share it. Each of its parts is for one instruction set and one number of threads.
///
/// Files of tables are checked when they are read, and decisions again when they are used.
pub struct Table(NonNull<sys::morello_table>);

// SAFETY: a table never changes, and its owners are counted atomically.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// Reads a file, for contexts with default settings; see [`Context::load_table`] for others.
    pub fn load(path: impl AsRef<Path>) -> Result<Table> {
        Context::new()?.load_table(path)
    }

    /// The same from the bytes of a file, such as `include_bytes!` has them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Table> {
        Context::new()?.table_from_bytes(bytes)
    }

    pub(crate) fn load_in(context: &Context, path: &Path) -> Result<Table> {
        let path = c_path(path)?;
        // SAFETY: all pointers are valid for the call.
        create(|table, err| unsafe {
            sys::morello_table_load(context.as_ptr(), path.as_ptr(), table, err)
        })
        .map(Table)
    }

    pub(crate) fn from_bytes_in(context: &Context, bytes: &[u8]) -> Result<Table> {
        let data = bytes.as_ptr().cast();
        // SAFETY: all pointers are valid for the call.
        create(|table, err| unsafe {
            sys::morello_table_load_memory(context.as_ptr(), data, bytes.len(), table, err)
        })
        .map(Table)
    }

    /// What a call that succeeded has made for us.
    pub(crate) fn made(table: *mut sys::morello_table) -> Result<Table> {
        let none = || Error::new(Status::Internal, "the library returned no object");
        NonNull::new(table).map(Table).ok_or_else(none)
    }

    /// The bytes of such a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: the pointers are valid for the call, and the buffer has the size that it is told.
        saved_bytes(|buffer, size, length, err| unsafe {
            sys::morello_table_save_memory(self.as_ptr(), buffer, size, length, err)
        })
    }

    /// Replaces a file, or makes one, as a whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        let mut err = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call; the error is not used again.
        unsafe {
            let status = sys::morello_table_save(self.as_ptr(), path.as_ptr(), &mut err);
            error::check(status, err)
        }
    }

    /// A table that covers what either covers.
    pub fn merge(&self, other: &Table) -> Result<Table> {
        // SAFETY: all pointers are valid for the call.
        create(|table, err| unsafe {
            sys::morello_table_merge(self.as_ptr(), other.as_ptr(), table, err)
        })
        .map(Table)
    }

    /// A part, counted from 0, as a table of its own.
    pub fn part(&self, index: u64) -> Result<Table> {
        // SAFETY: all pointers are valid for the call.
        create(|table, err| unsafe { sys::morello_table_part(self.as_ptr(), index, table, err) })
            .map(Table)
    }

    /// Does a kernel for `spec`, of the instruction set and threads of some part, need no search?
    pub fn covers(&self, spec: &Spec) -> bool {
        // SAFETY: both are live.
        unsafe { sys::morello_table_covers(self.as_ptr(), spec.as_ptr()) != 0 }
    }

    /// Why the table does not cover `spec`, a line for each part; empty if it does. No stable format.
    pub fn miss(&self, spec: &Spec) -> String {
        // SAFETY: both are live, and the buffer has the size that it is told.
        text_of(|buffer, size| unsafe {
            sys::morello_table_miss(self.as_ptr(), spec.as_ptr(), buffer, size)
        })
    }

    pub fn info(&self) -> Result<TableInfo> {
        let mut info = MaybeUninit::<sys::morello_table_info>::zeroed();
        // SAFETY: the struct is plain data for which zeros are valid; the library is given its size,
        // and terminates the name.
        unsafe {
            let size = size_of::<sys::morello_table_info>();
            let status = sys::morello_table_info_get(self.as_ptr(), info.as_mut_ptr(), size);
            error::check(status, std::ptr::null_mut())?;
            let info = info.assume_init();
            Ok(TableInfo {
                isa: Isa::from_raw(info.target),
                threads: info.threads,
                machine: CStr::from_ptr(info.machine.as_ptr()).to_string_lossy().into_owned(),
                points: info.points,
                groups: info.groups,
                boxes: info.boxes,
                bytes: info.bytes,
                parts: info.parts,
                effort: Effort::from_raw(info.effort),
            })
        }
    }

    /// How many members a family has, and how many of them the table covers. With a run-time size:
    /// pieces, as far as it is known which are needed.
    pub fn coverage(&self, family: &str) -> Result<(u64, u64)> {
        let family = c_text(family)?;
        let (mut members, mut covered, mut err) = (0, 0, std::ptr::null_mut());
        // SAFETY: all pointers are valid for the call; the error is not used again.
        unsafe {
            let status = sys::morello_table_coverage(
                self.as_ptr(),
                family.as_ptr(),
                &mut members,
                &mut covered,
                &mut err,
            );
            error::check(status, err)?;
        }
        Ok((members, covered))
    }

    /// What the table was asked to cover, as text.
    pub fn families(&self) -> Vec<String> {
        (0..)
            // SAFETY: the table is live.
            .map(|index| unsafe { sys::morello_table_family(self.as_ptr(), index) })
            .take_while(|text| !text.is_null())
            // SAFETY: the text lives as long as the table.
            .map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
            .collect()
    }

    pub(crate) fn as_ptr(&self) -> *const sys::morello_table {
        self.0.as_ptr()
    }
}

impl Clone for Table {
    fn clone(&self) -> Table {
        // SAFETY: the table is live, and what is returned is the same table with one more owner.
        unsafe { sys::morello_table_retain(self.as_ptr()) };
        Table(self.0)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: each owner releases it once.
        unsafe { sys::morello_table_release(self.0.as_ptr()) }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({:?})", self.families())
    }
}

/// Facts about a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableInfo {
    /// Of its kernels.
    pub isa: Option<Isa>,
    /// [`crate::Options::threads`] of its kernels.
    pub threads: u32,
    /// The machine model: "host" if it was read from a machine.
    pub machine: String,
    /// Specs that are covered.
    pub points: u64,
    /// Kinds of Specs that it has decisions for.
    pub groups: u64,
    /// Of decisions.
    pub boxes: u64,
    /// In memory.
    pub bytes: u64,
    /// See [`Table::part`]; of several, `isa` and `threads` are those of the first, and counts of all.
    pub parts: u64,
    /// [`crate::Precompute::effort`]; of several parts, that of the first.
    pub effort: Effort,
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(Status::InvalidArgument, "the path has a zero byte"))
}

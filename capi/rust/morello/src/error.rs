// SPDX-License-Identifier: MIT
//! Errors of the library, and of the checks that this crate adds.

use morello_sys as sys;
use std::ffi::CStr;
use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

/// What kind of thing went wrong. `MORELLO_...` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    InvalidArgument,
    SyntaxError,
    InvalidShape,
    SizeOverflow,
    UnknownDtype,
    InvalidLayout,
    Unsupported,
    NullOperand,
    OperandTooSmall,
    Misaligned,
    IsaUnavailable,
    NoImplementation,
    BudgetExceeded,
    ExecMemoryDenied,
    OutOfMemory,
    Internal,
    IoError,
    CorruptTable,
    IncompatibleTable,
    Cancelled,
    TableTooLarge,
    CorruptKernel,
    IncompatibleKernel,
    /// A status of a newer library.
    Other(i32),
}

impl Status {
    fn from_raw(status: sys::morello_status) -> Status {
        match status {
            sys::MORELLO_INVALID_ARGUMENT => Status::InvalidArgument,
            sys::MORELLO_SYNTAX_ERROR => Status::SyntaxError,
            sys::MORELLO_INVALID_SHAPE => Status::InvalidShape,
            sys::MORELLO_SIZE_OVERFLOW => Status::SizeOverflow,
            sys::MORELLO_UNKNOWN_DTYPE => Status::UnknownDtype,
            sys::MORELLO_INVALID_LAYOUT => Status::InvalidLayout,
            sys::MORELLO_UNSUPPORTED => Status::Unsupported,
            sys::MORELLO_NULL_OPERAND => Status::NullOperand,
            sys::MORELLO_OPERAND_TOO_SMALL => Status::OperandTooSmall,
            sys::MORELLO_MISALIGNED => Status::Misaligned,
            sys::MORELLO_ISA_UNAVAILABLE => Status::IsaUnavailable,
            sys::MORELLO_NO_IMPLEMENTATION => Status::NoImplementation,
            sys::MORELLO_BUDGET_EXCEEDED => Status::BudgetExceeded,
            sys::MORELLO_EXEC_MEMORY_DENIED => Status::ExecMemoryDenied,
            sys::MORELLO_OUT_OF_MEMORY => Status::OutOfMemory,
            sys::MORELLO_INTERNAL => Status::Internal,
            sys::MORELLO_IO_ERROR => Status::IoError,
            sys::MORELLO_CORRUPT_TABLE => Status::CorruptTable,
            sys::MORELLO_INCOMPATIBLE_TABLE => Status::IncompatibleTable,
            sys::MORELLO_CANCELLED => Status::Cancelled,
            sys::MORELLO_TABLE_TOO_LARGE => Status::TableTooLarge,
            sys::MORELLO_CORRUPT_KERNEL => Status::CorruptKernel,
            sys::MORELLO_INCOMPATIBLE_KERNEL => Status::IncompatibleKernel,
            other => Status::Other(other),
        }
    }
}

/// What is wrong, where, and what would be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    message: String,
    line: u32,
    column: u32,
}

impl Error {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Error {
        Error { status, message: message.into(), line: 0, column: 0 }
    }

    pub(crate) fn at(status: Status, message: &str, line: u32, column: u32) -> Error {
        Error { status, message: message.to_string(), line, column }
    }

    pub fn status(&self) -> Status {
        self.status
    }

    /// One or two sentences, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Line of the Spec's text, from 1, if the error has a place there.
    pub fn line(&self) -> Option<u32> {
        Some(self.line).filter(|line| *line != 0)
    }

    /// Column in that line, in bytes, from 1.
    pub fn column(&self) -> Option<u32> {
        Some(self.column).filter(|column| *column != 0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Turns what a call returned into a `Result`, and releases `error`.
///
/// # Safety
/// `error` must be null or an error object of the library that nobody else releases.
pub(crate) unsafe fn check(
    status: sys::morello_status,
    error: *mut sys::morello_error,
) -> Result<()> {
    if status == sys::MORELLO_OK {
        return Ok(());
    }
    let kind = Status::from_raw(status);
    if error.is_null() {
        let name = CStr::from_ptr(sys::morello_status_string(status));
        return Err(Error::new(kind, name.to_string_lossy()));
    }
    let result = Error {
        status: kind,
        message: CStr::from_ptr(sys::morello_error_message(error)).to_string_lossy().into_owned(),
        line: sys::morello_error_line(error),
        column: sys::morello_error_column(error),
    };
    sys::morello_error_release(error);
    Err(result)
}

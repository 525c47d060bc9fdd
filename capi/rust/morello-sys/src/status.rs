// SPDX-License-Identifier: MIT
//! What calls return.

use crate::c_int;

pub type morello_status = c_int;
pub const MORELLO_OK: morello_status = 0;
pub const MORELLO_INVALID_ARGUMENT: morello_status = -1;
pub const MORELLO_SYNTAX_ERROR: morello_status = -2;
pub const MORELLO_INVALID_SHAPE: morello_status = -3;
pub const MORELLO_SIZE_OVERFLOW: morello_status = -4;
pub const MORELLO_UNKNOWN_DTYPE: morello_status = -5;
pub const MORELLO_INVALID_LAYOUT: morello_status = -6;
pub const MORELLO_UNSUPPORTED: morello_status = -7;
pub const MORELLO_NULL_OPERAND: morello_status = -8;
pub const MORELLO_OPERAND_TOO_SMALL: morello_status = -9;
pub const MORELLO_MISALIGNED: morello_status = -10;
pub const MORELLO_ISA_UNAVAILABLE: morello_status = -11;
pub const MORELLO_NO_IMPLEMENTATION: morello_status = -12;
pub const MORELLO_BUDGET_EXCEEDED: morello_status = -13;
pub const MORELLO_EXEC_MEMORY_DENIED: morello_status = -14;
pub const MORELLO_OUT_OF_MEMORY: morello_status = -15;
pub const MORELLO_INTERNAL: morello_status = -16;
pub const MORELLO_IO_ERROR: morello_status = -17;
pub const MORELLO_CORRUPT_TABLE: morello_status = -18;
pub const MORELLO_INCOMPATIBLE_TABLE: morello_status = -19;
pub const MORELLO_CANCELLED: morello_status = -20;
pub const MORELLO_TABLE_TOO_LARGE: morello_status = -21;
pub const MORELLO_CORRUPT_KERNEL: morello_status = -22;
pub const MORELLO_INCOMPATIBLE_KERNEL: morello_status = -23;

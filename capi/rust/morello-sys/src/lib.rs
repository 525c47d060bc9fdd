// SPDX-License-Identifier: MIT
//! Bindings to the C interface of libmorello, written by hand after `include/morello/morello.h`,
//! whose comments say what every function does, needs and returns. Names are those of the header.
//!
//! Enumerations are integers here: a newer library may return numbers that this crate does not know.
//! The safe interface is the crate `morello`.
#![allow(non_camel_case_types)]

mod code;
mod precompute;
mod sized;
mod stats;
mod status;
mod stored;
mod table;

pub use code::*;
pub use precompute::*;
pub use sized::*;
pub use stats::*;
pub use status::*;
pub use std::os::raw::{c_char, c_int, c_void};
pub use stored::*;
pub use table::*;

/// Header version that these bindings were written after: `MORELLO_VERSION`.
pub const MORELLO_VERSION: u32 = 100;
pub const MORELLO_ABI_VERSION: u32 = 0;

pub type morello_isa = c_int;
pub const MORELLO_ISA_AUTO: morello_isa = 0;
pub const MORELLO_ISA_AVX2: morello_isa = 1;
pub const MORELLO_ISA_AVX512: morello_isa = 2;
pub const MORELLO_ISA_AVX2_VNNI: morello_isa = 3;
pub const MORELLO_ISA_AVX512_VNNI: morello_isa = 4;
pub const MORELLO_ISA_AVX512_BF16: morello_isa = 5;
pub const MORELLO_ISA_AVX512_AMX: morello_isa = 6;

pub type morello_effort = c_int;
pub const MORELLO_EFFORT_EXACT: morello_effort = 0;
pub const MORELLO_EFFORT_QUICK: morello_effort = 2000;

pub const MORELLO_MAX_RANK: usize = 8;
pub const MORELLO_MAX_OPERANDS: usize = 8;

pub type morello_dtype = c_int;
pub const MORELLO_F32: morello_dtype = 1;
pub const MORELLO_BF16: morello_dtype = 2;
pub const MORELLO_F16: morello_dtype = 3;
pub const MORELLO_I8: morello_dtype = 4;
pub const MORELLO_U8: morello_dtype = 5;
pub const MORELLO_I32: morello_dtype = 6;

pub type morello_layout = c_int;
pub const MORELLO_LAYOUT_ROW_MAJOR: morello_layout = 0;
pub const MORELLO_LAYOUT_COLUMN_MAJOR: morello_layout = 1;
pub const MORELLO_LAYOUT_STRIDED: morello_layout = 2;
pub const MORELLO_LAYOUT_FREE: morello_layout = 3;

pub type morello_op = c_int;
pub const MORELLO_OP_RELU: morello_op = 1;
pub const MORELLO_OP_NEG: morello_op = 2;
pub const MORELLO_OP_ABS: morello_op = 3;
pub const MORELLO_OP_SQRT: morello_op = 4;
pub const MORELLO_OP_SQUARE: morello_op = 5;
pub const MORELLO_OP_RECIP: morello_op = 6;
pub const MORELLO_OP_EXP: morello_op = 7;
pub const MORELLO_OP_EXP2: morello_op = 8;
pub const MORELLO_OP_LOG: morello_op = 9;
pub const MORELLO_OP_TANH: morello_op = 10;
pub const MORELLO_OP_SIGMOID: morello_op = 11;
pub const MORELLO_OP_ERF: morello_op = 12;
pub const MORELLO_OP_GELU: morello_op = 13;
pub const MORELLO_OP_GELU_TANH: morello_op = 14;
pub const MORELLO_OP_SILU: morello_op = 15;
pub const MORELLO_OP_RSQRT: morello_op = 24;
pub const MORELLO_OP_SIN: morello_op = 35;
pub const MORELLO_OP_COS: morello_op = 36;
pub const MORELLO_OP_FLOOR: morello_op = 25;
pub const MORELLO_OP_CEIL: morello_op = 26;
pub const MORELLO_OP_ROUND: morello_op = 27;
pub const MORELLO_OP_ADD: morello_op = 16;
pub const MORELLO_OP_SUB: morello_op = 17;
pub const MORELLO_OP_MUL: morello_op = 18;
pub const MORELLO_OP_DIV: morello_op = 19;
pub const MORELLO_OP_MAX: morello_op = 20;
pub const MORELLO_OP_MIN: morello_op = 21;
pub const MORELLO_OP_FAST_MAX: morello_op = 22;
pub const MORELLO_OP_FAST_MIN: morello_op = 23;
pub const MORELLO_OP_LESS: morello_op = 28;
pub const MORELLO_OP_LESS_EQUAL: morello_op = 29;
pub const MORELLO_OP_GREATER: morello_op = 30;
pub const MORELLO_OP_GREATER_EQUAL: morello_op = 31;
pub const MORELLO_OP_EQUAL: morello_op = 32;
pub const MORELLO_OP_NOT_EQUAL: morello_op = 33;
pub const MORELLO_OP_SELECT: morello_op = 34;

macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
            _not_send_sync_unpin: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}
opaque!(morello_error, morello_context, morello_spec, morello_kernel, morello_table, morello_pool);

mod graph;
pub use graph::*;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_cpu_info {
    pub struct_size: usize,
    pub name: [c_char; 64],
    pub isa: i32,
    pub processors: u32,
    pub l1_bytes: u64,
    pub l2_bytes: u64,
    pub l3_bytes: u64,
    pub jit: u32,
    pub usable_isas: u32,
}

pub const MORELLO_LOG_WARNING: i32 = 1;
pub const MORELLO_LOG_INFO: i32 = 2;
pub type morello_log_fn =
    unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_context_options {
    pub struct_size: usize,
    pub max_isa: i32,
    pub read_machine: u32,
    pub table_memory: u64,
    pub cache_directory: *const c_char,
    pub cache_bytes: u64,
    pub log: Option<morello_log_fn>,
    pub log_user: *mut c_void,
    pub tools: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct morello_tensor {
    pub dtype: i32,
    pub layout: i32,
    pub rank: u32,
    pub reserved0: u32,
    pub shape: [i64; MORELLO_MAX_RANK],
    pub strides: [i64; MORELLO_MAX_RANK],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_progress {
    pub struct_size: usize,
    pub states: u64,
    pub previews: u64,
    pub bytes: u64,
    pub microseconds: u64,
    pub best_cost: f64,
    pub lower_bound: f64,
}

pub type morello_progress_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, progress: *const morello_progress)>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_options {
    pub struct_size: usize,
    pub target: i32,
    pub threads: u32,
    pub time_budget: u64,
    pub memory_budget: u64,
    pub search_only: u32,
    pub reserved0: u32,
    pub search_threads: u32,
    pub progress_interval: u32,
    pub progress: morello_progress_fn,
    pub progress_user: *mut c_void,
    pub cancel: *const i32,
    pub table: *const morello_table,
    pub strict_table: u32,
    pub code_only: u32,
    pub effort: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct morello_executor {
    pub struct_size: usize,
    pub user: *mut c_void,
    pub parallel_for: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            count: usize,
            function: Option<unsafe extern "C" fn(arg: *mut c_void, index: usize)>,
            arg: *mut c_void,
        ),
    >,
}

pub type morello_kernel_fn = Option<
    unsafe extern "C" fn(
        operands: *const *mut c_void,
        scratch: *mut c_void,
        executor: *const morello_executor,
    ),
>;

extern "C" {
    pub fn morello_status_string(status: morello_status) -> *const c_char;
    pub fn morello_error_status(error: *const morello_error) -> morello_status;
    pub fn morello_error_message(error: *const morello_error) -> *const c_char;
    pub fn morello_error_line(error: *const morello_error) -> u32;
    pub fn morello_error_column(error: *const morello_error) -> u32;
    pub fn morello_error_release(error: *mut morello_error);

    pub fn morello_version() -> u32;
    pub fn morello_version_string() -> *const c_char;
    pub fn morello_abi_version() -> u32;
    pub fn morello_cost_model_version() -> u32;
    pub fn morello_cpu_info_get(info: *mut morello_cpu_info, info_size: usize) -> morello_status;

    pub fn morello_context_options_init(options: *mut morello_context_options, options_size: usize);
    pub fn morello_context_create(
        options: *const morello_context_options,
        context: *mut *mut morello_context,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_context_release(context: *mut morello_context);

    pub fn morello_spec_parse(
        context: *const morello_context,
        text: *const c_char,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_matmul(
        context: *const morello_context,
        a: *const morello_tensor,
        b: *const morello_tensor,
        out: *const morello_tensor,
        accumulate: c_int,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_einsum(
        context: *const morello_context,
        subscripts: *const c_char,
        a: *const morello_tensor,
        b: *const morello_tensor,
        out: *const morello_tensor,
        accumulate: c_int,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_unary(
        context: *const morello_context,
        op: i32,
        input: *const morello_tensor,
        out: *const morello_tensor,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_binary(
        context: *const morello_context,
        op: i32,
        a: *const morello_tensor,
        b: *const morello_tensor,
        out: *const morello_tensor,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_reduce(
        context: *const morello_context,
        op: i32,
        axis: u32,
        input: *const morello_tensor,
        out: *const morello_tensor,
        accumulate: c_int,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_move(
        context: *const morello_context,
        input: *const morello_tensor,
        out: *const morello_tensor,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_transpose(
        context: *const morello_context,
        permutation: *const u32,
        input: *const morello_tensor,
        out: *const morello_tensor,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_fill(
        context: *const morello_context,
        value: f32,
        out: *const morello_tensor,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_append(
        context: *const morello_context,
        spec: *const morello_spec,
        op: i32,
        operand: *const morello_tensor,
        appended: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_print(spec: *const morello_spec, buffer: *mut c_char, size: usize)
        -> usize;
    pub fn morello_spec_equal(a: *const morello_spec, b: *const morello_spec) -> c_int;
    pub fn morello_spec_hash(spec: *const morello_spec) -> u64;
    pub fn morello_spec_operand_count(spec: *const morello_spec) -> u32;
    pub fn morello_spec_operand(
        spec: *const morello_spec,
        index: u32,
        tensor: *mut morello_tensor,
    ) -> morello_status;
    pub fn morello_spec_flops(spec: *const morello_spec) -> f64;
    pub fn morello_spec_evaluate(
        spec: *const morello_spec,
        operands: *const *mut c_void,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_evaluate_at(
        spec: *const morello_spec,
        operands: *const *mut c_void,
        elements: *const i64,
        count: usize,
        values: *mut f64,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_spec_retain(spec: *const morello_spec) -> *mut morello_spec;
    pub fn morello_spec_release(spec: *mut morello_spec);

    pub fn morello_options_init(options: *mut morello_options, options_size: usize);
    pub fn morello_synthesize(
        context: *const morello_context,
        spec: *const morello_spec,
        options: *const morello_options,
        kernel: *mut *mut morello_kernel,
        err: *mut *mut morello_error,
    ) -> morello_status;

    pub fn morello_kernel_run(
        kernel: *const morello_kernel,
        operands: *const *mut c_void,
        scratch: *mut c_void,
        executor: *const morello_executor,
    ) -> morello_status;
    pub fn morello_kernel_run_checked(
        kernel: *const morello_kernel,
        operands: *const *mut c_void,
        operand_bytes: *const usize,
        operand_count: u32,
        scratch: *mut c_void,
        scratch_bytes: usize,
        executor: *const morello_executor,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_function(kernel: *const morello_kernel) -> morello_kernel_fn;
    pub fn morello_kernel_operand_count(kernel: *const morello_kernel) -> u32;
    pub fn morello_kernel_operand_size(kernel: *const morello_kernel, index: u32) -> usize;
    pub fn morello_kernel_scratch_size(kernel: *const morello_kernel) -> usize;
    pub fn morello_kernel_scratch_alignment(kernel: *const morello_kernel) -> usize;
    pub fn morello_kernel_pack(
        kernel: *const morello_kernel,
        operand: c_int,
        src: *const c_void,
        dst: *mut c_void,
    ) -> morello_status;
    pub fn morello_kernel_print(
        kernel: *const morello_kernel,
        buffer: *mut c_char,
        size: usize,
    ) -> usize;
    pub fn morello_kernel_explain(
        kernel: *const morello_kernel,
        buffer: *mut c_char,
        size: usize,
    ) -> usize;
    pub fn morello_kernel_print_plan(
        kernel: *const morello_kernel,
        buffer: *mut c_char,
        size: usize,
    ) -> usize;
    pub fn morello_kernel_name(kernel: *const morello_kernel) -> *const c_char;
    pub fn morello_kernel_spec(kernel: *const morello_kernel) -> *const c_char;
    pub fn morello_kernel_isa(kernel: *const morello_kernel) -> i32;
    pub fn morello_kernel_cost(kernel: *const morello_kernel) -> f64;
    pub fn morello_kernel_code(kernel: *const morello_kernel, size: *mut usize) -> *const u8;
    pub fn morello_kernel_retain(kernel: *const morello_kernel) -> *mut morello_kernel;
    pub fn morello_kernel_release(kernel: *mut morello_kernel);

    pub fn morello_pool_create(
        threads: u32,
        pool: *mut *mut morello_pool,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_pool_executor(pool: *const morello_pool) -> *const morello_executor;
    pub fn morello_pool_release(pool: *mut morello_pool);
}

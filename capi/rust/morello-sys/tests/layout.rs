// SPDX-License-Identifier: MIT
//! The structs and constants of this crate, against the header as a C compiler reads it.

use morello_sys::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Compiles and runs a C program that prints `name value` for every expression.
fn values_in_c(expressions: &[String]) -> BTreeMap<String, i64> {
    let mut program = String::from(
        "#include <stdio.h>\n#include <stddef.h>\n#include \"morello/morello.h\"\nint main(void) {\n",
    );
    for expression in expressions {
        writeln!(program, "  printf(\"{expression}=%lld\\n\", (long long)({expression}));")
            .unwrap();
    }
    program += "  return 0;\n}\n";

    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (dir.join("layout.c"), dir.join("layout"));
    std::fs::write(&source, program).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    // CC may hold arguments, or a compiler cache before the compiler.
    let mut words = compiler.split_whitespace();
    let compiled = Command::new(words.next().unwrap())
        .args(words)
        .args(["-std=c11", "-DMORELLO_STATIC", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include"))
        .arg(&source)
        .arg("-o")
        .arg(&binary)
        .status()
        .expect("a C compiler (environment variable CC, or cc)");
    assert!(compiled.success());
    let output = Command::new(&binary).output().unwrap();
    let mut values = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (expression, value) = line.rsplit_once('=').unwrap();
        values.insert(expression.to_string(), value.parse().unwrap());
    }
    values
}

/// Offset of a field from the start of its struct.
macro_rules! offset {
    ($type:ident, $field:ident) => {{
        let value = std::mem::MaybeUninit::<$type>::uninit();
        let start = value.as_ptr();
        // SAFETY: no reference to the uninitialised value is made.
        let field = unsafe { std::ptr::addr_of!((*start).$field) };
        field as usize - start as usize
    }};
}

macro_rules! layouts {
    ($($type:ident { $($field:ident),* })*) => {
        vec![$(
            (format!("sizeof({})", stringify!($type)), std::mem::size_of::<$type>() as i64),
            (format!("_Alignof({})", stringify!($type)), std::mem::align_of::<$type>() as i64),
            $((format!("offsetof({}, {})", stringify!($type), stringify!($field)),
               offset!($type, $field) as i64),)*
        )*]
    };
}

macro_rules! constants {
    ($($name:ident),* $(,)?) => { vec![$((stringify!($name).to_string(), i64::from($name as i32))),*] };
}

#[test]
fn matches_the_header() {
    let mut ours = layouts! {
        morello_cpu_info { struct_size, name, isa, processors, l1_bytes, l2_bytes, l3_bytes, jit, usable_isas }
        morello_cpu_feature { name, leaf, subleaf, register_number, bit, xcr0 }
        morello_code { struct_size, bytes, size, alignment, entry, scratch_size, function_count, reserved0 }
        morello_frame_step { offset, cfa, saved }
        morello_code_function { struct_size, begin, end, kind, step_count, steps }
        morello_context_options { struct_size, max_isa, read_machine, table_memory, cache_directory,
                                  cache_bytes, log, log_user, tools }
        morello_tensor { dtype, layout, rank, reserved0, shape, strides }
        morello_options { struct_size, target, threads, time_budget, memory_budget, search_only, reserved0,
                          search_threads, progress_interval, progress, progress_user, cancel, table,
                          strict_table, code_only, effort }
        morello_progress { struct_size, states, previews, bytes, microseconds, best_cost, lower_bound }
        morello_table_info { struct_size, target, threads, machine, families, points, groups, boxes,
                             bytes, parts, effort }
        morello_table_verification { struct_size, promised, pairs, searched, failures, failure }
        morello_precompute_progress { struct_size, members, done, found, without_program, saved, pairs,
                                      boxes, bytes, microseconds, remaining }
        morello_precompute_options { struct_size, target, threads, workers, part, parts, save_interval,
                                     progress_interval, effort, memory_budget, progress, progress_user,
                                     cancel }
        morello_executor { struct_size, user, parallel_for }
        morello_search_stats { struct_size, specs, states, expanded, previews, memo_hits, bytes,
                               search_microseconds, codegen_microseconds, misfits, advances, borrowed,
                               lookup_nanoseconds, search_nanoseconds, plan_nanoseconds,
                               emit_nanoseconds, lower_bound, optimal, table_use,
                               table_reason, stored, effort }
    };
    ours.extend(constants![
        MORELLO_VERSION,
        MORELLO_ABI_VERSION,
        MORELLO_LOG_WARNING,
        MORELLO_LOG_INFO,
        MORELLO_OK,
        MORELLO_INVALID_ARGUMENT,
        MORELLO_SYNTAX_ERROR,
        MORELLO_INVALID_SHAPE,
        MORELLO_SIZE_OVERFLOW,
        MORELLO_UNKNOWN_DTYPE,
        MORELLO_INVALID_LAYOUT,
        MORELLO_UNSUPPORTED,
        MORELLO_NULL_OPERAND,
        MORELLO_OPERAND_TOO_SMALL,
        MORELLO_MISALIGNED,
        MORELLO_ISA_UNAVAILABLE,
        MORELLO_NO_IMPLEMENTATION,
        MORELLO_BUDGET_EXCEEDED,
        MORELLO_EXEC_MEMORY_DENIED,
        MORELLO_OUT_OF_MEMORY,
        MORELLO_INTERNAL,
        MORELLO_IO_ERROR,
        MORELLO_CORRUPT_TABLE,
        MORELLO_INCOMPATIBLE_TABLE,
        MORELLO_CANCELLED,
        MORELLO_TABLE_TOO_LARGE,
        MORELLO_CORRUPT_KERNEL,
        MORELLO_INCOMPATIBLE_KERNEL,
        MORELLO_CODE_ENTRY,
        MORELLO_CODE_TASK,
        MORELLO_CODE_ROUTINE,
        MORELLO_EFFORT_EXACT,
        MORELLO_EFFORT_QUICK,
        MORELLO_TABLE_NONE,
        MORELLO_TABLE_ANSWERED,
        MORELLO_TABLE_NOT_COVERED,
        MORELLO_TABLE_WRONG,
        MORELLO_TABLE_NEAR,
        MORELLO_TABLE_REASON_NONE,
        MORELLO_TABLE_REASON_SPEC,
        MORELLO_TABLE_REASON_TARGET,
        MORELLO_TABLE_REASON_THREADS,
        MORELLO_TABLE_REASON_EFFORT,
        MORELLO_ISA_AUTO,
        MORELLO_ISA_AVX2,
        MORELLO_ISA_AVX512,
        MORELLO_ISA_AVX2_VNNI,
        MORELLO_ISA_AVX512_VNNI,
        MORELLO_ISA_AVX512_BF16,
        MORELLO_ISA_AVX512_AMX,
        MORELLO_MAX_RANK,
        MORELLO_MAX_OPERANDS,
        MORELLO_F32,
        MORELLO_BF16,
        MORELLO_F16,
        MORELLO_I8,
        MORELLO_U8,
        MORELLO_I32,
        MORELLO_LAYOUT_ROW_MAJOR,
        MORELLO_LAYOUT_COLUMN_MAJOR,
        MORELLO_LAYOUT_STRIDED,
        MORELLO_LAYOUT_FREE,
        MORELLO_OP_RELU,
        MORELLO_OP_NEG,
        MORELLO_OP_ABS,
        MORELLO_OP_SQRT,
        MORELLO_OP_SQUARE,
        MORELLO_OP_RECIP,
        MORELLO_OP_EXP,
        MORELLO_OP_EXP2,
        MORELLO_OP_LOG,
        MORELLO_OP_TANH,
        MORELLO_OP_SIGMOID,
        MORELLO_OP_ERF,
        MORELLO_OP_GELU,
        MORELLO_OP_GELU_TANH,
        MORELLO_OP_SILU,
        MORELLO_OP_RSQRT,
        MORELLO_OP_SIN,
        MORELLO_OP_COS,
        MORELLO_OP_FLOOR,
        MORELLO_OP_CEIL,
        MORELLO_OP_ROUND,
        MORELLO_OP_ADD,
        MORELLO_OP_SUB,
        MORELLO_OP_MUL,
        MORELLO_OP_DIV,
        MORELLO_OP_MAX,
        MORELLO_OP_MIN,
        MORELLO_OP_FAST_MAX,
        MORELLO_OP_FAST_MIN,
        MORELLO_OP_LESS,
        MORELLO_OP_LESS_EQUAL,
        MORELLO_OP_GREATER,
        MORELLO_OP_GREATER_EQUAL,
        MORELLO_OP_EQUAL,
        MORELLO_OP_NOT_EQUAL,
        MORELLO_OP_SELECT,
    ]);
    let expressions: Vec<String> = ours.iter().map(|(name, _)| name.clone()).collect();
    let theirs = values_in_c(&expressions);
    for (expression, value) in ours {
        assert_eq!(theirs[&expression], value, "{expression}");
    }
}

#[test]
fn library_has_the_abi_of_these_bindings() {
    // SAFETY: takes nothing.
    assert_eq!(unsafe { morello_abi_version() }, MORELLO_ABI_VERSION);
}

#[test]
fn every_function_of_the_header_is_bound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(root.join("../../../include/morello/morello.h")).unwrap();
    let files = [
        "code.rs",
        "graph.rs",
        "lib.rs",
        "precompute.rs",
        "sized.rs",
        "stats.rs",
        "stored.rs",
        "table.rs",
    ];
    let bindings =
        files.map(|file| std::fs::read_to_string(root.join("src").join(file)).unwrap()).concat();
    let mut found = 0;
    for declaration in header.split("\nMORELLO_API ").skip(1) {
        let before = declaration.split('(').next().unwrap();
        let name = before.rsplit([' ', '*']).next().unwrap();
        assert!(bindings.contains(&format!("pub fn {name}(")), "{name} is not bound");
        found += 1;
    }
    assert!(found > 40, "only {found} functions found in the header");
}

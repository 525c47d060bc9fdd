// SPDX-License-Identifier: MIT
// Plan -> x86-64 machine code.
#ifndef MORELLO_CODEGEN_EMIT_HH
#define MORELLO_CODEGEN_EMIT_HH

#include <span>
#include <vector>

#include "codegen/plan.hh"
#include "runtime/kernel.hh"
#include "support/result.hh"
#include "target/target.hh"

namespace morello {

/// Position independent: may be copied to any address aligned to kCodeAlignment.
struct Code {
  std::vector<u8> bytes;
  size_t entry = 0;                     // offset of the morello_kernel_fn
  std::vector<CodeFunction> functions;  // by address
};

/// System V ABI: callee-saved registers and the MXCSR are kept; the upper vector halves are clean
/// at every return and call. Equal plans give equal bytes.
/// @return MORELLO_INTERNAL for plans that no emitter can take, with the microkernel and the
/// reason.
Result<Code> emit(const Plan& plan, const Target& target);

/// A program for some rows of a Spec with a run-time size.
struct PieceCode {
  u32 size = 0;  // rows
  Code code;
};

/// One code of several: a morello_sized_kernel_fn that calls one after another, next[size] first
/// where `size` rows are left, and advances operands by `steps` bytes per row.
/// REQUIRES: next[1..] are pieces of at most that size.
Result<Code> emit_pieces(std::span<const PieceCode> pieces, std::span<const u8> next,
                         std::span<const i64> steps, const Target& target);

}  // namespace morello

#endif

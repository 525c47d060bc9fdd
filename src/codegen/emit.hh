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

/// The first kernel of the plan is the entry; others are functions of that kind. System V ABI:
/// callee-saved registers and the MXCSR are kept; the upper vector halves are clean
/// at every return and call. Equal plans give equal bytes.
/// @return MORELLO_INTERNAL for plans that no emitter can take, with the microkernel and the
/// reason.
Result<Code> emit(const Plan& plan, const Target& target);

/// The code of a plan of several kernels, each for sizes[i] rows of a Spec with a run-time size,
/// behind one entry: a morello_sized_kernel_fn that calls one after another, next[size] first where
/// `size` rows are left, and advances operands by `steps` bytes per row.
/// REQUIRES: next[1..] are kernels of at most that size.
Result<Code> emit_pieces(const Plan& plan, std::span<const u32> sizes, std::span<const u8> next,
                         std::span<const i64> steps, const Target& target);

}  // namespace morello

#endif

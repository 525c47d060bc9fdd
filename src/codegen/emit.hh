// SPDX-License-Identifier: MIT
// Plan -> x86-64 machine code.
#ifndef MORELLO_CODEGEN_EMIT_HH
#define MORELLO_CODEGEN_EMIT_HH

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

}  // namespace morello

#endif

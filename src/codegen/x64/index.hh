// SPDX-License-Identifier: MIT
#ifndef MORELLO_CODEGEN_X64_INDEX_HH
#define MORELLO_CODEGEN_X64_INDEX_HH

#include "codegen/x64/assembler.hh"

namespace morello::x64 {

/// Moves the cursor at `home` to the place that the index names, or back.
void emit_index(Assembler& as, const PlanIndex& index, const Home& home);

}  // namespace morello::x64

#endif

// SPDX-License-Identifier: MIT
// Machine code around kernels: functions with C's arguments, the choice by CPUID, packing.
#ifndef MORELLO_CAPI_TOOLS_EMIT_ASSEMBLE_HH
#define MORELLO_CAPI_TOOLS_EMIT_ASSEMBLE_HH

#include <vector>

#include "emit/parts.hh"

namespace morello::tools {

/// The zero-initialized word that says what this CPU can run, once it is known: bit 1 <<
/// morello_isa, and bit 0.
inline constexpr const char* kUsableIsas = "morello_usable_isas";

/// What finds that out, for these instruction sets. Keeps all registers that hold arguments.
Section assemble_detection(const std::vector<int32_t>& isas);

/// The code of a Spec: its kernels, its functions, and those that pack.
Section assemble(const Function& function);

}  // namespace morello::tools

#endif

// SPDX-License-Identifier: MIT
// The emitters: one per microkernel, in a file of its own.
#ifndef MORELLO_CODEGEN_X64_FAMILY_HH
#define MORELLO_CODEGEN_X64_FAMILY_HH

#include <array>

#include "codegen/plan.hh"

namespace morello::x64 {

class Assembler;

/// Per dimension: the most elements that one run of the emitted code handles; the plan loops over
/// such blocks. 0: all of them.
using Blocks = std::array<u32, kMaxDims>;

struct Family {
  MicrokernelId id;
  Blocks (*blocks)(const Spec& spec);
  /// General registers that the code takes at most.
  u32 (*registers)(const PlanCall& call);
  void (*emit)(Assembler& as, const PlanCall& call);
};

/// nullptr if there is none.
const Family* find_family(MicrokernelId id);

}  // namespace morello::x64

#endif

// SPDX-License-Identifier: MIT
// The emitters: one per microkernel, in a file of its own.
#ifndef MORELLO_CODEGEN_X64_EMITTER_HH
#define MORELLO_CODEGEN_X64_EMITTER_HH

#include "codegen/plan.hh"

namespace morello::x64 {

class Vectors;

struct Emitter {
  MicrokernelId id;
  /// General registers that the code takes at most.
  u32 (*registers)(const PlanCall& call);
  void (*emit)(Vectors& as, const PlanCall& call);
  /// Bytes of the stack that the code takes, at Vectors::room(). Null: none.
  u32 (*room)(const PlanCall& call, const Target& target) = nullptr;
};

/// Sets the sizes of tile registers.
void emit_tile_sizes(Vectors& as, const TileSizes& sizes);

/// nullptr if there is none.
const Emitter* find_emitter(MicrokernelId id);

}  // namespace morello::x64

#endif

// SPDX-License-Identifier: MIT
// The emitters: one per microkernel, in a file of its own.
#ifndef MORELLO_CODEGEN_X64_EMITTER_HH
#define MORELLO_CODEGEN_X64_EMITTER_HH

#include <span>
#include <vector>

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

/// Bytes from the first element of an operand to each of its places along some dimensions, of which
/// the last one is the fastest.
std::vector<i64> places_along(const PlanCall& call, Ref operand, std::span<const u8> dims);
/// The same of each row of the register tile, in the order of its registers. Rows are along the
/// output's fastest dimension.
std::vector<i64> places_of_rows(const PlanCall& call, Ref operand);

/// nullptr if there is none.
const Emitter* find_emitter(MicrokernelId id);

}  // namespace morello::x64

#endif

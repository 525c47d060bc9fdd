// SPDX-License-Identifier: MIT
// What a plan knows of the operands of a node of the Impl tree, and what it tells emitters of them.
#ifndef MORELLO_CODEGEN_PLACE_HH
#define MORELLO_CODEGEN_PLACE_HH

#include <algorithm>
#include <array>
#include <optional>

#include "codegen/plan.hh"
#include "spec/border.hh"
#include "spec/gather.hh"
#include "spec/view.hh"

namespace morello {

/// One operand of a node: where it is, seen through the node's dimensions.
struct Place {
  bool in_registers = false;
  u16 first_register = 0;
  CursorId cursor = 0;
  /// How often loops read what is in memory before they go on; 0: L2 holds it.
  u64 passes = 0;
  bool comes_by_itself = false;  // it does not, and yet caches that are shared may
  View view;                     // elements
};
using Places = std::array<Place, kMaxOperands>;
/// New ones of a node.
using Buffers = std::array<Place, kMaxBuffers>;

/// What loops read more often than this is asked for too often.
inline constexpr u64 kMostPasses = 4;
/// @param passes  of the operand around the loop.
inline u64 passes_in(const Loop& loop, const Operand& operand, u64 passes) {
  if (!has_dim(operand.dims, loop.dim)) return std::min(passes * loop.trips, kMostPasses + 1);
  return operand.level == Level::kMemory ? std::min<u64>(passes, 1) : passes;
}

/// From an operand's first element to that of the first `size` elements of a dimension, or of the
/// others.
inline i64 bytes_to_part(const Spec& spec, const Places& places, int operand, u8 dim, u32 size,
                         bool first) {
  if (places[operand].in_registers) return 0;
  return elements_to_part(spec, operand, places[operand].view, dim, size, first) *
         static_cast<i64>(size_of(spec.operand[operand].dtype));
}

/// What an emitter sees of a Spec: equal code, equal bytes.
inline Spec in_code(const Spec& spec) {
  Spec s = spec;
  s.serial = false;
  for (int o = 0; o < s.operand_count; o++) {
    Operand& x = s.operand[o];
    if (x.level == Level::kRegister) continue;
    x.level = Level::kL1;
    forget_pitch(x);
  }
  return s;
}

/// From the first place that a stage gathers from to the one that its index names; nothing if there
/// is one place. What comes next of it, nobody knows: nothing will be asked for.
inline std::optional<PlanIndex> index_step(const Spec& spec, int stage, Places& places) {
  const Ref from = spec.stage[stage].in[0], by = spec.stage[stage].in[1];
  const u8 dim = gathered_dim(spec.stage[stage]);
  if (dim == kNoDim) return std::nullopt;
  places[from].passes = 0;
  const i64 stride = places[from].view.dim[dim].stride[0];
  return PlanIndex{places[from].cursor, places[by].cursor, spec.operand[by].dtype, spec.size[dim],
                   stride * static_cast<i64>(size_of(spec.operand[from].dtype))};
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// The affine cost model: what a node of an Impl tree costs of its own. The cost of a tree is its
// own cost plus non-negative multiples of its children's; a loop's own cost may be below zero, by
// less than its children cost (overlap.hh). Units: kUnitsPerCycle; 64-bit, saturating.
#ifndef MORELLO_COST_MODEL_HH
#define MORELLO_COST_MODEL_HH

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Costs saturate here: no implementation, or too expensive to tell. Sums that are more than half
/// of it do so: none of them comes back when what is below zero is added.
inline constexpr i64 kInfinite = i64{1} << 60;

/// Both at most kInfinite, and one that is below zero is so by less than half of it.
constexpr i64 saturating_add(i64 a, i64 b) {
  const i64 sum = a + b;
  return sum < kInfinite / 2 ? sum : kInfinite;
}
constexpr i64 saturating_mul(u64 times, i64 cost) {
  i64 product = 0;
  if (times >> 62 != 0) return cost == 0 ? 0 : kInfinite;  // two signs would take twice as long
  if (__builtin_mul_overflow(static_cast<i64>(times), cost, &product)) return kInfinite;
  return product < kInfinite ? product : kInfinite;
}

/// Of what is computed: f32 or i32.
inline constexpr u32 kElementBytes = 4;
/// Uses of each element of an operand, below which nothing takes time but its arrival.
inline constexpr u64 kFewUses = 4;
/// Is a line two vectors?
constexpr bool lines_are_pairs(const Target& target) { return target.vector_bytes < kLineBytes; }
/// What L1 has room for, beside the rows that it meets, had better be there: only the rest streams.
/// Where a line is two vectors a panel is one line wide, and the six rows of a register tile are no
/// small part of what it takes.
inline u64 least_streamed_bytes(const Target& target) {
  return target.at(Level::kL1).bytes / (lines_are_pairs(target) ? 2 : 1);
}
/// Is it as large as that?
inline bool fills_l1(const Spec& spec, const Operand& x, const Target& target) {
  return elements(spec, x) * size_of(x.dtype) >= least_streamed_bytes(target);
}
/// Steps of what streams, at least. Where a line is two vectors, wider panels of fewer steps are as
/// good in L1.
inline u64 least_streamed_depth(const Target& target) {
  return lines_are_pairs(target) ? least_streamed_bytes(target) / kLineBytes : 0;
}
/// Does arithmetic hide how long vectors of such an operand take from L2? Where a line is two
/// vectors, not of narrow elements: what widens them has no time left (bf16 64x768x3072 on AVX2
/// took 1.14 times as long, Zen 4).
inline bool may_stream(const Operand& x, const Target& target) {
  const LevelModel& l2 = target.at(Level::kL2);
  return l2.stream_units < l2.line_units &&
         (size_of(x.dtype) >= kElementBytes || !lines_are_pairs(target));
}

/// Bringing the operand from its level to the next nearer one: the price of a view move. Outputs
/// pay twice, for the lines come and go.
i64 step_units(const Spec& spec, const Operand& operand, const Target& target);
/// The same from its level down to L1: what a microkernel pays that reads or writes it there.
i64 traffic_units(const Spec& spec, const Operand& operand, const Target& target);
/// What a copy of a contraction's operand to a nearer level costs more than the copy's own Spec
/// says, which does not know that nothing else takes time: pieces of rows that are used once.
i64 piece_units(const Spec& spec, const Operand& operand, Level to, const Target& target);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What the microkernels and the bounds of the search share.
#ifndef MORELLO_COST_SHARED_HH
#define MORELLO_COST_SHARED_HH

#include <bit>
#include <optional>

#include "cost/microkernel.hh"
#include "cost/model.hh"
#include "target/dots.hh"

namespace morello {

/// Portions of a microkernel that takes all at once, and of one that makes one result at a time.
inline Portions whole(const Spec&) { return {}; }
inline Portions one_result(const Spec& spec) {
  Portions p{};
  for (int d = 0; d < spec.rank; d++) p[d] = has_dim(spec.reduced(), d) ? 0 : 1;
  return p;
}

/// The loops that the plan makes over them.
i64 loop_units(const Spec& spec, const Portions& portions, const Target& target);

/// The parts of a small contraction out[m,v] += a[m,k] * b[k,v]; v is the dimension that vectors
/// run along. Absent dimensions are kNoDim and have size 1.
struct ContractionRoles {
  int a = 0, b = 1;  // operands
  u8 m = kNoDim, v = kNoDim, k = kNoDim;
  u32 rows = 1, columns = 1, depth = 1;
  u32 group = 1;  // neighbours along k that share a lane of b
};
/// Nothing if the Spec has another form, or more dimensions.
/// @param around  reduced dimensions that are not asked about.
std::optional<ContractionRoles> contraction_roles(const Spec& spec, DimMask around = 0);

/// Are all operands and values f32?
inline bool is_f32(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].dtype != Dtype::kF32) return false;
  for (int s = 0; s < spec.stage_count; s++)
    if (spec.stage[s].dtype != Dtype::kF32) return false;
  return true;
}

/// How its products are summed; null: not at all.
const Dot* dot_of(const Spec& spec, const ContractionRoles& roles, const Target& target);
/// How a dot product along k sums its products: both factors are read in vectors.
const Dot* dot_along(const Spec& spec, const ContractionRoles& roles, const Target& target);

/// The most products of its contraction that a lane sums in one step.
/// REQUIRES: the Spec begins with a contraction.
u32 most_products(const Spec& spec, const Target& target);

/// How a vector is widened when it is read: by an order of its bytes, which a product loads each
/// time, by one instruction that takes no time beside multiply-adds, or by two, as an element is
/// that is broadcast.
enum class Widening : u8 { kNone, kByOrder, kByOne, kByTwo };
inline constexpr size_t kWidenings = 4;
Widening widening_of(Dtype from, Dtype to, const Target& target);

/// One step along the lanes of k: vectors of one factor with those of the other. Instructions that
/// make vectors ready, and those that multiply, share ports.
/// @param a_is_ready  before: see ready_bytes().
i64 dot_step(const Dot& dot, u64 of_a, u64 of_b, Widening a, Widening b, bool a_is_ready,
             const Target& target);

/// Rows of a that have to be made ready for each pass are, in vectors, before all steps of an outer
/// product: so many bytes of the stack hold them then. 0: each step does it, a lane at a time, for
/// that costs no more, or there is not room enough.
u64 ready_bytes(const Dot& dot, const ContractionRoles& roles, const Target& target);
/// Of a row, for one pass.
constexpr u64 ready_row_bytes(u64 depth) { return round_up(depth, 16); }

/// Registers of the outer product besides its tile; units of one step along k.
u32 outer_product_registers(u64 rows, u64 vecs, bool tail, const Target& target);
i64 outer_product_step(u64 rows, u64 vecs, const Target& target);
/// The rate of all that adds products to a tile: none costs less than an outer product of its rows
/// and vectors.
Rate outer_product_rate(Duty duty, const Target& target);
/// The same of all that sums products of vectors to single results in memory.
Rate dot_product_rate(Duty duty, const Target& target);
/// Are products in f32 added to a register tile? May a factor of these be read in memory as it is?
bool adds_floats_to_tile(const Spec& spec);
bool is_float_in_memory(const Operand& factor);
/// Are places two elements apart, and the terms of a window one?
constexpr bool is_apart(const Window& window, u8 terms, u8 places) {
  return window.outer == terms && window.inner == places && window.step == 1 &&
         window.dilation == 2;
}
/// Units of so many steps, of `step` units and so many loads, with the lines of a stream.
i64 streaming_units(u64 steps, i64 step, u64 loads, u64 lines, const Target& target);

/// Units of the operations of the stages from `first` on: on a vector, and on one element.
i64 stage_units(const Spec& spec, int first, const Target& target);
i64 scalar_ops(const Spec& spec, int first, const Target& target);

/// Accumulators per result of a dot product: enough chains to hide the latency.
constexpr u32 dot_chains(u64 results) { return results * 4 <= 8 ? 4 : results * 2 <= 8 ? 2 : 1; }

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What the microkernel families and the bounds of the search share.
#ifndef MORELLO_COST_FAMILIES_HH
#define MORELLO_COST_FAMILIES_HH

#include <bit>
#include <optional>

#include "cost/microkernel.hh"

namespace morello {

/// The parts of a small contraction out[m,v] += a[m,k] * b[k,v]; v is the dimension that vectors
/// run along. Absent dimensions are kNoDim and have size 1.
struct ContractionRoles {
  int a = 0, b = 1;  // operands
  u8 m = kNoDim, v = kNoDim, k = kNoDim;
  u32 rows = 1, columns = 1, depth = 1;
};
/// Nothing if the Spec has another form, or more dimensions.
std::optional<ContractionRoles> contraction_roles(const Spec& spec);

/// Registers of the outer product besides its tile; units of one step along k.
u32 outer_product_registers(u64 rows, u64 vecs, bool tail, const Target& target);
i64 outer_product_step(u64 rows, u64 vecs, const Target& target);

/// Of f32, the only element type that microkernels have today.
inline constexpr u32 kElementBytes = 4;

/// Units of the operations of the stages from `first` on: on a vector, and on one element.
i64 stage_units(const Spec& spec, int first, const Target& target);
i64 scalar_ops(const Spec& spec, int first, const Target& target);

/// Accumulators per result of a dot product: enough chains to hide the latency.
constexpr u32 dot_chains(u64 results) { return results * 4 <= 8 ? 4 : results * 2 <= 8 ? 2 : 1; }

}  // namespace morello

#endif

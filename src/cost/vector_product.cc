// SPDX-License-Identifier: MIT
// The microkernel of products whose factors both have the vectors of results: of one channel each,
// as in depthwise convolutions, or of a batch that is the fastest dimension.
#include "cost/vector_product.hh"

#include <algorithm>
#include <bit>

#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Of several reduced dimensions, the steps are straight code.
constexpr u64 kMostSteps = 16;

bool applies(const Spec& spec, const Target&) {
  if (!adds_floats_to_tile(spec)) return false;
  const u8 v = unit_dim(spec.out());
  const auto [first, second] = factors_of(spec);
  if (v == kNoDim || first == second) return false;
  for (Ref in : {first, second})
    if (!is_float_in_memory(spec.operand[in]) || unit_dim(spec.operand[in]) != v) return false;
  return std::popcount(spec.reduced()) == 1 || points_of(spec, spec.reduced()) <= kMostSteps;
}

/// Rows and vectors in a row of the tile.
struct Tile {
  u64 rows, vecs;
};
Tile tile_of(const Spec& spec, const Target& t) {
  const u64 columns = spec.size[unit_dim(spec.out())];
  return {points_of(spec, spec.out().dims) / columns, ceil_div(columns, computed_lanes(spec, t))};
}

/// One register for what is held and one for what is loaded; not fewer than an outer product of
/// such a tile needs, so that bounds know no larger tiles.
u32 extra(const Spec& spec, const Target& t) {
  const Tile tile = tile_of(spec, t);
  const bool tail = spec.size[unit_dim(spec.out())] % computed_lanes(spec, t) != 0;
  return std::max(2u + (tail && !t.has_masks),
                  outer_product_registers(tile.rows, tile.vecs, tail, t));
}

i64 cost(const Spec& spec, const Target& t) {
  const Tile tile = tile_of(spec, t);
  const VectorFactors f = vector_factors(spec);
  const u8 v = unit_dim(spec.out());
  const Operand &streamed = spec.operand[f.streamed], &held = spec.operand[f.held];
  const u64 held_rows =
      points_of(spec, static_cast<DimMask>(held.dims & spec.out().dims)) / spec.size[v];
  const u64 products = tile.rows * tile.vecs, of_held = held_rows * tile.vecs;
  const i64 fma = static_cast<i64>(products) * kUnitsPerCycle / t.fma_per_cycle;
  const i64 loads = static_cast<i64>(products + of_held) * kUnitsPerCycle / t.loads_per_cycle;
  i64 widened = 0;
  if (streamed.dtype != Dtype::kF32) widened += static_cast<i64>(products) * t.prices.widen;
  if (held.dtype != Dtype::kF32) widened += static_cast<i64>(of_held) * t.prices.widen;
  const i64 step =
      std::max({fma, loads, static_cast<i64>(t.fma_latency) * kUnitsPerCycle}) + widened;
  i64 c = saturating_mul(points_of(spec, spec.reduced()), step);
  c = saturating_add(c, t.prices.call);
  return saturating_add(
      c, saturating_add(traffic_units(spec, streamed, t), traffic_units(spec, held, t)));
}

}  // namespace

VectorFactors vector_factors(const Spec& spec) {
  const auto [first, second] = factors_of(spec);
  const DimMask out = spec.out().dims;
  const auto rows = [&](Ref in) {
    return points_of(spec, static_cast<DimMask>(spec.operand[in].dims & out));
  };
  return rows(first) >= rows(second) ? VectorFactors{first, second} : VectorFactors{second, first};
}

extern const Microkernel kVectorProduct = {
    MicrokernelId::kVectorProduct, applies, extra, cost, whole, outer_product_rate};

}  // namespace morello

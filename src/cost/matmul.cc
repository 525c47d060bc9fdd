// SPDX-License-Identifier: MIT
// Microkernels of contractions: outer products into a register tile, and dot products.
#include <algorithm>

#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {

std::optional<ContractionRoles> contraction_roles(const Spec& spec) {
  if (!is_single(spec) || !contraction_of(spec) || spec.operand_count != 3) return {};
  DimMask reduced = spec.reduced(), rest = static_cast<DimMask>(spec.all_dims() & ~reduced);
  if (std::popcount(reduced) > 1 || std::popcount(rest) > 2) return {};
  ContractionRoles r;
  r.k = reduced ? static_cast<u8>(std::countr_zero(reduced)) : kNoDim;
  r.v = unit_dim(spec.out());
  if (r.v != kNoDim) rest = static_cast<DimMask>(rest & ~(1u << r.v));
  if (std::popcount(rest) > 1) return {};
  r.m = rest ? static_cast<u8>(std::countr_zero(rest)) : kNoDim;
  // The vector operand has v and not m; the broadcast one has not v.
  const auto [first, second] = factors_of(spec);
  auto fits = [&](int a, int b) {
    DimMask ad = spec.operand[a].dims, bd = spec.operand[b].dims;
    if (r.v != kNoDim && (has_dim(ad, r.v) || !has_dim(bd, r.v))) return false;
    return r.m == kNoDim || !has_dim(bd, r.m);
  };
  if (fits(first, second))
    r.a = first, r.b = second;
  else if (fits(second, first))
    r.a = second, r.b = first;
  else
    return {};
  r.rows = r.m == kNoDim ? 1 : spec.size[r.m];
  r.columns = r.v == kNoDim ? 1 : spec.size[r.v];
  r.depth = r.k == kNoDim ? 1 : spec.size[r.k];
  return r;
}

u32 outer_product_registers(u64 rows, u64 vecs, bool tail, const Target& t) {
  u64 extra = rows == 1 ? 1 : std::min(rows, vecs) + 1;
  if (tail && !t.has_masks) extra += rows == 1 ? 2 : 1;
  return static_cast<u32>(std::min<u64>(extra, 255));
}

i64 outer_product_step(u64 rows, u64 vecs, const Target& t) {
  i64 fma = static_cast<i64>(rows * vecs) * kUnitsPerCycle / t.fma_per_cycle;
  i64 loads = static_cast<i64>(rows + vecs) * kUnitsPerCycle / t.loads_per_cycle;
  return std::max({fma, loads, static_cast<i64>(t.fma_latency) * kUnitsPerCycle});
}

namespace {

bool in_memory_unpacked(const Operand& o) {
  return o.level != Level::kRegister && !o.layout.packed() && !o.free_layout;
}

bool outer_product_applies(const Spec& spec, const Target&) {
  if (spec.out().level != Level::kRegister || spec.out().access != Access::kInOut) return false;
  if (!is_f32(spec)) return false;
  auto r = contraction_roles(spec);
  if (!r) return false;
  const Operand &a = spec.operand[r->a], &b = spec.operand[r->b];
  return in_memory_unpacked(a) && in_memory_unpacked(b) && (r->v == kNoDim || unit_dim(b) == r->v);
}

u32 outer_product_extra(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  u32 lanes = computed_lanes(spec, t);
  return outer_product_registers(r->rows, ceil_div(r->columns, lanes), r->columns % lanes != 0, t);
}

i64 outer_product_cost(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  u64 vecs = ceil_div(r->columns, computed_lanes(spec, t));
  i64 c = saturating_mul(r->depth, outer_product_step(r->rows, vecs, t));
  c = saturating_add(c, t.prices.call);
  c = saturating_add(c, traffic_units(spec, spec.operand[r->a], t));
  return saturating_add(c, traffic_units(spec, spec.operand[r->b], t));
}

bool dot_product_applies(const Spec& spec, const Target&) {
  auto r = contraction_roles(spec);
  if (!r || r->k == kNoDim || !is_f32(spec)) return false;
  for (int o = 0; o < 3; o++)
    if (!in_memory_unpacked(spec.operand[o])) return false;
  return unit_dim(spec.operand[r->a]) == r->k && unit_dim(spec.operand[r->b]) == r->k;
}

u32 dot_product_extra(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  u64 results = u64{r->rows} * r->columns;
  u64 n = results * dot_chains(results) + std::min(r->rows, r->columns) + 1;
  if (!t.has_masks && r->depth % computed_lanes(spec, t) != 0) n++;
  return static_cast<u32>(std::min<u64>(n, 255));
}

i64 dot_product_cost(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  u64 results = u64{r->rows} * r->columns;
  u64 steps = ceil_div(r->depth, computed_lanes(spec, t));
  i64 fma = static_cast<i64>(results) * kUnitsPerCycle / t.fma_per_cycle;
  i64 loads = static_cast<i64>(u64{r->rows} + r->columns) * kUnitsPerCycle / t.loads_per_cycle;
  i64 latency =
      static_cast<i64>(t.fma_latency) * kUnitsPerCycle / static_cast<i64>(dot_chains(results));
  i64 c = saturating_mul(steps, std::max({fma, loads, latency}));
  c = saturating_add(c, saturating_mul(results, t.prices.dot_result));
  c = saturating_add(c, t.prices.call);
  for (int o = 0; o < 3; o++) c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

u32 outer_product_tile(u64 rows, u64 vecs, const Target& t) {
  return outer_product_registers(rows, vecs, false, t);
}

Rate outer_product_rate(Duty duty, const Target& t) {
  if (duty != Duty::kTile) return kNever;
  return {.call = t.prices.call,
          .step = outer_product_step,
          .extra = outer_product_tile,
          .along = true,
          .adds = true,
          .stages = 1};
}

Rate dot_product_rate(Duty duty, const Target& t) {
  if (duty != Duty::kContract) return kNever;
  return {.call = t.prices.call,
          .element = t.prices.dot_result,
          .group = t.lanes(kElementBytes),
          .group_units = kUnitsPerCycle / t.fma_per_cycle,
          .along_reduced = true,
          .stages = 1};
}

}  // namespace

extern const Microkernel kOuterProduct = {MicrokernelId::kOuterProduct,
                                          outer_product_applies,
                                          outer_product_extra,
                                          outer_product_cost,
                                          whole,
                                          outer_product_rate};
extern const Microkernel kDotProduct = {MicrokernelId::kDotProduct,
                                        dot_product_applies,
                                        dot_product_extra,
                                        dot_product_cost,
                                        whole,
                                        dot_product_rate};

}  // namespace morello

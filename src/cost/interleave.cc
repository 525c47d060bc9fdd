// SPDX-License-Identifier: MIT
// The microkernel that copies rows of narrow elements into groups: those at one place of 2 rows, or
// of 4, become neighbours in one lane.
#include "cost/held.hh"
#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

bool applies(const Spec& spec, const Target&) {
  if (spec.rank != 2 || !is_single(spec) || head_of(spec).op != Op::kCopy) return false;
  const Operand &in = spec.operand[source_of(spec)], &out = spec.out();
  if (rounds_lanes(spec, head_of(spec)) || in.dtype != out.dtype || lane_group(out) == 1 ||
      out.layout.count() != 3)
    return false;
  if (in.level == Level::kRegister || in.layout.packed() || in.free_layout || in.windows != 0)
    return false;
  if (out.level == Level::kRegister || out.access != Access::kOut) return false;
  const u8 along = lane_dim(out);
  return along != kNoDim && along != out.layout.fastest() && unit_dim(in) == along;
}

u32 registers(const Spec&, const Target& t) { return t.has_masks ? 2 : 4; }

/// Of one vector of lanes: its rows are loaded, shifted to their places, and put together.
i64 vector_units(u32 group, const Target& t) {
  return static_cast<i64>(group) * t.prices.widen + kUnitsPerCycle / t.stores_per_cycle;
}

i64 cost(const Spec& spec, const Target& t) {
  const Operand& out = spec.out();
  const u8 along = lane_dim(out), grouped = out.layout.fastest();
  const u32 group = lane_group(out);
  const u64 rows = ceil_div(spec.size[grouped], group);
  const u64 vecs = ceil_div(spec.size[along], t.lanes(kElementBytes));
  i64 c = saturating_mul(rows * vecs, vector_units(group, t));
  c = saturating_add(c, saturating_mul(rows, t.prices.map_row));
  c = saturating_add(c, t.prices.call);
  for (int o = 0; o < 2; o++) c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

Rate rate(Duty duty, const Target& t) {
  if (!is_relayout(duty) || duty == Duty::kRelayout) return kNever;
  const u32 group = duty == Duty::kPairs ? 2 : 4;  // of four an element costs less
  const u32 lanes = t.lanes(kElementBytes);
  const i64 vector = vector_units(group, t) / group;  // of as many elements as there are lanes
  Rate rate{.call = t.prices.call, .element = vector / lanes, .rank = 2, .stages = 1};
  if (duty != Duty::kNarrowRelayout) {
    rate.row = t.prices.map_row;
    rate.vector = vector % lanes;
  }
  return rate;
}

}  // namespace

extern const Microkernel kInterleave = {
    MicrokernelId::kInterleave, applies, registers, cost, whole, rate};

}  // namespace morello

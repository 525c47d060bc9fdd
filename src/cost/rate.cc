// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "cost/families.hh"
#include "cost/model.hh"

namespace morello {

Duty duty_of(const Spec& leaf) {
  const bool registers = leaf.out().level == Level::kRegister;
  if (leaf.stage[0].op == Op::kMulAdd) return registers ? Duty::kTile : Duty::kContract;
  if (leaf.reduced() != 0) return Duty::kReduce;
  if (registers) return leaf.stage[0].op == Op::kFill ? Duty::kFill : Duty::kLoad;
  const Operand& in = leaf.operand[0];
  if (leaf.operand_count > 1 && in.level == Level::kRegister) return Duty::kStore;
  const u8 v = unit_dim(leaf.out());
  const bool copy =
      leaf.stage_count == 1 && leaf.stage[0].op == Op::kCopy && leaf.operand_count == 2;
  return copy && v != kNoDim && has_dim(in.dims, v) && unit_dim(in) != v ? Duty::kRelayout
                                                                         : Duty::kMap;
}

i64 least_units(const Rate& rate, const Spec& leaf, const Target& t) {
  if (rate.never) return kInfinite;
  const u8 v = unit_dim(leaf.out());
  const u32 lanes = t.lanes(size_of(leaf.out().dtype));
  u64 depth = 1, results = 1;
  for (int d = 0; d < leaf.rank; d++)
    (has_dim(leaf.reduced(), d) ? depth : results) *= leaf.size[d];
  const u64 columns = v == kNoDim ? 1 : leaf.size[v], rows = results / columns;
  const u64 vecs = ceil_div(columns, lanes), points = results * depth;
  const i64 vector = std::max(rate.vector, rate.vector_ops * stage_units(leaf, 0, t) / 16);
  const i64 element = std::max(rate.element, rate.element_ops * scalar_ops(leaf, 0, t) / 16);
  i64 c = rate.call;
  auto add = [&](u64 times, i64 units) { c = saturating_add(c, saturating_mul(times, units)); };
  switch (duty_of(leaf)) {
    case Duty::kTile:
      if (rate.step) add(depth, rate.step(rows, vecs, t));
      return c;
    case Duty::kReduce:
    case Duty::kRelayout:
      add(points / lanes, vector);
      add(points, element);
      return c;
    case Duty::kContract:
      add(results * ceil_div(depth, rate.group), rate.group_units);
      [[fallthrough]];
    default:
      add(rows, rate.row + (columns % lanes && v != kNoDim ? rate.odd : 0));
      add(rows * vecs, vector);
      add(results, element);
      return c;
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "cost/held.hh"
#include "cost/model.hh"
#include "cost/reduce.hh"
#include "cost/shared.hh"
#include "cost/steps.hh"
#include "spec/roles.hh"

namespace morello {

Duty duty_of(const Spec& leaf) {
  const bool registers = leaf.out().level == Level::kRegister;
  if (contraction_of(leaf)) return registers ? Duty::kTile : Duty::kContract;
  if (leaf.reduced() != 0) return Duty::kReduce;
  if (registers) return head_of(leaf).op == Op::kFill ? Duty::kFill : Duty::kLoad;
  if (register_input(leaf) >= 0) return Duty::kStore;
  const u8 v = unit_dim(leaf.out());
  if (!is_single(leaf) || head_of(leaf).op != Op::kCopy) return Duty::kMap;
  const Operand& in = leaf.operand[source_of(leaf)];
  // Neighbours along v that share a lane of the copy only, with neighbours along another dimension.
  if (v != kNoDim && lane_group(leaf.out()) > 1 && !in.layout.packed() && unit_dim(in) == v)
    return Duty::kNarrowRelayout;
  if (v == kNoDim || !has_dim(in.dims, v) || unit_dim(in) == v) return Duty::kMap;
  if (in.dtype == leaf.out().dtype && lane_group(leaf.out()) > 1 && !in.layout.packed() &&
      unit_dim(in) != kNoDim && unit_dim(in) == lane_dim(leaf.out()))
    return lane_group(leaf.out()) == 2 ? Duty::kPairs : Duty::kQuads;
  return size_of(in.dtype) < kElementBytes ? Duty::kNarrowRelayout : Duty::kRelayout;
}

u32 most_products(const Spec& spec, const Target& target) {
  const auto [a, b] = factors_of(spec);
  if (!is_operand(a) || !is_operand(b)) return lane_elements(Dtype::kI8);
  return most_products(target, spec.operand[a].dtype, spec.operand[b].dtype, computed_dtype(spec));
}

i64 least_units(const Rate& rate, const Spec& leaf, const Target& t) {
  if (rate.never) return kInfinite;
  const u8 v = unit_dim(leaf.out());
  const u32 lanes = moves_rows(leaf) ? moved_lanes(leaf, t) : computed_lanes(leaf, t);
  u64 depth = 1, results = 1;
  for (int d = 0; d < leaf.rank; d++)
    (has_dim(leaf.reduced(), d) ? depth : results) *= leaf.size[d];
  if (contraction_of(leaf)) depth = ceil_div(depth, most_products(leaf, t));
  const u64 columns = v == kNoDim ? 1 : leaf.size[v], rows = results / columns;
  const u64 vecs = ceil_div(columns, lanes), points = results * depth;
  const Spec each = without_steps(leaf);  // of a reduction: steps are of results
  const i64 vector = std::max(rate.vector, rate.vector_ops * stage_units(each, 0, t) / 16);
  const i64 element = std::max(rate.element, rate.element_ops * scalar_ops(each, 0, t) / 16);
  i64 c = rate.call;
  auto add = [&](u64 times, i64 units) { c = saturating_add(c, saturating_mul(times, units)); };
  switch (duty_of(leaf)) {
    case Duty::kTile:
      if (rate.step) add(depth, rate.step(rows, vecs, t));
      return c;
    case Duty::kReduce: {
      const u64 combined = least_combined(leaf, leaf.reduced(), points);
      const i64 ops = reduced_ops(rate, combines_together(leaf, head_of(leaf), leaf.reduced()));
      add(results, rate.row);
      add(combined / lanes, std::max(rate.vector, ops * stage_units(each, 0, t) / 16));
      add(combined, element);
      return c;
    }
    case Duty::kPairs:
    case Duty::kQuads:
      add(columns / lane_group(leaf.out()), rate.row);
      [[fallthrough]];
    case Duty::kRelayout:
    case Duty::kNarrowRelayout:
      add(points / lanes, vector);
      add(points / columns * round_up(columns, rate.side), element);
      return c;
    case Duty::kContract: {
      const BlockPrice block =
          rate.block ? rate.block(rows, columns, t) : BlockPrice{.group = rate.group_units};
      add(results * ceil_div(depth, rate.group), block.group);
      add(results, block.result);
      if (block.whole < results) add(1, block.odd_run);
      [[fallthrough]];
    }
    default:
      add(rows, rate.row + (columns % lanes && v != kNoDim ? rate.odd : 0));
      add(rows * vecs, vector);
      add(results, element);
      return c;
  }
}

}  // namespace morello

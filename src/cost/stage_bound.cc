// SPDX-License-Identifier: MIT
// Lower bounds of graphs: of each stage by itself, wherever its values are. Whoever computes
// several together saves their lines, and what their values cost to keep; none of that is counted
// here.
#include <algorithm>
#include <bit>

#include "cost/bounds.hh"
#include "cost/held.hh"
#include "cost/reduce.hh"
#include "cost/shared.hh"
#include "spec/alone.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

Dtype type_of(const Spec& spec, Ref value) {
  return is_operand(value) ? spec.operand[value].dtype : spec.stage[stage_of(value)].dtype;
}

/// What it costs at least to turn an element of a value around, of which neighbours along a reduced
/// dimension are read together. 0: it may have neighbours along another one as well, as sums and
/// reductions do.
i64 units_of_turning(const Spec& spec, Ref value, DimMask dims, DimMask reduced,
                     const Rates& rates) {
  const i64 one = rates.relayout(type_of(spec, value));
  if (is_operand(value)) {
    const Operand& x = spec.operand[value];
    const bool fixed =
        !x.free_layout && !x.layout.packed() && x.windows == 0 && x.level != Level::kRegister;
    return fixed && (dims & ~x.dims) == 0 && has_dim(reduced, unit_dim(x)) ? one : 0;
  }
  const Stage& stage = spec.stage[stage_of(value)];
  if (stage.reduce != 0 || stage.op == Op::kGather) return 0;
  i64 most = 0;  // all inputs have to be turned, or the value
  for (Ref in : stage.in)
    if (in != kNoRef && in != kConstant)
      most = std::max(most, units_of_turning(spec, in, dims, reduced, rates));
  return std::min(most, one);
}

}  // namespace

// Vectors of results may run along any dimension. Few products of each are multiplied and added by
// what computes the stages next to them.
i64 Bounds::products(const Spec& spec, int s, const std::array<DimMask, kMaxStages>& dims_of_stage,
                     const Limits& limits, u8& counted) const {
  Spec one = product_alone(spec, s, dims_of_stage, counted);
  Operand& out = one.out();
  i64 least = kInfinite;
  DimMask left = out.dims;
  do {
    out.layout = Layout{};
    if (left != 0) {
      const u8 v = static_cast<u8>(std::countr_zero(left));
      left = static_cast<DimMask>(left & (left - 1));
      for (u8 d = 0; d < one.rank; d++)
        if (d != v && has_dim(out.dims, d)) out.layout.append(d);
      out.layout.append(v);
    }
    const ContractionBound work(one, target_, rates_, spec.stage[s].out == kNoRef);
    const i64 c = work.units();
    if (c >= least) continue;
    least = std::min(least, blocked(one, limits, work, traffic(one, c)));
  } while (left != 0);
  const u64 lanes = moved_lanes(spec, target_);
  i64 each = 0;
  for (Op op : {Op::kMul, Op::kAdd}) {
    Stage step = spec.stage[s];
    step.op = op;
    each += std::min(rates_.vector_op(step), saturating_mul(lanes, rates_.scalar_op(step)));
  }
  const i64 steps = saturating_mul(volume(one) / lanes, each);
  if (steps >= least) return least;
  const Traffic once = traffic(one, steps);
  return std::min(least, saturating_add(steps, saturating_add(once.l2, once.memory)));
}

i64 Bounds::reduction(const Spec& spec, const Stage& stage, DimMask dims, u64 points,
                      bool alone) const {
  // Of stages of a graph their caller counts it.
  const i64 conversion = alone ? least_conversion(spec, stage, target_) : 0;
  const Form form{rates_.vector_op(stage) + conversion, rates_.scalar_op(stage) + conversion, true,
                  true, combines_together(spec, stage, stage.reduce)};
  u64 results = 0;
  i64 turned = 0;
  // Of two or three neighbours vectors are made as they are read (elements_apart()).
  if (std::popcount(stage.reduce) == 1 && points_of(spec, stage.reduce) > 3)
    turned = units_of_turning(spec, stage.in[0], dims, stage.reduce, rates_);
  if (turned != 0) results = points_of(spec, static_cast<DimMask>(dims & ~stage.reduce));
  return rates_.reduced(form, results, points, moved_lanes(spec, target_), turned, alone);
}

Bounds::StageUnits Bounds::stages(const Spec& spec, const Limits& limits, bool quick) const {
  const u64 lanes = moved_lanes(spec, target_);
  const std::array<DimMask, kMaxStages> dims_of_stage = dims_of_stages(spec);
  const bool plain = !spec.diagonal.used() && !spec.window[0].used();
  StageUnits units;
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    if (stage.op == Op::kKeep) continue;    // of what is kept, nothing
    if (stage.op == Op::kGather) continue;  // who reads it may read the operand
    const DimMask dims = dims_of_stage[static_cast<size_t>(s)];
    const u64 every = spec.diagonal.used() ? kept_points(spec, dims) : inside_points(spec, dims);
    const bool product = stage.op == Op::kMulAdd;
    const u64 points = least_combined(spec, product ? DimMask{} : stage.reduce, every);
    i64 c = 0;
    if (product && plain && stage.reduce != 0 && !quick) {
      c = products(spec, s, dims_of_stage, limits, units.counted);
    } else if (product) {
      const double price =
          rates_.least_product(type_of(spec, stage.in[0]), type_of(spec, stage.in[1]), stage.dtype,
                               static_cast<u32>(lanes));
      c = static_cast<i64>(std::min(price * static_cast<double>(points), 1e18));
      units.hiding = saturating_add(units.hiding, c);
    } else if (stage.reduce != 0) {
      c = reduction(spec, stage, dims, points, false);
    } else {
      const i64 scalar = saturating_mul(lanes, rates_.scalar_op(stage));
      c = saturating_mul(points / lanes, std::min(rates_.vector_op(stage), scalar));
    }
    c = saturating_add(c, saturating_mul(points / lanes, least_conversion(spec, stage, target_)));
    units.all = saturating_add(units.all, c);
  }
  return units;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// The microkernel of folds: a reduction along the fastest dimension, of what elementwise stages
// make of vectors on their way, which it may store as well.
#include "cost/fold.hh"

#include <algorithm>
#include <bit>

#include "cost/held.hh"
#include "cost/map_registers.hh"
#include "cost/model.hh"
#include "cost/recipe.hh"
#include "cost/shared.hh"
#include "cost/steps.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

const Stage& reduction_of(const Spec& spec) { return spec.stage[spec.stage_count - 1]; }
int reduced_dim(const Spec& spec) { return std::countr_zero(spec.reduced()); }

bool fold_applies(const Spec& spec, const Target& t) {
  // Steps of other products of one stage are no part of any microkernel in memory: bounds know it.
  if (is_chain(spec) && contraction_of(spec) && !is_single(spec)) return false;
  if (has_result_steps(spec)) return fold_applies(without_steps(spec), t);
  if (!is_fold(spec) || spec.rank > 2 || std::popcount(spec.reduced()) != 1) return false;
  if (spec.out().level == Level::kRegister || !is_convertible(spec)) return false;
  const Spec before = prologue_of(spec);
  const Dtype combined = before.stage[before.stage_count - 1].dtype;
  if (computed_in(combined) != reduction_of(spec).dtype) return false;
  const u8 r = static_cast<u8>(reduced_dim(spec));
  if (const Ref kept = kept_by_fold(spec); kept != kNoRef) {
    // It is stored as it is, by the vectors that are combined.
    const Operand& x = spec.operand[kept];
    if (x.access != Access::kOut || !is_plain(x.dtype, reduction_of(spec).dtype)) return false;
    if (unit_dim(x) != r) return false;
  }
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level == Level::kRegister || x.layout.packed() || x.free_layout) return false;
    if (has_dim(x.dims, r) && unit_dim(x) != r) return false;
  }
  return true;
}

u32 registers(const Spec& whole, const Target& t) {
  const Spec spec = without_steps(whole);
  const u32 combining =
      fold_registers(spec, t).count() + map_registers(prologue_of(spec), t, false).count();
  return std::max(combining, 1 + step_registers(whole, t));
}

i64 fold_cost(const Spec& whole, const Target& t) {
  const Spec spec = without_steps(whole);
  const Spec before = prologue_of(spec);
  const u64 depth = spec.size[reduced_dim(spec)], rows = volume(spec) / depth;
  const u64 steps = ceil_div(depth, computed_lanes(spec, t));
  i64 loads = 0;
  const Ref kept = kept_by_fold(spec);
  for (int o = 0; o < spec.out_index(); o++)
    if (o != kept) loads += kUnitsPerCycle / t.loads_per_cycle;
  const i64 store = kept == kNoRef ? 0 : kUnitsPerCycle / static_cast<i64>(t.stores_per_cycle);
  const i64 ops = stage_units(before, 0, t) + conversion_units(before, t) +
                  op_units(combined_by(spec), reduction_of(spec).dtype, t);
  const i64 step = std::max({loads, store, ops, i64{kUnitsPerCycle}});
  i64 row = saturating_add(saturating_mul(steps, step), t.prices.reduced_row);
  row = saturating_add(row, step_units_of_result(whole, t));
  if (kept != kNoRef && !t.has_masks && depth % computed_lanes(spec, t) != 0)
    row = saturating_add(row, t.prices.odd_store);
  i64 c = saturating_add(saturating_mul(rows, row), t.prices.call);
  c = saturating_add(c, loop_units(spec, one_result(spec), t));
  for (int o = 0; o < spec.operand_count; o++)
    c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

/// No less than the microkernels of plain reductions and dot products, so bounds of these stay what
/// they are.
Rate fold_rate(Duty duty, const Target& t) {
  if (duty == Duty::kReduce)
    return {.call = t.prices.call,
            .row = t.prices.reduced_row,
            .vector = kUnitsPerCycle,
            .vector_ops = 16};
  return dot_product_rate(duty, t);
}

}  // namespace

Spec prologue_of(const Spec& spec) {
  Spec before = spec;
  Stage& last = before.stage[before.stage_count - 1];
  if (last.op == Op::kMulAdd)
    last.op = Op::kMul;
  else
    before.stage[--before.stage_count] = Stage{};
  for (int s = 0; s < before.stage_count; s++) before.stage[s].reduce = 0;
  Stage& end = before.stage[before.stage_count - 1];
  end.out = static_cast<Ref>(spec.out_index());
  Operand& out = before.out();
  out = Operand{};
  out.dtype = computed_in(end.dtype);
  out.level = Level::kRegister;
  out.access = Access::kOut;
  out.dims = spec.reduced();
  out.layout.append(static_cast<u8>(reduced_dim(spec)));
  out.contig = 1;
  // A last vector that is not full is masked, however many elements it has.
  u32& size = before.size[reduced_dim(spec)];
  if (size % 16 != 0) size = 16 + 2;
  return before;
}

FoldRegisters fold_registers(const Spec& spec, const Target& t) {
  FoldRegisters r;
  const Recipe* combining = recipe_of(combined_by(spec), reduction_of(spec).dtype);
  if (combining) r.temporaries = combining->temporaries;
  r.sums = 4;
  for (int s = 0; s + 1 < spec.stage_count; s++)
    if (recipe_of(spec.stage[s].op, spec.stage[s].dtype)) r.sums = 2;
  const u32 odd = spec.size[reduced_dim(spec)] % computed_lanes(spec, t);
  r.mask = odd != 0 && !t.has_masks;
  r.half = r.mask && odd > 4 && kept_by_fold(spec) != kNoRef;
  const Spec before = prologue_of(spec);
  if (t.has_masks || map_registers(before, t, false).temporaries + r.temporaries == 0)
    for (int s = 0; s < before.stage_count; s++)
      for (Ref in : before.stage[s].in)
        r.widening |=
            is_operand(in) && has_dim(before.operand[in].dims, reduced_dim(spec)) &&
            widens_by_order(before.operand[in].dtype, held_in(before, before.stage[s]), t);
  return r;
}

extern const Microkernel kFoldLanes = {
    MicrokernelId::kFoldLanes, fold_applies, registers, fold_cost, one_result, fold_rate};

}  // namespace morello

// SPDX-License-Identifier: MIT
// Microkernels of reductions, and the scalar one that takes any contraction or reduction.
#include "cost/reduce.hh"

#include <algorithm>

#include "cost/held.hh"
#include "cost/model.hh"
#include "cost/recipe.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

bool reduces(const Spec& spec) {
  return is_single(spec) && spec.reduced() != 0 && !contraction_of(spec) && is_convertible(spec);
}
const Operand& input_of(const Spec& spec) { return spec.operand[head_of(spec).in[0]]; }

bool plain(const Operand& o) { return !o.layout.packed() && !o.free_layout; }

/// Of the recipe by which two vectors are combined.
u32 temporaries(const Spec& spec) {
  const Recipe* recipe = recipe_of(head_of(spec).op, head_of(spec).dtype);
  return recipe ? recipe->temporaries : 0;
}

bool rows_applies(const Spec& spec, const Target&) {
  if (!reduces(spec) || std::popcount(spec.reduced()) != 1 || spec.rank > 3) return false;
  const Operand &in = input_of(spec), &out = spec.out();
  if (out.level != Level::kRegister || out.access != Access::kInOut) return false;
  if (in.level == Level::kRegister || !plain(in)) return false;
  return unit_dim(out) != kNoDim && (unit_dim(in) == unit_dim(out) || reads_every_second(spec));
}

u32 rows_registers(const Spec& spec, const Target& t) {
  u32 lanes = computed_lanes(spec, t);
  const bool odd = !t.has_masks && spec.size[unit_dim(spec.out())] % lanes != 0;
  return temporaries(spec) + odd + (reads_every_second(spec) ? kSecondRegisters : 2u);
}

i64 rows_cost(const Spec& spec, const Target& t) {
  u64 depth = spec.size[std::countr_zero(spec.reduced())];
  i64 vecs = static_cast<i64>(vectors(spec, spec.out(), computed_lanes(spec, t)));
  const i64 latency = static_cast<i64>(t.fma_latency) * kUnitsPerCycle;
  i64 step = stage_units(spec, 0, t) + conversion_units(spec, t);
  if (reads_every_second(spec)) {  // all of them in one step, of which the last is a shuffle
    const i64 shuffle = t.prices.op[static_cast<size_t>(OpClass::kSimple)];
    step = saturating_add(saturating_mul(depth, step + shuffle), shuffle);
    depth = 1;
  }
  step = std::max(saturating_mul(static_cast<u64>(vecs), step), latency);
  i64 c = saturating_add(saturating_mul(depth, step), t.prices.call);
  return saturating_add(c, traffic_units(spec, input_of(spec), t));
}

bool lanes_applies(const Spec& spec, const Target&) {
  if (!reduces(spec) || std::popcount(spec.reduced()) != 1 || spec.rank > 2) return false;
  const Operand &in = input_of(spec), &out = spec.out();
  if (in.level == Level::kRegister || out.level == Level::kRegister || !plain(in) || !plain(out))
    return false;
  return unit_dim(in) == std::countr_zero(spec.reduced());
}

u32 lanes_registers(const Spec& spec, const Target& t) {
  u32 lanes = computed_lanes(spec, t);
  return 6u + temporaries(spec) +
         (!t.has_masks && spec.size[std::countr_zero(spec.reduced())] % lanes != 0);
}

i64 lanes_cost(const Spec& spec, const Target& t) {
  u64 depth = spec.size[std::countr_zero(spec.reduced())], rows = volume(spec) / depth;
  u64 steps = ceil_div(depth, computed_lanes(spec, t));
  const i64 step = std::max(kUnitsPerCycle, stage_units(spec, 0, t)) + conversion_units(spec, t);
  const i64 row = saturating_mul(steps, step) + t.prices.reduced_row;
  i64 c = saturating_add(saturating_mul(rows, row), t.prices.call);
  c = saturating_add(c, loop_units(spec, one_result(spec), t));
  for (int o = 0; o < 2; o++) c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

bool scalar_applies(const Spec& spec, const Target&) {
  if (!reduces(spec) && !(is_single(spec) && contraction_of(spec) && is_convertible(spec)))
    return false;
  if (spec.rank > 4) return false;
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister || !plain(spec.operand[o])) return false;
  return true;
}

u32 scalar_registers(const Spec& spec, const Target&) {
  return contraction_of(spec) ? 3 : 2 + std::max(1u, temporaries(spec));
}

i64 scalar_cost(const Spec& spec, const Target& t) {
  i64 step = std::max(t.prices.scalar_step, scalar_ops(spec, 0, t)) + conversion_units(spec, t);
  i64 c = saturating_add(saturating_mul(volume(spec), step), t.prices.call);
  c = saturating_add(c, loop_units(spec, one_result(spec), t));
  for (int o = 0; o < spec.operand_count; o++)
    c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

Rate rows_rate(Duty duty, const Target& t) {
  if (duty != Duty::kReduce) return kNever;
  return {.call = t.prices.call, .vector_ops = 16, .stages = 1};
}

Rate lanes_rate(Duty duty, const Target& t) {
  if (duty != Duty::kReduce) return kNever;
  return {.call = t.prices.call, .vector = kUnitsPerCycle, .vector_ops = 16, .stages = 1};
}

Rate scalar_rate(Duty duty, const Target& t) {
  if (duty == Duty::kReduce)
    return {.call = t.prices.call, .element = t.prices.scalar_step, .stages = 1};
  if (duty != Duty::kContract) return kNever;
  return {.call = t.prices.call, .group_units = t.prices.scalar_step, .stages = 1};
}

}  // namespace

bool reads_every_second(const Spec& spec) {
  constexpr u32 kMostInRow = 8;  // all of them are straight code
  const Operand& in = input_of(spec);
  const u8 v = unit_dim(spec.out()), r = static_cast<u8>(std::countr_zero(spec.reduced()));
  if (v == kNoDim || unit_dim(in) != r || spec.size[r] > kMostInRow || !has_dim(in.dims, v))
    return false;
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& x = spec.window[w];
    if (!in.has_window(w) || (x.outer != r && x.inner != r && x.outer != v && x.inner != v))
      continue;
    return x.outer == r && x.inner == v && x.step == 1 && x.dilation == 2;
  }
  const int count = in.layout.count();
  return count >= 2 && in.contig >= 2 && in.layout.dim[count - 2] == v && spec.size[r] == 2;
}

extern const Microkernel kReduceRows = {
    MicrokernelId::kReduceRows, rows_applies, rows_registers, rows_cost, whole, rows_rate};
extern const Microkernel kReduceLanes = {MicrokernelId::kReduceLanes,
                                         lanes_applies,
                                         lanes_registers,
                                         lanes_cost,
                                         one_result,
                                         lanes_rate};
extern const Microkernel kScalarReduce = {MicrokernelId::kScalarReduce,
                                          scalar_applies,
                                          scalar_registers,
                                          scalar_cost,
                                          one_result,
                                          scalar_rate};

}  // namespace morello

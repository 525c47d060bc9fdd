// SPDX-License-Identifier: MIT
// Microkernels of reductions, and the scalar one that takes any contraction or reduction.
#include "cost/reduce.hh"

#include <algorithm>

#include "cost/held.hh"
#include "cost/model.hh"
#include "cost/recipe.hh"
#include "cost/shared.hh"
#include "cost/steps.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

bool reduces(const Spec& spec) {
  return is_single(spec) && spec.reduced() != 0 && is_reduction(head_of(spec)) &&
         !contraction_of(spec) && is_convertible(spec);
}
const Operand& input_of(const Spec& spec) { return spec.operand[head_of(spec).in[0]]; }

bool plain(const Operand& o) { return !o.layout.packed() && !o.free_layout; }

/// How many elements each result is made of.
u64 reduced_points(const Spec& spec) {
  u64 n = 1;
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(spec.reduced(), d)) n *= spec.size[d];
  return n;
}

/// Of the recipe by which two vectors are combined.
u32 temporaries(const Spec& spec) {
  const Recipe* recipe = recipe_of(head_of(spec).op, head_of(spec).dtype);
  return recipe ? recipe->temporaries : 0;
}

/// Of several instructions, which see to NaN and zeros.
bool is_extreme(const Stage& stage) {
  return (stage.op == Op::kMax || stage.op == Op::kMin) && stage.dtype == Dtype::kF32;
}

/// Not of vectors that are made as they are read.
bool combines_rows_together(const Spec& spec) {
  return combines_together(spec, head_of(spec), spec.reduced()) &&
         unit_dim(input_of(spec)) == unit_dim(spec.out());
}

bool rows_applies(const Spec& spec, const Target&) {
  if (!reduces(spec)) return false;
  const Operand &in = input_of(spec), &out = spec.out();
  if (out.level != Level::kRegister || out.access != Access::kInOut) return false;
  if (in.level == Level::kRegister || !plain(in)) return false;
  if (std::popcount(spec.reduced()) == 2) return shared_rows(spec) || combines_windows(spec);
  if (std::popcount(spec.reduced()) != 1 || spec.rank > 3) return false;
  return unit_dim(out) != kNoDim && (unit_dim(in) == unit_dim(out) || elements_apart(spec) != 0);
}

u32 rows_registers(const Spec& spec, const Target& t) {
  u32 lanes = computed_lanes(spec, t);
  const bool odd = !t.has_masks && spec.size[unit_dim(spec.out())] % lanes != 0;
  const u32 combining = temporaries(spec) + odd + rows_widen_by_order(spec, t);
  if (const auto shared = shared_rows(spec)) return combining + 2u + spec.size[shared->rows];
  const u32 apart = elements_apart(spec);
  return combining + (apart != 0 ? apart_registers(apart) : 2u);
}

i64 shared_rows_cost(const Spec& spec, const SharedRows& shared, const Target& t) {
  const u64 vecs = vectors(spec, spec.out(), computed_lanes(spec, t));
  const u64 along = spec.size[shared.along], rows = spec.size[shared.rows],
            row = spec.size[shared.row], lines = vecs / along;
  const u64 read = lines * shared.read * row;
  const u64 combined = lines * (shared.read * (row - 1) + along * rows);
  i64 c = saturating_mul(combined, stage_units(spec, 0, t));
  c = saturating_add(c, saturating_mul(read, conversion_units(spec, t)));
  c = std::max({c, saturating_mul(read, kUnitsPerCycle / t.loads_per_cycle),
                saturating_mul(rows + row, static_cast<i64>(t.fma_latency) * kUnitsPerCycle)});
  c = saturating_add(c, t.prices.call);
  return saturating_add(c, traffic_units(spec, input_of(spec), t));
}

i64 rows_cost(const Spec& spec, const Target& t) {
  if (const auto shared = shared_rows(spec)) return shared_rows_cost(spec, *shared, t);
  u64 depth = reduced_points(spec);
  i64 vecs = static_cast<i64>(vectors(spec, spec.out(), computed_lanes(spec, t)));
  const i64 latency = static_cast<i64>(t.fma_latency) * kUnitsPerCycle;
  i64 ops = stage_units(spec, 0, t);
  if ((combines_windows(spec) && temporaries(spec) > 0) || combines_rows_together(spec))
    ops = ceil_div(static_cast<u64>(3 * ops), 4);
  i64 step = ops + conversion_units(spec, t);
  if (const u32 apart = elements_apart(spec)) {  // all of them in one step
    const i64 shuffle = t.prices.op[static_cast<size_t>(OpClass::kSimple)];
    // Of every second one the last is another shuffle; every third one is of three vectors.
    step = apart == 2 ? saturating_add(saturating_mul(depth, step + shuffle), shuffle)
                      : saturating_mul(depth, step + 3 * shuffle);
    depth = 1;
  }
  step = std::max(saturating_mul(static_cast<u64>(vecs), step), latency);
  i64 c = saturating_add(saturating_mul(depth, step), t.prices.call);
  return saturating_add(c, traffic_units(spec, input_of(spec), t));
}

bool lanes_applies(const Spec& spec, const Target& t) {
  if (has_result_steps(spec)) return lanes_applies(without_steps(spec), t);
  if (!reduces(spec) || std::popcount(spec.reduced()) != 1 || spec.rank > 2) return false;
  const Operand &in = input_of(spec), &out = spec.out();
  if (in.level == Level::kRegister || out.level == Level::kRegister || !plain(in) || !plain(out))
    return false;
  return unit_dim(in) == std::countr_zero(spec.reduced());
}

u32 lanes_registers(const Spec& spec, const Target& t) {
  u32 lanes = computed_lanes(spec, t);
  const u32 combining = 6u + temporaries(spec) +
                        widens_by_order(input_of(spec).dtype, head_of(spec).dtype, t) +
                        (!t.has_masks && spec.size[std::countr_zero(spec.reduced())] % lanes != 0);
  return std::max(combining, 1 + step_registers(spec, t));
}

i64 lanes_cost(const Spec& whole, const Target& t) {
  const Spec spec = without_steps(whole);
  u64 depth = spec.size[std::countr_zero(spec.reduced())], rows = volume(spec) / depth;
  u64 steps = ceil_div(depth, computed_lanes(spec, t));
  const i64 step = std::max(kUnitsPerCycle, stage_units(spec, 0, t)) + conversion_units(spec, t);
  const i64 row =
      saturating_mul(steps, step) + t.prices.reduced_row + step_units_of_result(whole, t);
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
  return {.call = t.prices.call, .vector_ops = 16, .together_ops = 12, .along = true, .stages = 1};
}

Rate lanes_rate(Duty duty, const Target& t) {
  if (duty != Duty::kReduce) return kNever;
  return {.call = t.prices.call,
          .row = t.prices.reduced_row,
          .vector = kUnitsPerCycle,
          .vector_ops = 16};
}

Rate scalar_rate(Duty duty, const Target& t) {
  if (duty == Duty::kReduce)
    return {.call = t.prices.call, .element = t.prices.scalar_step, .stages = 1};
  if (duty != Duty::kContract) return kNever;
  return {.call = t.prices.call, .group_units = t.prices.scalar_step, .stages = 1};
}

}  // namespace

bool combines_windows(const Spec& spec) {
  // Straight code. Of 3x3 elements it was slower: such windows are read in an order that costs more
  // than is saved (55x55x64, a step of two, Zen 4: 0.9 times as fast).
  constexpr u64 kMostElements = 4;
  const u8 v = unit_dim(spec.out());
  return std::popcount(spec.reduced()) == 2 && spec.rank <= 5 && v != kNoDim &&
         unit_dim(input_of(spec)) == v && reduced_points(spec) <= kMostElements;
}

bool combines_together(const Spec& spec, const Stage& stage, DimMask reduced) {
  constexpr u64 kLeast = 3;
  return is_extreme(stage) && std::popcount(reduced) == 1 && points_of(spec, reduced) >= kLeast;
}

bool can_start(const Spec& spec) {
  return is_extreme(head_of(spec)) &&
         (shared_rows(spec) || combines_windows(spec) ||
          (std::popcount(spec.reduced()) == 1 && unit_dim(input_of(spec)) != unit_dim(spec.out()) &&
           elements_apart(spec) != 0));
}

bool rows_widen_by_order(const Spec& spec, const Target& t) {
  return (t.has_masks || temporaries(spec) == 0) &&
         widens_by_order(input_of(spec).dtype, head_of(spec).dtype, t);
}

u32 elements_apart(const Spec& spec) {
  constexpr u32 kMostInRow = 8;  // all of them are straight code
  const Operand& in = input_of(spec);
  const u8 v = unit_dim(spec.out()), r = static_cast<u8>(std::countr_zero(spec.reduced()));
  if (v == kNoDim || unit_dim(in) != r || spec.size[r] > kMostInRow || !has_dim(in.dims, v))
    return 0;
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& x = spec.window[w];
    if (!in.has_window(w) || (x.outer != r && x.inner != r && x.outer != v && x.inner != v))
      continue;
    return is_apart(x, r, v) ? 2 : 0;
  }
  const int count = in.layout.count();
  if (count < 2 || in.contig < 2 || in.layout.dim[count - 2] != v) return 0;
  return spec.size[r] == 2 || spec.size[r] == 3 ? spec.size[r] : 0;
}

bool is_apart_outside_l1(const Spec& spec) {
  if (!is_chain(spec) || spec.reduced() == 0 || contraction_of(spec)) return false;
  if (!is_operand(head_of(spec).in[0])) return false;
  const Operand& in = input_of(spec);
  const u8 v = unit_dim(spec.out()), r = unit_dim(in);
  if (v == kNoDim || r == kNoDim || !has_dim(spec.reduced(), r)) return false;
  if (spec.size[r] != 2 && spec.size[r] != 3) return false;
  for (int w = 0; w < kMaxWindows; w++) {  // with borders: without, they are no windows
    const Window& x = spec.window[w];
    if (in.has_window(w) && x.outer == r && x.inner == v)
      return x.step == 1 && x.dilation == spec.size[r];
  }
  const int count = in.layout.count();
  return count >= 2 && in.contig >= 2 && in.layout.dim[count - 2] == v;
}

std::optional<SharedRows> shared_rows(const Spec& spec) {
  // In registers; straight code; what prefetchers follow (LevelModel::streams).
  constexpr u32 kMostRows = 8, kMostInRow = 8, kMostRead = 12;
  if (std::popcount(spec.reduced()) != 2 || spec.rank > 5) return std::nullopt;
  const Operand &in = input_of(spec), &out = spec.out();
  const u8 v = unit_dim(out);
  if (v == kNoDim || unit_dim(in) != v) return std::nullopt;
  // What is one instruction is as fast without, of two rows.
  const u32 least_rows = recipe_of(head_of(spec).op, head_of(spec).dtype) ? 2 : 3;
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& x = spec.window[w];
    if (!in.has_window(w) || x.step != 1 || x.dilation != 1 || x.before != 0 || x.after != 0)
      continue;
    const bool inner = has_dim(spec.reduced(), x.inner);
    if (inner == has_dim(spec.reduced(), x.outer)) continue;
    const u8 along = inner ? x.outer : x.inner, rows = inner ? x.inner : x.outer;
    const u8 row = static_cast<u8>(std::countr_zero(spec.reduced() & ~(1u << rows)));
    const u32 read = spec.size[along] + spec.size[rows] - 1;
    if (along == v || spec.size[along] < 2 || spec.size[rows] < least_rows) continue;
    if (spec.size[rows] > kMostRows || spec.size[row] > kMostInRow || read > kMostRead) continue;
    return SharedRows{along, rows, row, read};
  }
  return std::nullopt;
}

// Of windows of `rows` by `row` numbers, whose rows are combined once each, a result takes
// rows + row - 1 of its rows * row. The larger windows are, the smaller is this part, and programs
// only make smaller ones of them. Of other windows (combines_windows()), three quarters.
u64 least_combined(const Spec& spec, DimMask reduced, u64 points) {
  if (std::popcount(reduced) < 2) return points;
  u64 rows = 1, row = 1;
  for (const Window& x : spec.window) {
    if (!x.used()) continue;
    for (u8 d : {x.outer, x.inner})
      if (has_dim(reduced, d)) rows = std::max<u64>(rows, spec.size[d]);
  }
  bool waits = false;
  for (int s = 0; s < spec.stage_count; s++)
    waits |= spec.stage[s].reduce == reduced && recipe_of(spec.stage[s].op, spec.stage[s].dtype);
  const u64 apart = waits ? points / 4 * 3 : points;
  if (rows == 1) return apart;
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(reduced, d)) row = std::max<u64>(row, spec.size[d]);
  return std::min(apart, points / (rows * row) * (rows + row - 1));
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

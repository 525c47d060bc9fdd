// SPDX-License-Identifier: MIT
#include "spec/roles.hh"

namespace morello {

bool is_read(const Spec& spec, Ref ref) {
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (in == ref) return true;
  return false;
}

bool is_chain_of_stages(const Spec& spec) {
  const int last = spec.stage_count - 1;
  for (int s = 0; s <= last; s++) {
    const Stage& stage = spec.stage[s];
    bool reads_previous = false;
    for (Ref in : stage.in) {
      if (!is_value(in)) continue;
      if (in != value_of(s - 1)) return false;
      reads_previous = true;
    }
    if (s > 0 && (!reads_previous || is_reduction(stage))) return false;
    if (stage.op == Op::kGather) return false;
    if (s == 0 && (stage.reduce & spec.out().dims) != 0) return false;
    if (s < last ? stage.out != kNoRef : stage.out != spec.out_index()) return false;
  }
  return true;
}

bool is_fold(const Spec& spec) {
  const int last = spec.stage_count - 1;
  const Stage& sum = spec.stage[last];
  if (!is_reduction(sum) || sum.reduce == 0 || sum.out != spec.out_index()) return false;
  if (last == 0) return sum.op == Op::kMulAdd && sum.in[0] == sum.in[1];
  if (spec.out().access == Access::kInOut && is_read(spec, sum.out)) return false;
  for (int s = 0; s <= last; s++) {
    bool reads_previous = false;
    for (Ref in : spec.stage[s].in) {
      if (!is_value(in)) continue;
      if (in != value_of(s - 1)) return false;
      reads_previous = true;
    }
    if (s > 0 && !reads_previous) return false;
    if (s < last && (is_reduction(spec.stage[s]) || spec.stage[s].op == Op::kGather)) return false;
    if (spec.stage[s].out != kNoRef && s < (sum.op == Op::kMulAdd ? last : last - 1)) return false;
  }
  return true;
}

int broadcast_stage(const Spec& spec) {
  int s = spec.stage_count - 2;
  while (s >= 0 && (spec.stage[s].op == Op::kFill || dims_of(spec, value_of(s)) == spec.out().dims))
    s--;
  return s;
}

namespace {

/// dims_of_stages() of the first ones.
std::array<DimMask, kMaxStages> dims_up_to(const Spec& spec, int last) {
  std::array<DimMask, kMaxStages> all{};
  for (int s = 0; s <= last; s++) {
    DimMask dims = spec.stage[s].reduce;
    for (Ref in : spec.stage[s].in) {
      if (is_operand(in)) dims = static_cast<DimMask>(dims | spec.operand[in].dims);
      if (!is_value(in)) continue;
      const int from = stage_of(in);
      dims = static_cast<DimMask>(dims | (all[from] & ~spec.stage[from].reduce));
    }
    all[s] = dims;
  }
  return all;
}

}  // namespace

DimMask dims_of(const Spec& spec, Ref ref) {
  if (is_operand(ref)) return spec.operand[ref].dims;
  if (!is_value(ref)) return 0;
  const int last = stage_of(ref);
  return static_cast<DimMask>(dims_up_to(spec, last)[last] & ~spec.stage[last].reduce);
}

DimMask dims_of(const Spec& spec, const Stage& stage) {
  DimMask dims = stage.reduce;
  for (Ref in : stage.in) dims = static_cast<DimMask>(dims | dims_of(spec, in));
  return dims;
}

std::array<DimMask, kMaxStages> dims_of_stages(const Spec& spec) {
  return dims_up_to(spec, spec.stage_count - 1);
}

u64 points_of(const Spec& spec, DimMask dims) {
  u64 points = 1;
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(dims, d) && __builtin_mul_overflow(points, u64{spec.size[d]}, &points))
      return ~u64{0} >> 1;
  return points;
}

DimMask parallel_dims(const Spec& spec) {
  DimMask dims = static_cast<DimMask>(spec.all_dims() & ~spec.reduced());
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].access != Access::kIn)
      dims = static_cast<DimMask>(dims & spec.operand[o].dims);
  return dims;
}

bool has_all_places(const Spec& spec, const Operand& operand) {
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& window = spec.window[w];
    if (operand.has_window(w) &&
        skips_places(window, spec.size[window.outer], spec.size[window.inner]))
      return false;
  }
  return true;
}

DimMask window_dims(const Spec& spec) {
  DimMask dims = 0;
  for (const Window& w : spec.window)
    if (w.used()) dims = static_cast<DimMask>(dims | 1u << w.outer | 1u << w.inner);
  return dims;
}

DimMask inner_dims(const Spec& spec) {
  DimMask all = spec.all_dims();
  const std::array<DimMask, kMaxStages> dims = dims_of_stages(spec);
  for (int s = 0; s < spec.stage_count; s++) all = static_cast<DimMask>(all & dims[s]);
  return all;
}

DimMask fold_dims(const Spec& spec) {
  DimMask all = spec.reduced();
  for (int s = 0; all != 0 && s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    const bool adds = accumulates(spec, stage);
    // What is combined of one part must not be read as if it were of the whole.
    if (!adds) all = static_cast<DimMask>(all & ~stage.reduce);
    // A stage that lacks the dimension runs once per part: it must not add, or read what it wrote.
    if (is_operand(stage.out) && spec.operand[stage.out].access == Access::kInOut) {
      // If it reduces the dimension and the output has it as well, each part adds to all of it.
      const DimMask reduce = adds ? stage.reduce : DimMask{0};
      all = static_cast<DimMask>(all & (spec.operand[stage.out].dims ^ reduce));
    }
  }
  return all;
}

}  // namespace morello

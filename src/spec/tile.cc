// SPDX-License-Identifier: MIT
// A Spec with one dimension cut to a part of it.
#include <algorithm>
#include <utility>

#include "spec/border.hh"
#include "spec/canonical.hh"
#include "spec/gather.hh"
#include "spec/roles.hh"
#include "spec/stages.hh"

namespace morello {
namespace {

/// Windows and blocks depend on more than one size.
bool is_simple(const Operand& x) { return x.windows == 0 && !x.layout.packed(); }

/// Of an operand with windows: runs were of `was` entries, and are shorter. How far are places
/// along the slowest axis of a window apart, if that was in a run, or next to it? Of anything else
/// that was next to it, runs `met` in the same sets.
void keep_pitches(const Spec& before, int was, u8 met, Operand& operand) {
  const int slowest = slowest_window(before, operand), count = operand.layout.count();
  const int faster = count - 1 - slowest;
  if (faster == was) {
    const u32 apart = std::max(kAliases[met], window_alias(operand));
    operand.alias = static_cast<u8>((operand.alias & ~kWindowAlias) | apart << 4);
    return;
  }
  keep_met_runs(operand, met);
  if (faster > was || faster < operand.contig) return;
  const PhysicalDims sizes = physical_dims(before, operand);
  u64 apart = size_of(operand.dtype);
  for (int i = slowest + 1; i < count; i++) apart *= sizes.size[i];
  set_window_pitch(operand, apart);
}

/// `operand`, of a Spec whose sizes were those of `before`, as a part of it with the sizes of
/// `after`, of which dimension `dim` is another one.
void shrink(const Spec& before, const Spec& after, int dim, Operand& operand) {
  if (operand.contig <= 1) return;  // the run can only end where it ends
  const int fastest = operand.layout.count() - 1;
  u64 inside = 1;  // elements of the run so far
  auto end_after = [&](int entries) {
    const u8 known = static_cast<u8>(operand.alias & kWindowAlias);
    const u8 was = std::exchange(operand.contig, static_cast<u8>(entries));
    const u8 met = met_runs(operand, was);
    set_pitch(operand, inside * size_of(operand.dtype));
    operand.alias = static_cast<u8>(operand.alias | known);
    if (operand.windows) keep_pitches(before, was, met, operand);
    forget_pitch(operand);
  };
  if (is_simple(operand)) {
    for (int i = 0; i + 1 < operand.contig; i++) {
      const u8 d = operand.layout.dim[fastest - i];
      inside *= before.size[d];
      if (d == dim) return end_after(i + 1);
    }
    return;
  }
  const PhysicalDims was = physical_dims(before, operand), is = physical_dims(after, operand);
  for (int i = 0; i + 1 < operand.contig; i++) {
    inside *= was.size[fastest - i];
    if (was.size[fastest - i] != is.size[fastest - i]) return end_after(i + 1);
  }
}

/// Which input of a sum that has no dimension left is what it adds to its output, or is multiplied
/// before it is added? A value that has all dimensions of the output; -1: none.
int ended_sum(const Spec& spec, const Stage& stage) {
  if (stage.reduce != 0 || !accumulates(spec, stage)) return -1;
  for (int i = 0; i < 2; i++)
    if (is_value(stage.in[i]) && dims_of(spec, stage.in[i]) == spec.operand[stage.out].dims)
      return i;
  return -1;
}

/// A sum over one place that goes on from a value is a step, which reads what the output held: so
/// the last stage of what was a graph may end a chain. `sum += value * scale` is two such steps.
void end_sums(Spec& spec) {
  for (int s = 1; s < spec.stage_count; s++) {
    const int value = ended_sum(spec, spec.stage[s]);
    if (value < 0) continue;
    if (spec.stage[s].op == Op::kMulAdd) {
      Stage product = spec.stage[s];
      product.op = Op::kMul;
      product.out = kNoRef;
      if (value == 1) std::swap(product.in[0], product.in[1]);
      if (product.in[0] == product.in[1]) {
        product.op = Op::kSquare;
        product.in[1] = kNoRef;
      }
      const auto end = spec.stage.begin() + spec.stage_count;
      if (spec.stage_count == kMaxStages || std::find(spec.stage.begin(), end, product) != end)
        continue;
      insert_stage(spec, s++, product);
      spec.stage[s].op = Op::kAdd;
      spec.stage[s].in = {value_of(s - 1), spec.stage[s].out, kNoRef};
      continue;
    }
    Stage& stage = spec.stage[s];
    stage.in[1] = stage.out;
    if (stage.op != Op::kAdd) std::swap(stage.in[0], stage.in[1]);
  }
}

}  // namespace

bool may_tile(const Spec& spec, int dim, u32 size) {
  if (has_dim(bordered_dims(spec) | gathered_dims(spec), dim) || spec.diagonal.has(dim))
    return false;
  for (int o = 0; o < spec.operand_count; o++)
    if (size % spec.operand[o].layout.block_of(dim) != 0) return false;
  return true;
}

void tile(const Spec& spec, int dim, u32 size, Spec& child, Binding* binding) {
  child = spec;
  child.size[dim] = size;
  bool simple = size > 1;
  for (int o = 0; o < child.operand_count; o++) {
    Operand& x = child.operand[o];
    if (!has_dim(x.dims, dim)) continue;
    shrink(spec, child, dim, x);
    simple &= is_simple(x);
  }
  if (!simple)
    drop_unit_dims(child, binding);
  else if (binding)
    *binding = identity_binding();
  if (size == 1) end_sums(child);
  assert_canonical_at_times(child);
}

void become_part(const Spec& whole, Spec& part, Binding* binding) {
  for (int d = 0; d < part.rank; d++)
    for (int o = 0; o < part.operand_count; o++)
      if (part.size[d] != whole.size[d] && has_dim(part.operand[o].dims, d))
        shrink(whole, part, d, part.operand[o]);
  drop_unit_dims(part, binding);
  if (part.rank < whole.rank) end_sums(part);
}

Spec tile(const Spec& spec, int dim, u32 size, Binding* binding) {
  Spec child;
  tile(spec, dim, size, child, binding);
  return child;
}

}  // namespace morello

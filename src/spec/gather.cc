// SPDX-License-Identifier: MIT
#include "spec/gather.hh"

#include <bit>
#include <cassert>

#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/stages.hh"

namespace morello {

DimMask gathered_dims(const Spec& spec) {
  DimMask dims = 0;
  for (int s = 0; s < spec.stage_count; s++)
    if (spec.stage[s].op == Op::kGather) dims = static_cast<DimMask>(dims | spec.stage[s].reduce);
  return dims;
}

u8 gathered_dim(const Stage& stage) {
  return stage.reduce == 0 ? kNoDim : static_cast<u8>(std::countr_zero(stage.reduce));
}

u8 gathered_operands(const Spec& spec) {
  u8 operands = 0;
  for (int s = 0; s < spec.stage_count; s++)
    for (int i = 0; spec.stage[s].op == Op::kGather && i < 2; i++)
      if (const Ref in = spec.stage[s].in[i]; is_operand(in))
        operands = static_cast<u8>(operands | 1u << in);
  return operands;
}

namespace {

/// Does nothing but the stage read the operand, or run over what it is gathered along?
bool gathers_alone(const Spec& spec, int stage) {
  const Ref from = spec.stage[stage].in[0];
  const DimMask along = spec.stage[stage].reduce;
  for (int o = 0; o < spec.operand_count; o++)
    if (o != from && (spec.operand[o].dims & along) != 0) return false;
  for (int s = 0; s < spec.stage_count; s++) {
    if (s == stage) continue;
    if ((spec.stage[s].reduce & along) != 0) return false;
    for (Ref in : spec.stage[s].in)
      if (in == from) return false;
  }
  return true;
}

/// Programs read the index twice, there and back: nothing may write it meanwhile.
bool is_one_place(const Operand& index) { return index.dims == 0 && index.access == Access::kIn; }

}  // namespace

int gather_at_one_place(const Spec& spec) {
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    if (stage.op != Op::kGather || !is_operand(stage.in[0]) || !is_operand(stage.in[1])) continue;
    const Operand& from = spec.operand[stage.in[0]];
    if (from.access == Access::kIn && is_one_place(spec.operand[stage.in[1]]) &&
        !from.layout.packed() && !from.free_layout && gathers_alone(spec, s))
      return s;
  }
  return -1;
}

namespace {

/// Inputs in the order in which stages read them, without those that none reads.
void number_inputs(Spec& spec, Binding& binding) {
  std::array<u8, kMaxOperands> order{};  // now -> before
  u8 count = 0;
  const auto add = [&](Ref o) {
    for (u8 i = 0; i < count; i++)
      if (order[i] == o) return;
    order[count++] = o;
  };
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (is_operand(in) && spec.operand[in].access == Access::kIn) add(in);
  for (Ref o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].access != Access::kIn) add(o);
  const std::array<Operand, kMaxOperands> before = spec.operand;
  const Binding bound = binding;
  std::array<Ref, kMaxOperands> now{};
  spec.operand.fill(Operand{});
  for (u8 i = 0; i < count; i++) {
    now[order[i]] = i;
    spec.operand[i] = before[order[i]];
    binding.operand[i] = bound.operand[order[i]];
  }
  spec.operand_count = count;
  for (int s = 0; s < spec.stage_count; s++) {
    Stage& stage = spec.stage[s];
    for (Ref& in : stage.in)
      if (is_operand(in)) in = now[in];
    if (is_operand(stage.out)) stage.out = now[stage.out];
  }
}

}  // namespace

Gathered gathered(const Spec& spec, int stage) {
  Gathered part{spec, identity_binding()};
  Spec& one = part.spec;
  if (const u8 dim = gathered_dim(spec.stage[stage]); dim != kNoDim) {
    one.size[dim] = 1;
    become_part(spec, one, &part.binding);
  }
  Stage& copy = one.stage[stage];
  assert(copy.op == Op::kGather);
  const Ref from = copy.in[0];
  if (copy.out != kNoRef) {
    copy.op = Op::kCopy;
    copy.in[1] = kNoRef;
    if (!is_read(one, value_of(stage)))
      copy.dtype = copied_in(one.operand[from].dtype, one.operand[copy.out].dtype);
  } else {
    for (int s = 0; s < one.stage_count; s++)
      for (Ref& in : one.stage[s].in)
        if (in == value_of(stage)) in = from;
    drop_stage(one, stage);
  }
  number_inputs(one, part.binding);
  assert_canonical(one);
  return part;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "cost/map_registers.hh"

#include <bit>

#include "spec/roles.hh"
#include "support/number.hh"

namespace morello {
namespace {

/// An output in registers holds the values of all stages, unless a later stage still reads it. In
/// memory, a copied register and a constant are stored from where they are.
bool needs_value(const Spec& spec) {
  if (spec.out().level == Level::kRegister) {
    for (int s = 1; s < spec.stage_count; s++)
      for (Ref in : spec.stage[s].in)
        if (in == spec.out_index()) return true;
    return false;
  }
  if (!is_single(spec)) return true;
  const Stage& first = head_of(spec);
  return first.op != Op::kFill &&
         !(first.op == Op::kCopy && spec.operand[first.in[0]].level == Level::kRegister);
}

}  // namespace

u32 MapRegisters::count() const {
  return static_cast<u32>(value + other + spare + mask + std::popcount(constants));
}

float fill_value_of(const Spec& spec) {
  return static_cast<float>(number_of_bits(computed_dtype(spec), spec.fill_bits));
}

std::optional<float> constant_of(Op op, float fill_value) {
  switch (op) {
    case Op::kFill:
      return fill_value;
    case Op::kRelu:
      return 0.0f;
    case Op::kNeg:
      return -0.0f;
    case Op::kAbs:
      return std::bit_cast<float>(0x7fffffffu);
    case Op::kRecip:
      return 1.0f;
    default:
      return std::nullopt;
  }
}

MapRegisters map_registers(const Spec& spec, const Target& target, bool scalar) {
  u32 lanes = computed_lanes(spec, target);
  u8 v = scalar ? kNoDim : unit_dim(spec.out());
  u32 tail = v == kNoDim ? 1 : spec.size[v] % lanes;
  bool whole = tail == 0 || (tail >= 4 && std::has_single_bit(tail));
  bool out_in_registers = spec.out().level == Level::kRegister;
  auto in_memory = [&](Ref input) {
    return is_operand(input) && spec.operand[input].level != Level::kRegister;
  };
  auto along_v = [&](Ref input) { return v != kNoDim && has_dim(spec.operand[input].dims, v); };

  MapRegisters r;
  if (scalar && (out_in_registers || register_input(spec) >= 0)) {
    r.other = true;  // four elements on their way between a tile and memory
    return r;
  }
  r.value = needs_value(spec);
  bool loads = false;
  for (int s = 0; s < spec.stage_count; s++) {
    Stage stage = spec.stage[s];
    if (accumulates(spec, stage)) {
      stage.in[1] = stage.in[0];
      stage.in[0] = static_cast<Ref>(spec.out_index());
    }
    bool direct_fill = stage.op == Op::kFill && out_in_registers && is_single(spec);
    if (constant_of(stage.op, fill_value_of(spec)) && !direct_fill)
      r.constants = static_cast<u8>(r.constants | 1u << s);
    if (is_binary(stage.op) && stage.in[1] != kNoRef) {
      if (in_memory(stage.in[1]) && !(along_v(stage.in[1]) && whole)) r.other = true;
      if (in_memory(stage.in[0]) && !in_memory(stage.in[1])) r.spare = true;
    }
    for (Ref input : stage.in)
      if (in_memory(input) && along_v(input)) loads = true;
  }
  if (!target.has_masks && tail > 2 && !whole) {
    r.mask = loads;
    if (!out_in_registers && tail > 4) r.spare = true;
  }
  return r;
}

}  // namespace morello

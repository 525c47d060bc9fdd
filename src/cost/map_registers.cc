// SPDX-License-Identifier: MIT
#include "cost/map_registers.hh"

#include <bit>

namespace morello {
namespace {

/// An output in registers holds the values of all stages, unless a later stage still reads it. In
/// memory, a copied register and a constant are stored from where they are.
bool needs_value(const Spec& spec) {
  const Stage& first = spec.stage[0];
  if (spec.out().level == Level::kRegister) {
    for (int s = 1; s < spec.stage_count; s++)
      if (spec.stage[s].in0 == spec.out_index() || spec.stage[s].in1 == spec.out_index())
        return true;
    return false;
  }
  if (spec.stage_count > 1) return true;
  return first.op != Op::kFill &&
         !(first.op == Op::kCopy && spec.operand[first.in0].level == Level::kRegister);
}

}  // namespace

u32 MapRegisters::count() const {
  return static_cast<u32>(value + other + spare + mask + std::popcount(constants));
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
  u32 lanes = target.lanes(size_of(spec.out().dtype));
  u8 v = scalar ? kNoDim : unit_dim(spec.out());
  u32 tail = v == kNoDim ? 1 : spec.size[v] % lanes;
  bool whole = tail == 0 || (tail >= 4 && std::has_single_bit(tail));
  bool out_in_registers = spec.out().level == Level::kRegister;
  auto in_memory = [&](i8 input) {
    return input >= 0 && spec.operand[input].level != Level::kRegister;
  };
  auto along_v = [&](i8 input) { return v != kNoDim && has_dim(spec.operand[input].dims, v); };

  MapRegisters r;
  if (scalar &&
      (out_in_registers || (spec.operand_count > 1 && spec.operand[0].level == Level::kRegister))) {
    r.other = true;  // four elements on their way between a tile and memory
    return r;
  }
  r.value = needs_value(spec);
  bool loads = false;
  for (int s = 0; s < spec.stage_count; s++) {
    Stage stage = spec.stage[s];
    if (is_binary(stage.op) && stage.in1 == kNone && spec.out().access == Access::kInOut) {
      stage.in1 = stage.in0;
      stage.in0 = static_cast<i8>(spec.out_index());
    }
    bool direct_fill = stage.op == Op::kFill && out_in_registers && spec.stage_count == 1;
    if (constant_of(stage.op, spec.fill_value) && !direct_fill)
      r.constants = static_cast<u8>(r.constants | 1u << s);
    if (is_binary(stage.op) && stage.in1 != kNone) {
      if (in_memory(stage.in1) && !(along_v(stage.in1) && whole)) r.other = true;
      if (in_memory(stage.in0) && !in_memory(stage.in1)) r.spare = true;
    }
    for (i8 input : {stage.in0, stage.in1})
      if (in_memory(input) && along_v(input)) loads = true;
  }
  if (!target.has_masks && tail > 2 && !whole) {
    r.mask = loads;
    if (!out_in_registers && tail > 4) r.spare = true;
  }
  return r;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "cost/held.hh"

#include <algorithm>

#include "support/number.hh"

namespace morello {

bool is_convertible(const Spec& spec) {
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    if (is_narrow_float(stage.dtype) ? stage.op != Op::kCopy : size_of(stage.dtype) != 4)
      return false;
    if (!is_operand(stage.out)) continue;
    const Operand& out = spec.operand[stage.out];
    if (out.level == Level::kRegister && out.dtype != computed_in(stage.dtype)) return false;
    // To round to f32 first would be to round twice.
    if (stage.dtype == Dtype::kI32 && is_narrow_float(out.dtype)) return false;
  }
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister && size_of(spec.operand[o].dtype) != 4)
      return false;
  return true;
}

namespace {

bool is_fill(const Spec& spec) { return head_of(spec).op == Op::kFill; }

}  // namespace

bool moves_narrow(const Spec& spec) {
  const Operand& out = spec.out();
  if (!is_single(spec) || size_of(out.dtype) >= 4 || out.level == Level::kRegister ||
      out.access != Access::kOut || rounds_lanes(spec, head_of(spec)))
    return false;
  if (is_fill(spec)) return spec.operand_count == 1;
  if (head_of(spec).op != Op::kCopy || spec.operand_count != 2) return false;
  const Operand& in = spec.operand[source_of(spec)];
  return in.dtype == out.dtype && in.level != Level::kRegister &&
         held_in(spec, head_of(spec)) == out.dtype;
}

u32 moved_lanes(const Spec& spec, const Target& target) {
  if (!moves_narrow(spec)) return computed_lanes(spec, target);
  const Operand& out = spec.out();
  return target.lanes(size_of(out.dtype));
}

bool moves_rows(const Spec& spec) {
  if (!moves_narrow(spec)) return false;
  const u8 v = unit_dim(spec.out());
  if (v == kNoDim || spec.size[v] * u64{size_of(spec.out().dtype)} < 4) return false;
  return is_fill(spec) || unit_dim(spec.operand[source_of(spec)]) == v;
}

Spec move_of_lanes(const Spec& spec) {
  Spec lanes = spec;
  const u8 v = unit_dim(spec.out());
  const u32 bytes = size_of(spec.out().dtype);
  lanes.size[v] = spec.size[v] * bytes / 4;
  for (int o = 0; o < lanes.operand_count; o++) lanes.operand[o].dtype = Dtype::kI32;
  for (int s = 0; s < lanes.stage_count; s++) {
    Stage& stage = lanes.stage[s];
    if (stage.op == Op::kFill) {
      const double number = number_of_bits(computed_in(stage.dtype), stage.constant);
      const u32 element = bits_of_number(spec.out().dtype, number);
      stage.constant = element * (bytes == 1 ? 0x01010101u : 0x00010001u);
    }
    stage.dtype = Dtype::kI32;
  }
  return lanes;
}

u32 narrowing_registers(Dtype to, Dtype held, const Target& t) {
  if (is_plain(to, held)) return 0;
  const bool rounds = to != held && held == Dtype::kF32 && to != Dtype::kF16;
  return rounds && !t.has_masks ? 2 : 1;
}

namespace {

/// Measured in cycles for 8 lanes, AVX2, on Zen 5: f16 2, i8 and u8 2.5, i32 1.6; on Zen 4: bf16 2.
/// There, for 16 lanes of bf16, AVX-512: 3, natively 1.8.
i64 rounding_units(Dtype to, Dtype held, const Target& t) {
  if (to == held) return t.prices.widen;
  return to == Dtype::kBf16 ? t.prices.narrow_bf16 : t.prices.narrow;
}

}  // namespace

// On Zen 4, of 8 lanes or 16: bf16 0.3 cycles, or 0.7 and 1 without an order.
i64 widening_units(Dtype from, Dtype held, const Target& t) {
  return from == Dtype::kBf16 && held == Dtype::kF32 ? t.prices.widen_bf16 : t.prices.widen;
}

namespace {

/// Does a diagonal, or what the stage does, let copies leave its elements as they are?
bool may_leave(const Spec& spec, const Stage& stage) {
  return stage.op == Op::kMulAdd || stage.op == Op::kCopy || stage.op == Op::kFill ||
         spec.diagonal.used();
}

/// Copies of what has windows may be wider.
bool is_converted(const Spec& spec, Ref ref, Dtype held) {
  return is_operand(ref) && spec.operand[ref].level != Level::kRegister &&
         spec.operand[ref].windows == 0 && !is_plain(spec.operand[ref].dtype, held);
}

}  // namespace

i64 least_rounding(const Spec& spec, const Stage& stage, const Target& t) {
  const Dtype held = held_in(spec, stage);
  if (may_leave(spec, stage) || stage.reduce != 0 || !is_converted(spec, stage.out, held)) return 0;
  const Dtype to = spec.operand[stage.out].dtype;
  // Integers of a register tile become floats beside the store, for nothing.
  if (is_integer(held) && to == Dtype::kF32) return 0;
  return rounding_units(to, held, t);
}

i64 least_conversion(const Spec& spec, const Stage& stage, const Target& t) {
  if (may_leave(spec, stage)) return 0;
  const Dtype held = held_in(spec, stage);
  const auto is_factor = [&](Ref ref) {
    return std::any_of(
        spec.stage.begin(), spec.stage.begin() + spec.stage_count, [&](const Stage& other) {
          return other.op == Op::kMulAdd && (other.in[0] == ref || other.in[1] == ref);
        });
  };
  i64 units = least_rounding(spec, stage, t);
  for (Ref in : stage.in)
    if (is_converted(spec, in, held) && !is_factor(in))
      units += widening_units(spec.operand[in].dtype, held, t);
  return units;
}

i64 conversion_units(const Spec& spec, const Target& t) {
  i64 units = 0;
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    const Dtype held = held_in(spec, stage);
    auto add = [&](Ref ref, i64 price) {
      if (!is_operand(ref) || spec.operand[ref].level == Level::kRegister) return;
      if (!is_plain(spec.operand[ref].dtype, held)) units += price;
    };
    for (Ref in : stage.in)
      if (is_operand(in)) add(in, widening_units(spec.operand[in].dtype, held, t));
    if (is_operand(stage.out))
      add(stage.out, rounding_units(spec.operand[stage.out].dtype, held, t));
    // To 16 bits, and back.
    if (rounds_lanes(spec, stage))
      units +=
          rounding_units(stage.dtype, Dtype::kF32, t) + widening_units(stage.dtype, Dtype::kF32, t);
    if (accumulates(spec, stage))
      add(stage.out, widening_units(spec.operand[stage.out].dtype, held, t));
  }
  return units;
}

}  // namespace morello

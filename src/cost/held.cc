// SPDX-License-Identifier: MIT
#include "cost/held.hh"

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

bool moves_narrow(const Spec& spec) {
  if (!is_single(spec) || head_of(spec).op != Op::kCopy || spec.operand_count != 2) return false;
  const Operand &in = spec.operand[source_of(spec)], &out = spec.out();
  return in.dtype == out.dtype && size_of(out.dtype) < 4 && in.level != Level::kRegister &&
         out.level != Level::kRegister && !rounds_lanes(spec, head_of(spec)) &&
         held_in(spec, head_of(spec)) == out.dtype && out.access == Access::kOut;
}

bool moves_rows(const Spec& spec) {
  if (!moves_narrow(spec)) return false;
  const Operand& in = spec.operand[source_of(spec)];
  const u8 v = unit_dim(spec.out());
  return v != kNoDim && unit_dim(in) == v && spec.size[v] * u64{size_of(in.dtype)} >= 4;
}

Spec copy_of_lanes(const Spec& spec) {
  Spec lanes = spec;
  const u8 v = unit_dim(spec.out());
  lanes.size[v] = spec.size[v] * size_of(spec.out().dtype) / 4;
  for (int o = 0; o < 2; o++) lanes.operand[o].dtype = Dtype::kI32;
  for (int s = 0; s < lanes.stage_count; s++) lanes.stage[s].dtype = Dtype::kI32;
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

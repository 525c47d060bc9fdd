// SPDX-License-Identifier: MIT
#include "cost/map_registers.hh"

#include <algorithm>
#include <bit>

#include "cost/held.hh"
#include "cost/recipe.hh"

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
  if (rounds_lanes(spec, first)) return true;
  if (first.op != Op::kCopy) return first.op != Op::kFill;
  const Operand& from = spec.operand[first.in[0]];
  return from.level != Level::kRegister || from.dtype != held_in(spec, first);
}

/// Is its value where that of another stage is?
bool is_alias(const Stage& stage) {
  const bool rounds = stage.op == Op::kFloor || stage.op == Op::kCeil || stage.op == Op::kRound;
  return stage.op == Op::kCopy || (rounds && is_integer(stage.dtype));
}

}  // namespace

bool is_web(const Spec& spec) {
  if (is_single(spec) || is_chain(spec)) return false;
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    const Ref out = s + 1 < spec.stage_count ? kNoRef : static_cast<Ref>(spec.out_index());
    if (is_reduction(stage) || is_alias(stage) || stage.reduce != 0 || stage.out != out ||
        stage.op == Op::kGather || computed_in(stage.dtype) != computed_dtype(spec))
      return false;
    if (is_unary(stage.op) && recipe_of(stage.op, stage.dtype)) return false;
  }
  return register_operand(spec) < 0;
}

ValueRegisters value_registers(const Spec& spec) {
  ValueRegisters r;
  if (is_chain(spec)) return r;
  std::array<int, kMaxStages> last{};  // stage that reads the value
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (is_value(in)) last[static_cast<size_t>(stage_of(in))] = s;
  std::array<int, kMaxStages> holds{};  // of each register: the last stage that needs it
  for (int s = 0; s < spec.stage_count; s++) {
    u8 free = 0;
    while (free < r.count && holds[free] > s) free++;
    r.count = std::max<u8>(r.count, static_cast<u8>(free + 1));
    r.of[static_cast<size_t>(s)] = free;
    holds[free] = last[static_cast<size_t>(s)];
  }
  return r;
}

u32 MapRegisters::count() const {
  return static_cast<u32>(value + other + spare + narrow + mask + widening + narrowing +
                          temporaries + std::popcount(constants));
}

std::optional<u32> lanes_constant(const Stage& stage) {
  if (stage.op == Op::kFill || reads_constant(stage)) return stage.constant;
  const bool integers = is_integer(stage.dtype);
  switch (stage.op) {
    case Op::kRelu:
      return 0;
    case Op::kNeg:  // what it is subtracted from; the sign
      return integers ? 0 : 0x80000000;
    case Op::kAbs:
      if (integers) return std::nullopt;
      return 0x7fffffff;
    case Op::kRecip:
      return std::bit_cast<u32>(1.0f);
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
  auto is_fetched = [&](Ref input, Dtype held) {
    return in_memory(input) || (is_operand(input) && spec.operand[input].dtype != held);
  };
  auto along_v = [&](Ref input) { return v != kNoDim && has_dim(spec.operand[input].dims, v); };
  auto folds = [&](Ref input, Dtype held) {
    return in_memory(input) && along_v(input) && whole && is_plain(spec.operand[input].dtype, held);
  };
  const Dtype last = held_in(spec, spec.stage[spec.stage_count - 1]);
  auto narrowing = [&] {
    return static_cast<u8>(narrowing_registers(spec.out().dtype, last, target));
  };

  MapRegisters r;
  if (scalar && (out_in_registers || register_input(spec) >= 0)) {
    r.other = true;  // four elements on their way between a tile and memory
    if (!out_in_registers) r.narrow = narrowing();
    return r;
  }
  if (needs_value(spec)) r.value = value_registers(spec).count;
  if (!out_in_registers) r.narrow = narrowing();
  bool loads = false;
  for (int s = 0; s < spec.stage_count; s++) {
    Stage stage = spec.stage[s];
    if (accumulates(spec, stage)) {
      stage.in[1] = stage.in[0];
      stage.in[0] = static_cast<Ref>(spec.out_index());
    }
    bool direct_fill = stage.op == Op::kFill && out_in_registers && is_single(spec);
    if (lanes_constant(stage) && !direct_fill)
      r.constants = static_cast<u16>(r.constants | 1u << s);
    const Dtype held = held_in(spec, stage);
    if (rounds_lanes(spec, stage)) {
      const u32 rounding = narrowing_registers(stage.dtype, held, target);
      r.narrow = static_cast<u8>(std::max(u32{r.narrow}, rounding));
    }
    const bool combines = is_binary(stage.op) && stage.in[1] != kNoRef;
    const bool takes_all = combines || is_unary(stage.op) || is_ternary(stage.op);
    const Recipe* recipe = takes_all ? recipe_of(stage.op, held) : nullptr;
    if (recipe) r.temporaries = std::max(r.temporaries, recipe->temporaries_on(target));
    if (is_ternary(stage.op)) {  // the third of them has the value's
      const auto fetched = std::count_if(stage.in.begin(), stage.in.end(),
                                         [&](Ref input) { return is_fetched(input, held); });
      r.other |= fetched > 0;
      r.spare |= fetched > 1;
    }
    if (combines) {
      const bool second = is_fetched(stage.in[1], held);
      if (second && (recipe || !folds(stage.in[1], held))) r.other = true;
      if (is_fetched(stage.in[0], held) && !second) r.spare = true;
    }
    for (Ref input : stage.in)
      if (in_memory(input) && along_v(input) && size_of(spec.operand[input].dtype) == 4)
        loads = true;
  }
  r.pairs = !scalar && register_operand(spec) < 0 && r.value > 0 &&
            spec.out().dtype == Dtype::kBf16 && last == Dtype::kF32;
  // Functions without mask registers have none to spare, and tiles are straight code.
  if (!scalar && register_operand(spec) < 0 && (target.has_masks || r.temporaries == 0)) {
    r.narrowing = narrows_by_order(spec.out().dtype, last, target);
    for (int s = 0; s < spec.stage_count; s++) {
      const Stage& stage = spec.stage[s];
      auto widens = [&](Ref input) {
        return in_memory(input) && along_v(input) &&
               widens_by_order(spec.operand[input].dtype, held_in(spec, stage), target);
      };
      r.widening |= std::any_of(stage.in.begin(), stage.in.end(), widens) ||
                    (accumulates(spec, stage) && widens(stage.out));
    }
  }
  if (!target.has_masks && tail > 2 && !whole) {
    r.mask = loads;
    if (!out_in_registers && tail > 4 && r.narrow == 0) r.spare = true;
  }
  return r;
}

}  // namespace morello

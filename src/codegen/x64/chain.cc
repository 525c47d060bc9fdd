// SPDX-License-Identifier: MIT
#include "codegen/x64/chain.hh"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "cost/held.hh"

namespace morello::x64 {

Chain::Chain(Vectors& as, const PlanCall& call, bool scalar)
    : as_(as),
      call_(call),
      needs_(map_registers(call.spec, as.target(), scalar)),
      values_(value_registers(call.spec)) {
  u32 next = call.first_free;
  value_ = next;
  next += needs_.value;
  if (needs_.other) other_ = next++;
  if (needs_.spare) spare_ = next++;
  narrow_ = needs_.narrow ? next : spare_;
  next += needs_.narrow;
  if (needs_.mask) mask_ = next++;
  if (needs_.widening) widening_ = next++;
  if (needs_.narrowing) narrowing_ = next++;
  for (int s = 0; s < call.spec.stage_count; s++)
    if (needs_.constants >> s & 1) constant_[s] = next++;
  temporaries_ = next;
  shared_ = temporaries_ + needs_.temporaries;
}

bool Chain::waits() const {
  const Spec& spec = call_.spec;
  for (int s = 0; s < spec.stage_count; s++)
    if (is_unary(spec.stage[s].op) && recipe_of(spec.stage[s].op, held_in(spec, spec.stage[s])))
      return true;
  return false;
}

u32 Chain::side_by_side(u32 others) const {
  const u32 wanted = waits() ? kMostSideBySide : needs_.pairs ? 2 : 1;
  const u32 most = as_.target().vector_registers, used = shared_ + 1;
  if (wanted == 1 || used > most) return 1;
  return std::min(wanted, 1 + (most - used) / std::max(1u, own_registers() + others));
}

void Chain::prepare(u32 width, Lanes odd) {
  const Spec& spec = call_.spec;
  for (int s = 0; s < spec.stage_count; s++)
    if (needs_.constants >> s & 1) as_.fill(constant_[s], width, *lanes_constant(spec.stage[s]));
  if (needs_.widening) as_.ready_widening(widening_);
  if (needs_.narrowing) as_.ready_narrowing(narrowing_);
  if (odd.masked() && (as_.avx512() || needs_.mask)) as_.set_mask(odd.count, mask_);
}

void Chain::hold_constants(u32 free) {
  if (!as_.avx512()) return;
  for (int s = 0; s < call_.spec.stage_count; s++) {
    const Stage& stage = call_.spec.stage[s];
    if (!is_unary(stage.op)) continue;
    if (const Recipe* recipe = recipe_of(stage.op, held_in(call_.spec, stage)))
      free = held_constants_.load(as_, *recipe, free);
  }
}

std::optional<Dtype> Chain::read_as(int operand) const {
  std::optional<Dtype> all;
  for (int s = 0; s < call_.spec.stage_count; s++) {
    const Stage& stage = call_.spec.stage[s];
    const Dtype held = held_in(call_.spec, stage);
    for (Ref in : stage.in) {
      if (in != operand) continue;
      if (all && *all != held) return std::nullopt;
      all = held;
    }
  }
  return all;
}

u32 Chain::hold(const Sources& sources, u32 free) {
  holds_ = {};
  const Spec& spec = call_.spec;
  DimMask seconds = 0;  // operands
  bool is_other_free = needs_.other;
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    is_other_free &= !is_ternary(stage.op) && !accumulates(spec, stage);
    if (is_operand(stage.in[1])) seconds = static_cast<DimMask>(seconds | 1u << stage.in[1]);
  }
  is_other_free &= std::has_single_bit(static_cast<u32>(seconds));
  for (int o = 0; o < spec.out_index(); o++) {
    const auto at = static_cast<size_t>(o);
    const std::optional<Dtype> held = read_as(o);
    if (!held || sources[at].in_register || !sources[at].broadcast) continue;
    if (is_other_free && (seconds >> o & 1))
      holds_[at] = other_;
    else if (free < as_.target().vector_registers)
      holds_[at] = free++;
    else
      continue;
    as_.broadcast(*holds_[at], as_.lanes(), spec.operand[o].dtype, *held, sources[at].base,
                  sources[at].bytes);
  }
  return free;
}

void Chain::compute(Lanes l, std::span<const Sources> vectors) {
  lanes_ = l;
  vectors_ = vectors;
  const Spec& spec = call_.spec;
  for (int s = 0; s < spec.stage_count; s++) {
    const Dtype before = held_;
    held_ = held_in(spec, spec.stage[s]);
    for (vector_ = 0; s > 0 && before != held_ && vector_ < vectors.size(); vector_++) {
      as_.convert(value(s - 1), place(s - 1), l.width, before, held_);
      place(s - 1) = value(s - 1);
    }
    compute_stage(s);
  }
  store();
}

/// Stores the last stage's values, or leaves them where they belong.
void Chain::store() {
  const Spec& spec = call_.spec;
  const int last = spec.stage_count - 1;
  for (vector_ = 0; vector_ < vectors_.size(); vector_++) {
    const Source& out = sources()[spec.out_index()];
    const Lanes l = lanes_;
    if (is_pair(vector_)) {
      const u32 first = place(last);
      vector_++;
      as_.store_pair(first, place(last), out.base, out.bytes, narrow_);
    } else if (!out.in_register)
      as_.store(place(last), l, spec.out().dtype, held_, out.base, out.bytes, narrow_);
    else if (place(last) != out.index)
      as_.vmovaps(as_.vec(out.index, l.width), as_.vec(place(last), l.width));
  }
}

/// Are the results of vector `first` and the next one whole, side by side in memory, and each in a
/// register of its own?
bool Chain::is_pair(size_t first) const {
  if (!needs_.pairs || first + 1 == vectors_.size() || lanes_.count != as_.lanes()) return false;
  const auto out = static_cast<size_t>(call_.spec.out_index()),
             last = static_cast<size_t>(call_.spec.stage_count - 1);
  const Source &a = vectors_[first][out], &b = vectors_[first + 1][out];
  return a.base == b.base && b.bytes == a.bytes + i64{as_.lanes()} * size_of(Dtype::kBf16) &&
         place_[first][last] != place_[first + 1][last];
}

/// Where the value of a stage is made, of the vector at hand.
u32 Chain::value(int stage) const {
  const Source& out = sources()[call_.spec.out_index()];
  if (out.in_register && !needs_.value) return out.index;
  return (vector_ == 0 ? value_ : further()) + values_.of[static_cast<size_t>(stage)];
}

u32 Chain::temporaries() const { return vector_ == 0 ? temporaries_ : further() + needs_.value; }

void Chain::compute_stage(int index) {
  const Spec& spec = call_.spec;
  auto to = [&] {
    const Source& out = sources()[spec.out_index()];
    return out.in_register && index + 1 == spec.stage_count ? out.index : value(index);
  };
  const Stage& stage = spec.stage[index];
  const Recipe* recipe = is_unary(stage.op) ? recipe_of(stage.op, held_) : nullptr;
  std::array<RecipeRegisters, kMostSideBySide> registers;
  for (vector_ = 0; vector_ < vectors_.size(); vector_++) {
    if (recipe)
      registers[vector_] = {in_register(stage.in[0], to()), 0, 0, to(), temporaries()};
    else
      place(index) = this->stage(index, to());
  }
  if (rounds_lanes(spec, stage))  // a copy
    for (vector_ = 0; vector_ < vectors_.size(); vector_++) {
      as_.round_lanes(to(), place(index), lanes_.width, stage.dtype, narrow_);
      place(index) = to();
    }
  if (!recipe) return;
  emit_recipe(as_, *recipe, lanes_.width, {registers.data(), vectors_.size()}, shared_,
              held_constants_);
  for (vector_ = 0; vector_ < vectors_.size(); vector_++) place(index) = to();
}

/// Computes a stage, in register `to` if it has to be written anywhere; returns where it is.
u32 Chain::stage(int index, u32 to) {
  Stage stage = call_.spec.stage[index];
  own_ = constant_[index];
  // Of copies there may be no such register.
  const auto dest = [&] { return as_.vec(to, lanes_.width); };
  const auto constant = [&] {
    assert(needs_.constants >> index & 1);  // see lanes_constant()
    return as_.vec(constant_[index], lanes_.width);
  };
  const bool integers = held_ == Dtype::kI32;
  Ref &in0 = stage.in[0], &in1 = stage.in[1];
  if (is_binary(stage.op) && in1 == kNoRef) {  // a reduction of no dimension
    if (!accumulates(call_.spec, stage)) return in_register(in0, to);
    in1 = std::exchange(in0, static_cast<Ref>(call_.spec.out_index()));
  }
  if (stage.in[2] != kNoRef) return ternary(stage, to);
  if (const Recipe* recipe = recipe_of(stage.op, held_)) {
    // While the second input is in a register, that may be `to`.
    const u32 x = in_register(in0, in1 != kNoRef && needs_.spare && !is_fetched(in1) ? spare_ : to);
    const u32 y = in1 == kNoRef ? 0 : in_register(in1, other_);
    emit_recipe(as_, *recipe, lanes_.width,
                std::array{RecipeRegisters{x, y, 0, to, temporaries()}});
    return to;
  }
  switch (stage.op) {
    case Op::kFill:
      if (needs_.constants >> index & 1) return constant_[index];
      as_.fill(to, lanes_.width, stage.constant);
      return to;
    case Op::kCopy:
      return in_register(in0, to);
    case Op::kRelu:
      with_operand(in0, to,
                   [&](const auto& x) { as_.binary(Op::kFastMax, held_, dest(), constant(), x); });
      return to;
    case Op::kNeg:
      with_operand(in0, to, [&](const auto& x) {
        integers ? as_.vpsubd(dest(), constant(), x) : as_.vxorps(dest(), constant(), x);
      });
      return to;
    case Op::kAbs:
      with_operand(in0, to, [&](const auto& x) {
        integers ? as_.vpabsd(dest(), x) : as_.vandps(dest(), constant(), x);
      });
      return to;
    case Op::kSqrt:
      with_operand(in0, to, [&](const auto& x) { as_.vsqrtps(dest(), x); });
      return to;
    case Op::kRecip:
      with_operand(in0, to, [&](const auto& x) { as_.vdivps(dest(), constant(), x); });
      return to;
    case Op::kSquare: {
      const Assembler::Vec x = as_.vec(in_register(in0, to), lanes_.width);
      as_.binary(Op::kMul, held_, dest(), x, x);
      return to;
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMax:
    case Op::kMin:
    case Op::kFastMax:
    case Op::kFastMin: {
      // While the second input is in a register, that may be `to`.
      u32 first = needs_.spare && !is_fetched(in1) ? spare_ : to;
      const Assembler::Vec a = as_.vec(in_register(in0, first), lanes_.width);
      with_operand(in1, other_, [&](const auto& b) { as_.binary(stage.op, held_, dest(), a, b); });
      return to;
    }
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
      return in_register(in0, to);  // of integers
    case Op::kExp:
    case Op::kExp2:
    case Op::kDecay:
    case Op::kLog:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kErf:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kSilu:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kSelect:
    case Op::kMulAdd:
    case Op::kKeep:
    case Op::kGather:
      break;
  }
  throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // no elementwise operation
}

/// What is fetched has a register of its own each, for another input may be in `to`: but if all are
/// fetched, none is.
u32 Chain::ternary(const Stage& stage, u32 to) {
  const std::array<u32, kMaxInputs> own = {other_, spare_, to};
  std::array<u32, kMaxInputs> in{};
  size_t fetched = 0;
  for (size_t i = 0; i < kMaxInputs; i++)
    in[i] = in_register(stage.in[i], is_fetched(stage.in[i]) ? own[fetched++] : 0);
  emit_recipe(as_, *recipe_of(stage.op, held_), lanes_.width,
              std::array{RecipeRegisters{in[0], in[1], in[2], to, temporaries()}});
  return to;
}

/// Does an input come from memory, or from a register where it is in another element type?
bool Chain::is_fetched(Ref input) const {
  if (!is_operand(input)) return false;
  return !sources()[input].in_register || call_.spec.operand[input].dtype != held_;
}

bool Chain::is_row(Ref operand) const {
  const Spec& spec = call_.spec;
  return std::has_single_bit(u32{spec.operand[operand].dims}) &&
         spec.operand[operand].dims != spec.out().dims;
}

/// The register that holds an input: its own, or `to` after fetching it.
u32 Chain::in_register(Ref input, u32 to) {
  if (is_value(input)) return place(stage_of(input));
  if (input == kConstant) return own_;
  const Source& source = sources()[input];
  const Dtype from = call_.spec.operand[input].dtype;
  if (!is_fetched(input)) return source.index;
  if (const std::optional<u32>& held = holds_[input]) return *held;
  if (source.held) return *source.held;
  if (source.in_register)
    as_.convert(to, source.index, lanes_.width, from, held_);
  else if (source.broadcast && lanes_.width > 1)
    as_.broadcast(to, lanes_.width, from, held_, source.base, source.bytes);
  else if (is_row(input))  // memory may end where it does, each time that it is read
    as_.load_in_parts(to, lanes_, from, held_, source.base, source.bytes);
  else
    as_.load(to, lanes_, from, held_, source.base, source.bytes);
  return to;
}

template <class F>
void Chain::with_operand(Ref input, u32 to, F f) {
  if (is_operand(input)) {
    const Source& source = sources()[input];
    const Dtype from = call_.spec.operand[input].dtype;
    if (!source.in_register && !source.broadcast && !source.held && as_.folds(lanes_, from, held_))
      return f(as_.at(source.base, source.bytes));
  }
  f(as_.vec(in_register(input, to), lanes_.width));
}

}  // namespace morello::x64

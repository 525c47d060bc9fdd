// SPDX-License-Identifier: MIT
#include "codegen/x64/recipe.hh"

#include <algorithm>
#include <array>

namespace morello::x64 {
namespace {

using Vec = Assembler::Vec;

/// One of eight, in each eight lanes.
Xbyak::Address table(Vectors& as, const Recipe& recipe, u32 index) {
  std::vector<u32> lanes(as.lanes());
  for (size_t i = 0; i < lanes.size(); i++) lanes[i] = recipe.table[index][i % 8];
  return as.table_constant(lanes);
}

/// With mask registers.
void broadcast(Vectors& as, const Vec& to, const Recipe& recipe, LaneRef constant) {
  as.vbroadcastss(to, as.constant(recipe.constant[constant - kLaneConstant]));
}

class RecipeEmitter {
 public:
  RecipeEmitter(Vectors& as, const Recipe& recipe, u32 width,
                std::span<const RecipeRegisters> vectors, u32 shared, const HeldConstants& held)
      : as_(as), recipe_(recipe), width_(width), vectors_(vectors), shared_(shared), held_(held) {}

  void emit() {
    std::optional<Xbyak::Label> behind;  // what is rare
    const auto end_rare = [&] {
      if (behind) as_.L(*behind);
      behind.reset();
    };
    recipe_.for_each(as_.target(), [&](const LaneInstruction& in, bool is_rare) {
      if (!is_rare) end_rare();
      if (in.op == LaneOp::kUnlessAny) return skip_unless_any(in.a, behind.emplace());
      is_shared_ = vectors_.size() > 1 && share(in);
      for (vector_ = 0; vector_ < vectors_.size(); vector_++) emit(in);
    });
    end_rare();
  }

 private:
  void skip_unless_any(LaneRef lanes, Xbyak::Label& behind) {
    const size_t count = vectors_.size();
    const auto mask_of = [&](size_t vector) {
      vector_ = std::min(vector, count - 1);
      return mask();
    };
    const auto lanes_of = [&](size_t vector) {
      vector_ = vector;
      return vec(lanes);
    };
    if (as_.avx512()) {
      Xbyak::Label any;
      for (size_t i = 0; i < count; i += 2) {
        as_.kortestw(mask_of(i), mask_of(i + 1));
        i + 2 < count ? as_.jnz(any, Xbyak::CodeGenerator::T_NEAR)
                      : as_.jz(behind, Xbyak::CodeGenerator::T_NEAR);
      }
      return as_.L(any);
    }
    Vec all = lanes_of(0);
    for (size_t i = 1; i < count; i++) {
      const Vec more = lanes_of(i), both = as_.vec(shared_, width_);
      as_.vorps(both, all, more);
      all = both;
    }
    as_.vtestps(all, all);
    as_.jz(behind, Xbyak::CodeGenerator::T_NEAR);
  }
  /// Loads the constant of an instruction, if it has one that is not held, once for all vectors.
  bool share(const LaneInstruction& in) {
    if (in.op == LaneOp::kLookUp) {
      if (held_.find(recipe_, HeldConstants::table(in.extra))) return false;
      as_.vmovups(look_up_vec(shared_), table(as_, recipe_, in.extra));
      return true;
    }
    for (LaneRef ref : {in.a, in.b}) {
      if (ref < kLaneConstant) continue;
      if (held_.find(recipe_, ref)) return false;
      load(as_.vec(shared_, width_), ref);
      return true;
    }
    return false;
  }

  Xbyak::Address memory(LaneRef ref) {
    return as_.lanes_constant(recipe_.constant[ref - kLaneConstant]);
  }
  /// Where all vectors have the constant, if they do.
  std::optional<u32> common(LaneRef constant) const {
    if (const auto held = held_.find(recipe_, constant)) return held;
    return is_shared_ ? std::optional(shared_) : std::nullopt;
  }
  /// Calls f with the register or the memory of the constant.
  template <class F>
  void with(LaneRef ref, F f) {
    if (ref < kLaneConstant) return f(vec(ref));
    if (const auto in = common(ref)) return f(as_.vec(*in, width_));
    f(memory(ref));
  }

  Vec vec(LaneRef ref) {
    const RecipeRegisters& own = vectors_[vector_];
    const u32 index = ref == kInputX   ? own.x
                      : ref == kInputY ? own.y
                      : ref == kInputZ ? own.z
                      : ref == kResult ? own.result
                                       : own.temporaries + ref - kTemporary;
    return as_.vec(index, width_);
  }
  /// One that belongs to the vector; k1 is that of odd vectors.
  Xbyak::Opmask mask() const { return Xbyak::Opmask(2 + static_cast<int>(vector_)); }
  void emit(const LaneInstruction& in) {
    const bool mask_register =
        (in.op == LaneOp::kWhere || in.op == LaneOp::kWhereInteger) && as_.avx512();
    const Vec to = mask_register ? vec(kResult) : vec(in.to);
    switch (in.op) {
      case LaneOp::kCopy:
        return copy(to, in.a);
      case LaneOp::kSqrt:
        return with(in.a, [&](const auto& a) { as_.vsqrtps(to, a); });
      case LaneOp::kRound:
        return with(in.a, [&](const auto& a) {
          as_.avx512() ? as_.vrndscaleps(to, a, in.extra | 8) : as_.vroundps(to, a, in.extra | 8);
        });
      case LaneOp::kToInteger:
        return with(in.a, [&](const auto& a) { as_.vcvtps2dq(to, a); });
      case LaneOp::kFromInteger:
        return with(in.a, [&](const auto& a) { as_.vcvtdq2ps(to, a); });
      case LaneOp::kShiftLeft:
        return as_.vpslld(to, vec(in.a), in.extra);
      case LaneOp::kShiftRight:
        return as_.vpsrld(to, vec(in.a), in.extra);
      case LaneOp::kShiftRightSigned:
        return as_.vpsrad(to, vec(in.a), in.extra);
      case LaneOp::kLookUp:
        return look_up(in);
      default:
        return with(in.b, [&](const auto& b) { emit(in, to, vec(in.a), b); });
    }
  }

  /// Lanes are looked up in 8 at least, whatever is in those that nobody reads.
  Vec look_up_vec(u32 index) { return as_.vec(index, std::max(width_, 8u)); }
  void look_up(const LaneInstruction& in) {
    const RecipeRegisters& own = vectors_[vector_];
    auto index = [&](LaneRef ref) {
      return static_cast<int>(ref == kResult ? own.result : own.temporaries + ref - kTemporary);
    };
    auto emit = [&](const Xbyak::Ymm& to, const Xbyak::Ymm& at, const Xbyak::Operand& table) {
      as_.vpermps(to, at, table);
    };
    const auto held = held_.find(recipe_, HeldConstants::table(in.extra));
    const bool in_register = held || is_shared_;
    const Vec found = look_up_vec(in_register ? held.value_or(shared_) : own.result);
    const Xbyak::Address memory = table(as_, recipe_, in.extra);
    const Xbyak::Operand& from = in_register ? static_cast<const Xbyak::Operand&>(found) : memory;
    if (width_ > 8)
      emit(Xbyak::Zmm(index(in.to)), Xbyak::Zmm(index(in.a)), from);
    else
      emit(Xbyak::Ymm(index(in.to)), Xbyak::Ymm(index(in.a)), from);
  }

  void emit(const LaneInstruction& in, const Vec& to, const Vec& a, const Xbyak::Operand& b) {
    switch (in.op) {
      case LaneOp::kAdd:
        return as_.vaddps(to, a, b);
      case LaneOp::kSub:
        return as_.vsubps(to, a, b);
      case LaneOp::kMul:
        return as_.vmulps(to, a, b);
      case LaneOp::kDiv:
        return as_.vdivps(to, a, b);
      case LaneOp::kFma:
        return as_.vfmadd213ps(to, a, b);
      case LaneOp::kNegatedFma:
        return as_.vfnmadd213ps(to, a, b);
      case LaneOp::kFmaInto:
        return as_.vfmadd231ps(to, a, b);
      case LaneOp::kNegatedFmaInto:
        return as_.vfnmadd231ps(to, a, b);
      case LaneOp::kGreater:
        return as_.vmaxps(to, a, b);
      case LaneOp::kLess:
        return as_.vminps(to, a, b);
      case LaneOp::kAnd:
        return as_.vandps(to, a, b);
      case LaneOp::kOr:
        return as_.vorps(to, a, b);
      case LaneOp::kXor:
        return as_.vxorps(to, a, b);
      case LaneOp::kAddInteger:
        return as_.vpaddd(to, a, b);
      case LaneOp::kSubInteger:
        return as_.vpsubd(to, a, b);
      case LaneOp::kWhere:
        return as_.avx512() ? as_.vcmpps(mask(), a, b, in.extra) : as_.vcmpps(to, a, b, in.extra);
      case LaneOp::kWhereInteger:
        return where_integer(to, a, b, static_cast<Relation>(in.extra));
      case LaneOp::kSelect:
        return as_.avx512() ? as_.vblendmps(to | mask(), a, b)
                            : as_.vblendvps(to, a, b, vec(in.extra));
      case LaneOp::kScale:
        return as_.vscalefps(to, a, b);
      case LaneOp::kMost:
        return as_.vrangeps(to, a, b, 5);
      case LaneOp::kLeast:
        return as_.vrangeps(to, a, b, 4);
      case LaneOp::kNoLonger:
        return as_.vrangeps(to, a, b, 2);
      case LaneOp::kOrWhere:
        return as_.vorps(to | mask(), a, b);
      case LaneOp::kSubIntegerWhere:
        return as_.vpsubd(to | mask(), a, b);
      case LaneOp::kJoin:
        return as_.vpternlogd(to, a, b, 0xec);  // (to & b) | a
      default:
        throw Xbyak::Error(Xbyak::ERR_INTERNAL);
    }
  }

  void where_integer(const Vec& to, const Vec& a, const Xbyak::Operand& b, Relation relation) {
    if (relation == Relation::kEqual)
      as_.avx512() ? as_.vpcmpeqd(mask(), a, b) : as_.vpcmpeqd(to, a, b);
    else
      as_.avx512() ? as_.vpcmpgtd(mask(), a, b) : as_.vpcmpgtd(to, a, b);
  }

  void copy(const Vec& to, LaneRef from) {
    if (from < kLaneConstant) {
      if (vec(from).getIdx() != to.getIdx()) as_.vmovaps(to, vec(from));
    } else if (const auto in = common(from))
      as_.vmovaps(to, as_.vec(*in, width_));
    else
      load(to, from);
  }

  void load(const Vec& to, LaneRef from) {
    if (as_.avx512())
      broadcast(as_, to, recipe_, from);
    else
      as_.vmovaps(to, memory(from));
  }

  Vectors& as_;
  const Recipe& recipe_;
  u32 width_;
  std::span<const RecipeRegisters> vectors_;
  u32 shared_;
  const HeldConstants& held_;
  bool is_shared_ = false;
  size_t vector_ = 0;
};

}  // namespace

void emit_recipe(Vectors& as, const Recipe& recipe, u32 width,
                 std::span<const RecipeRegisters> vectors, u32 shared, const HeldConstants& held) {
  RecipeEmitter(as, recipe, width, vectors, shared, held).emit();
}

u32 HeldConstants::load(Vectors& as, const Recipe& recipe, u32 first) {
  const u32 end = as.target().vector_registers;
  auto hold = [&](u32 what, auto load) {
    if (first >= end || find(recipe, what)) return;
    load(as.full(first));
    held_.push_back({&recipe, what, first++});
  };
  recipe.for_each(as.target(), [&](const LaneInstruction& in, bool is_rare) {
    if (is_rare) return;
    if (in.op == LaneOp::kLookUp)
      hold(table(in.extra),
           [&](const Vec& to) { as.vmovups(to, x64::table(as, recipe, in.extra)); });
    for (LaneRef ref : {in.a, in.b})
      if (ref >= kLaneConstant) hold(ref, [&](const Vec& to) { broadcast(as, to, recipe, ref); });
  });
  return first;
}

std::optional<u32> HeldConstants::find(const Recipe& recipe, u32 what) const {
  for (const Held& held : held_)
    if (held.recipe == &recipe && held.what == what) return held.index;
  return std::nullopt;
}

void emit_binary(Vectors& as, Op op, Dtype held, u32 width, u32 to, u32 a, u32 b, u32 temporaries) {
  if (const Recipe* recipe = recipe_of(op, held))
    emit_recipe(as, *recipe, width, std::array{RecipeRegisters{a, b, 0, to, temporaries}});
  else
    as.binary(op, held, as.vec(to, width), as.vec(a, width), as.vec(b, width));
}

namespace {

/// Calls combine(lanes left) for halves of a vector, the upper one of which is in `spare`.
template <class Combine>
void halve_to_quarter(Vectors& as, u32 index, u32 width, u32 spare, Combine combine) {
  if (width > 8) {
    as.vextractf32x8(as.vec(spare, 8), Xbyak::Zmm(static_cast<int>(index)), 1);
    combine(8);
  }
  if (width > 4) {
    if (index < 16 && spare < 16)
      as.vextractf128(as.vec(spare, 4), Xbyak::Ymm(static_cast<int>(index)), 1);
    else
      as.vextractf32x4(as.vec(spare, 4), Xbyak::Ymm(static_cast<int>(index)), 1);
    combine(4);
  }
}

}  // namespace

void emit_reduced_lanes(Vectors& as, Op op, Dtype held, u32 index, u32 width, u32 spare,
                        u32 temporaries) {
  auto combine = [&](u32 left) {
    emit_binary(as, op, held, left, index, index, spare, temporaries);
  };
  halve_to_quarter(as, index, width, spare, combine);
  const Vec v = as.vec(index, 4), s = as.vec(spare, 4);
  if (width > 2) {
    as.vmovhlps(s, v, v);
    combine(4);
  }
  if (width > 1) {
    as.vmovshdup(s, v);
    combine(4);
  }
}

void emit_added_quarters(Vectors& as, Dtype held, u32 index, u32 width, u32 spare) {
  halve_to_quarter(as, index, width, spare, [&](u32 left) {
    as.binary(Op::kAdd, held, as.vec(index, left), as.vec(index, left), as.vec(spare, left));
  });
}

}  // namespace morello::x64

// SPDX-License-Identifier: MIT
// What recipes are written with.
#ifndef MORELLO_COST_RECIPE_CODE_HH
#define MORELLO_COST_RECIPE_CODE_HH

#include <bit>

#include "cost/recipe.hh"

namespace morello {

/// Appends instructions to a recipe, all at compile time: what does not fit does not compile.
class RecipeCode {
 public:
  /// A register of the recipe, or a constant.
  struct Lanes {
    LaneRef ref;
  };
  static constexpr Lanes x{kInputX}, y{kInputY}, z{kInputZ}, out{kResult};

  /// Temporary `i`, from 0 on.
  constexpr Lanes t(int i) {
    if (i >= recipe_.temporaries) recipe_.temporaries = static_cast<u8>(i + 1);
    return {static_cast<LaneRef>(kTemporary + i)};
  }
  constexpr Lanes bits(u32 value) {
    int i = 0;
    while (i < recipe_.constants && recipe_.constant[i] != value) i++;
    if (i == recipe_.constants) recipe_.constant[recipe_.constants++] = value;
    return {static_cast<LaneRef>(kLaneConstant + i)};
  }
  constexpr Lanes number(float value) { return bits(std::bit_cast<u32>(value)); }

  constexpr void add(LaneOp op, Lanes to, Lanes a, Lanes b = {0}, u8 extra = 0) {
    recipe_.code[recipe_.length++] = {op, to.ref, a.ref, b.ref, extra, needs_};
  }
  /// What follows is for these targets.
  constexpr void on(Needs needs) { needs_ = needs; }
  constexpr void round(Lanes to, Lanes a, Rounding way) {
    add(LaneOp::kRound, to, a, {0}, static_cast<u8>(way));
  }
  constexpr void where(Lanes mask, Lanes a, Relation relation, Lanes b) {
    add(LaneOp::kWhere, mask, a, b, static_cast<u8>(relation));
  }
  constexpr void where_integer(Lanes mask, Lanes a, Relation relation, Lanes b) {
    add(LaneOp::kWhereInteger, mask, a, b, static_cast<u8>(relation));
  }
  constexpr void select(Lanes to, Lanes mask, Lanes if_not, Lanes if_so) {
    add(LaneOp::kSelect, to, if_not, if_so, mask.ref);
  }
  constexpr void shift(LaneOp op, Lanes to, Lanes a, int count) {
    add(op, to, a, {0}, static_cast<u8>(count));
  }
  constexpr void look_up(Lanes to, Lanes a, const std::array<u32, 8>& table) {
    recipe_.table[recipe_.tables] = table;
    add(LaneOp::kLookUp, to, a, {0}, recipe_.tables++);
  }
  /// What `body` appends, for lanes where the mask is set: it runs for all lanes of all vectors if
  /// any of them is, and for none otherwise, so that of the others nothing may change but what
  /// nobody reads. It may overwrite the mask.
  template <class F>
  constexpr void rare(Lanes mask, F body) {
    const int at = recipe_.length;
    add(LaneOp::kUnlessAny, mask, mask);
    body();
    recipe_.code[at].extra = static_cast<u8>(recipe_.length - at - 1);
  }
  /// to = ((c[0] * at + c[1]) * at + ...)
  template <size_t n>
  constexpr void polynomial(Lanes to, Lanes at, const float (&c)[n]) {
    add(LaneOp::kCopy, to, number(c[0]));
    for (size_t i = 1; i < n; i++) add(LaneOp::kFma, to, at, number(c[i]));
  }
  /// to = v, which is not negative, with the sign of `other`; spare is overwritten.
  constexpr void sign_of(Lanes to, Lanes v, Lanes other, Lanes spare) {
    constexpr u32 kSign = 0x80000000;
    on(Needs::kMaskRegisters);
    add(LaneOp::kCopy, to, other);
    add(LaneOp::kJoin, to, v, bits(kSign));
    on(Needs::kNoMaskRegisters);
    add(LaneOp::kAnd, spare, other, bits(kSign));
    add(LaneOp::kOr, to, v, spare);
    on(Needs::kNothing);
  }
  constexpr Recipe recipe() const {
    Recipe r = recipe_;
    for (int i = 0; i < r.length; i++) {
      const LaneInstruction& in = r.code[i];
      if (in.needs == Needs::kMaskRegisters) continue;
      for (LaneRef ref : {in.to, in.a, in.b, in.op == LaneOp::kSelect ? in.extra : kInputX})
        if (ref >= kTemporary && ref < kLaneConstant &&
            ref - kTemporary >= r.temporaries_without_masks)
          r.temporaries_without_masks = static_cast<u8>(ref - kTemporary + 1);
    }
    return r;
  }

 private:
  Recipe recipe_;
  Needs needs_ = Needs::kNothing;
};

}  // namespace morello

#endif

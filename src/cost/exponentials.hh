// SPDX-License-Identifier: MIT
// The recipes of exp and exp2.
#ifndef MORELLO_COST_EXPONENTIALS_HH
#define MORELLO_COST_EXPONENTIALS_HH

#include "cost/recipe_code.hh"

namespace morello {

constexpr float kLog2e = 0x1.715476p+0f;                           // log2(e)
constexpr float kLn2 = 0x1.62e43p-1f, kLn2Rest = -0x1.05c61p-29f;  // their sum is ln(2)

/// to = v, but not outside of the bounds.
constexpr void clamp(RecipeCode& c, RecipeCode::Lanes to, RecipeCode::Lanes v,
                     RecipeCode::Lanes spare, RecipeCode::Lanes other, float least, float most) {
  c.add(LaneOp::kCopy, spare, c.number(most));
  c.add(LaneOp::kLess, spare, spare, v);
  c.add(LaneOp::kCopy, other, c.number(least));
  c.add(LaneOp::kGreater, to, other, spare);
}

/// v -= n * times * ln(2)
constexpr void subtract_ln2(RecipeCode& c, RecipeCode::Lanes v, RecipeCode::Lanes n, float times) {
  c.add(LaneOp::kNegatedFmaInto, v, n, c.number(times * kLn2));
  c.add(LaneOp::kNegatedFmaInto, v, n, c.number(times * kLn2Rest));
}

/// Added to a number of small magnitude, it leaves its nearest eighth in the last digits, the last
/// three of which are its fraction, and above these 254 more than its integer: the sum of what the
/// exponents of two powers have more.
constexpr float kNearestEighth = 0x1.8p20f + 254;

/// 2^(i / 8), of which none is further off than 0.34 units of its last place.
constexpr std::array<float, 8> kEighths = {1.0f,           0x1.172b84p+0f, 0x1.306fep+0f,
                                           0x1.4bfdaep+0f, 0x1.6a09e6p+0f, 0x1.8ace54p+0f,
                                           0x1.ae89fap+0f, 0x1.d5818ep+0f};

/// to = 2^(n / 8) (1 + r (c1 + r (c2 + c3 r))), of n / 8 from -151 to 129, which `eighths` is and
/// `nearest` has in its last digits. Without an instruction that scales, in two steps, by 2^half
/// and 2^(n / 8 - half), half being about n / 16: so powers are neither denormal nor infinite, and
/// a result is rounded by the second step only if it is denormal. r may be `to`; all are
/// overwritten.
constexpr void scaled_power(RecipeCode& c, RecipeCode::Lanes to, RecipeCode::Lanes r,
                            RecipeCode::Lanes eighths, RecipeCode::Lanes nearest,
                            RecipeCode::Lanes spare, const std::array<float, 3>& factors) {
  auto power = [&](RecipeCode::Lanes p) {
    c.polynomial(p, r, {factors[2], factors[1], factors[0]});
    c.add(LaneOp::kMul, r, r, spare);
    c.add(LaneOp::kFma, r, p, spare);
  };
  c.look_up(spare, nearest, kEighths);
  c.on(Needs::kMaskRegisters);
  power(nearest);
  c.add(LaneOp::kScale, to, r, eighths);
  c.on(Needs::kNoMaskRegisters);
  c.shift(LaneOp::kShiftLeft, nearest, nearest, 19);
  c.add(LaneOp::kAnd, eighths, nearest, c.bits(0xff800000));  // 2^half
  c.add(LaneOp::kAddInteger, nearest, nearest, nearest);
  c.add(LaneOp::kAnd, nearest, nearest, c.bits(0xff800000));
  c.add(LaneOp::kSubInteger, nearest, nearest, eighths);
  c.add(LaneOp::kMul, spare, spare, eighths);
  power(eighths);
  c.add(LaneOp::kMul, to, r, nearest);
  c.on(Needs::kNothing);
}

/// With n / 8 the eighth nearest to v / ln(2), and r what is left, e^v = 2^(n / 8) e^r. Most of the
/// time multiplications, of which there are few so, and registers are few enough for several
/// vectors at once.
constexpr Recipe exp_recipe() {
  RecipeCode c;
  const auto r = c.out, eighths = c.t(0), nearest = c.t(1), spare = c.t(2);
  clamp(c, r, c.x, eighths, nearest, -104, 89);
  c.add(LaneOp::kCopy, nearest, c.number(kNearestEighth));
  c.add(LaneOp::kFmaInto, nearest, r, c.number(kLog2e));
  c.add(LaneOp::kSub, eighths, nearest, c.number(kNearestEighth));
  subtract_ln2(c, r, eighths, 1);
  scaled_power(c, c.out, r, eighths, nearest, spare, {1, 0x1.00087ep-1f, 0x1.555be4p-3f});
  return c.recipe();
}

/// As above, of 2^v.
constexpr Recipe exp2_recipe() {
  RecipeCode c;
  const auto r = c.out, eighths = c.t(0), nearest = c.t(1), spare = c.t(2);
  clamp(c, r, c.x, eighths, nearest, -150, 128);
  c.add(LaneOp::kAdd, nearest, r, c.number(kNearestEighth));
  c.add(LaneOp::kSub, eighths, nearest, c.number(kNearestEighth));
  c.add(LaneOp::kSub, r, r, eighths);
  scaled_power(c, c.out, r, eighths, nearest, spare,
               {0x1.62e43p-1f, 0x1.ec0c32p-3f, 0x1.c6b94ap-5f});
  return c.recipe();
}

}  // namespace morello

#endif

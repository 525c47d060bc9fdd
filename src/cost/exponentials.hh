// SPDX-License-Identifier: MIT
// The recipes of exp, exp2 and decay.
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
/// three of which are its fraction.
constexpr float kNearestEighth = 0x1.8p20f;

/// 2^(i / 8), of which none is further off than 0.34 units of its last place.
constexpr std::array<float, 8> kEighths = {1.0f,           0x1.172b84p+0f, 0x1.306fep+0f,
                                           0x1.4bfdaep+0f, 0x1.6a09e6p+0f, 0x1.8ace54p+0f,
                                           0x1.ae89fap+0f, 0x1.d5818ep+0f};
/// The bits of such numbers times a power of two, to which 8 n + i is added in the last digits of
/// an exponent.
constexpr std::array<u32, 8> to_shift(const std::array<float, 8>& eighths, u32 power) {
  std::array<u32, 8> bits{};
  for (u32 i = 0; i < bits.size(); i++)
    bits[i] = std::bit_cast<u32>(eighths[i]) - (i << 20) + (power << 23);
  return bits;
}

/// to = 2^n (1 + r (c1 + r (c2 + c3 r))), of an n from -151 to 129 in eighths, which `nearest` has
/// in its last digits. Without an instruction that scales, the power is 2^64 times larger or
/// smaller than it is, neither denormal nor infinite, and a result is rounded by the last
/// multiplication only if it is denormal. Which of both follows from the sign of n. r is
/// overwritten, and may be `to`, as are n and nearest.
/// @param spare  used where there is such an instruction.
constexpr void scaled_power(RecipeCode& c, RecipeCode::Lanes to, RecipeCode::Lanes r,
                            RecipeCode::Lanes n, RecipeCode::Lanes nearest, RecipeCode::Lanes spare,
                            const std::array<float, 3>& factors) {
  auto less_one = [&](RecipeCode::Lanes p) {
    c.polynomial(p, r, {factors[2], factors[1], factors[0]});
    c.add(LaneOp::kMul, p, p, r);
  };
  c.on(Needs::kMaskRegisters);
  less_one(spare);
  c.look_up(nearest, nearest, std::bit_cast<std::array<u32, 8>>(kEighths));
  c.add(LaneOp::kFma, spare, nearest, nearest);
  c.add(LaneOp::kScale, to, spare, n);
  c.on(Needs::kNoMaskRegisters);
  less_one(n);
  // 2^64, or 2^-64 of negative n.
  constexpr u32 kLarge = std::bit_cast<u32>(0x1p64f), kSmall = std::bit_cast<u32>(0x1p-64f);
  c.look_up(r, nearest, to_shift(kEighths, 127));
  c.shift(LaneOp::kShiftLeft, nearest, nearest, 20);
  c.add(LaneOp::kAddInteger, r, r, nearest);
  c.shift(LaneOp::kShiftRightSigned, nearest, nearest, 31);
  c.add(LaneOp::kAnd, nearest, nearest, c.bits(kLarge ^ kSmall));
  c.add(LaneOp::kXor, nearest, nearest, c.bits(kLarge));
  c.add(LaneOp::kSubInteger, r, r, nearest);
  c.add(LaneOp::kFmaInto, r, n, r);  // of NaN, that of n
  c.add(LaneOp::kMul, to, r, nearest);
  c.on(Needs::kNothing);
}

/// Of e^r, |r| up to ln(2) / 16.
constexpr std::array<float, 3> kExpFactors = {1, 0x1.00087ep-1f, 0x1.555be4p-3f};

/// With n the eighth nearest to v / ln(2), and r what is left, e^v = 2^n e^r. What scales takes any
/// n; there it is enough that r is small, whatever v is. Multiplications take most of the time, of
/// which there are few so, and registers are few enough for several vectors at once.
constexpr Recipe exp_recipe() {
  RecipeCode c;
  const auto r = c.out, n = c.t(0), nearest = c.t(1), spare = c.t(2);
  c.on(Needs::kNoMaskRegisters);
  clamp(c, r, c.x, n, nearest, -104, 89);
  c.add(LaneOp::kCopy, nearest, c.number(kNearestEighth));
  c.add(LaneOp::kFmaInto, nearest, r, c.number(kLog2e));
  c.on(Needs::kMaskRegisters);
  c.add(LaneOp::kCopy, nearest, c.number(kNearestEighth));
  c.add(LaneOp::kFmaInto, nearest, c.x, c.number(kLog2e));
  c.add(LaneOp::kCopy, r, c.x);
  c.on(Needs::kNothing);
  c.add(LaneOp::kSub, n, nearest, c.number(kNearestEighth));
  subtract_ln2(c, r, n, 1);
  c.on(Needs::kMaskRegisters);
  c.add(LaneOp::kNoLonger, r, r, c.number(0.05f));
  scaled_power(c, c.out, r, n, nearest, spare, kExpFactors);
  return c.recipe();
}

/// e^v of a v that is never above 0, as of what is left when a row's greatest number is subtracted.
/// There is one limit, and no power of two is too large if all are 2^24 times larger than they are.
///
/// kSteps / kScale is ln(2) but for 2^-41 of it, and has so few digits that its product with n is
/// exact: kScale v - kSteps n is kScale r, rounded once. The polynomial of that is 2^(7/8) e^r,
/// below 2, which powers lack. That of n = -151 + 7/8 has no digit but that of the exponent, of
/// which nothing is left: at the limit and below it, as of -infinity, the result is 0 times
/// something, for processors take long to round what is denormal.
constexpr Recipe decay_recipe() {
  constexpr float kLeast = -0x1.a03c22p+6f;  // (-151 + 7/8) ln(2)
  constexpr float kSteps = 0x1.ee6p+0f, kScale = 0x1.649dbep+1f, kLess = 0x1p-24f;
  constexpr std::array<float, 8> kPowers = {
      kEighths[1] / 2, kEighths[2] / 2, kEighths[3] / 2, kEighths[4] / 2,
      kEighths[5] / 2, kEighths[6] / 2, kEighths[7] / 2, 1};
  constexpr std::array<u32, 8> kToShift = to_shift(kPowers, 24);
  static_assert(kToShift[7] + (static_cast<u32>(-151 * 8 + 7) << 20) == 0);
  RecipeCode c;
  const auto v = c.out, nearest = c.t(0), r = c.t(1);
  c.add(LaneOp::kCopy, r, c.number(kLeast));
  c.add(LaneOp::kGreater, v, r, c.x);  // of NaN, that
  c.add(LaneOp::kCopy, nearest, c.number(kNearestEighth));
  c.add(LaneOp::kFmaInto, nearest, v, c.number(kLog2e));
  c.add(LaneOp::kCopy, r, c.number(kSteps * kNearestEighth));
  c.add(LaneOp::kNegatedFmaInto, r, nearest, c.number(kSteps));
  c.add(LaneOp::kFmaInto, r, v, c.number(kScale));
  c.polynomial(v, r,
               {0x1.cf14eep-7f * kLess, 0x1.e3f36cp-4f * kLess, 0x1.5109fcp-1f * kLess,
                0x1.d5818ep+0f * kLess});
  c.look_up(r, nearest, kToShift);
  c.shift(LaneOp::kShiftLeft, nearest, nearest, 20);
  c.add(LaneOp::kAddInteger, r, r, nearest);
  c.add(LaneOp::kMul, c.out, v, r);
  return c.recipe();
}

/// As above, of 2^v.
constexpr Recipe exp2_recipe() {
  RecipeCode c;
  const auto r = c.out, n = c.t(0), nearest = c.t(1), spare = c.t(2);
  c.on(Needs::kNoMaskRegisters);
  clamp(c, r, c.x, n, nearest, -150, 128);
  c.add(LaneOp::kAdd, nearest, r, c.number(kNearestEighth));
  c.on(Needs::kMaskRegisters);
  c.add(LaneOp::kAdd, nearest, c.x, c.number(kNearestEighth));
  c.add(LaneOp::kCopy, r, c.x);
  c.on(Needs::kNothing);
  c.add(LaneOp::kSub, n, nearest, c.number(kNearestEighth));
  c.add(LaneOp::kSub, r, r, n);
  c.on(Needs::kMaskRegisters);
  c.add(LaneOp::kNoLonger, r, r, c.number(0.07f));
  scaled_power(c, c.out, r, n, nearest, spare, {0x1.62e43p-1f, 0x1.ec0c32p-3f, 0x1.c6b94ap-5f});
  return c.recipe();
}

}  // namespace morello

#endif

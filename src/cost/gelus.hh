// SPDX-License-Identifier: MIT
// The recipe of gelu.
#ifndef MORELLO_COST_GELUS_HH
#define MORELLO_COST_GELUS_HH

#include "cost/exponentials.hh"

namespace morello {

/// max(x, 0) - t q(t), t = |x|, q(t) = e^(-t^2 / 2) R(t) being the probability that a normal number
/// is above t. With e^(-t^2 / 2) = 2^n e^(-r / 2), n in eighths, t q(t) is
/// min(t, 1/2) 2^n / 2 * (1 + h) (1 + e): what the last factors lose when they are rounded is
/// little, for h and e are small. Below 1/2, 1 + h is 2 R(t), above 4 t R(t): a polynomial of t
/// less a number near it, in each of eight parts, whose bounds are where 1 + t is 2^n or 1.5 * 2^n.
///
/// kSteps is 2 ln(2) but for kLess of it, with so few digits that its product with n is exact:
/// t^2 (1 - kLess) - kSteps n is r (1 - kLess), whose square is not rounded where it is large.
///
/// 2^n is 2^25 times larger until the last step. Processors take long to round what is denormal:
/// from such results 2^-126 is subtracted, and added to their bits. At the limit of t, n is -152
/// and the power 0.
constexpr Recipe gelu_recipe() {
  using Code = RecipeCode;
  constexpr float kLimit = 14.516f, kLeast = 0x1p-126f;
  constexpr float kDenormal = -0x1.a4ae0ep+3f;  // of what is less, results are denormal
  constexpr float kSteps = 0x1.62ep+0f, kLess = 0x1.829e86p-15f;
  constexpr std::array<float, 8> kMiddle = {0x1.819cp+0f, 0x1.3eeap+1f, 0x1.ff8p+1f, 0x1.82p+2f,
                                            0x1.1fap+3f,  0x1.977p+3f,  0x1.ee2p-3f, 0x1.7db8p-1f};
  constexpr std::array<float, 8> kParts[] = {
      {0x1.de608cp-11f, 0x1.c80a66p-14f, 0x1.15229cp-17f, 0x1.f69f52p-22f, 0x1.81550ep-26f,
       0x1.44ed4ap-30f, -0x1.049198p-8f, 0x1.41a37p-8f},
      {-0x1.815d04p-9f, -0x1.be105cp-12f, -0x1.4ec17p-15f, -0x1.96e73ep-19f, -0x1.a2b792p-23f,
       -0x1.e611cp-27f, 0x1.7b1502p-7f, -0x1.036df8p-6f},
      {0x1.1dba52p-7f, 0x1.8d883p-10f, 0x1.65d7a2p-13f, 0x1.23e76ap-16f, 0x1.8a182cp-20f,
       0x1.41415p-23f, -0x1.f52a38p-6f, 0x1.5b18eap-5f},
      {-0x1.9a185ep-6f, -0x1.55793ap-8f, -0x1.8a57c6p-11f, -0x1.aa24c4p-14f, -0x1.8e1506p-17f,
       -0x1.bb3ad2p-20f, 0x1.369012p-4f, -0x1.ac66b8p-4f},
      {0x1.0ac9b6p-4f, 0x1.0da3a4p-6f, 0x1.95cd68p-9f, 0x1.25e9cap-11f, 0x1.800e44p-14f,
       0x1.24c3ecp-16f, -0x1.5eaf28p-3f, 0x1.da583p-3f},
      {-0x1.30999ep-3f, -0x1.7c0772p-5f, -0x1.7a2ed6p-7f, -0x1.74631ap-9f, -0x1.565f86p-11f,
       -0x1.67e048p-13f, 0x1.60e4c8p-2f, -0x1.c5ef44p-2f},
      {0x1.1e53f8p-2f, 0x1.c26f46p-4f, 0x1.2e96c4p-5f, 0x1.9b0f7ap-7f, 0x1.0c6e2ap-8f,
       0x1.86fbbep-10f, -0x1.3195b6p-1f, 0x1.5dfbeap-1f},
      {0x1.e43eb8p-3f, 0x1.a647e8p-2f, 0x1.055694p-1f, 0x1.1c35dap-1f, 0x1.274656p-1f,
       0x1.2c159ep-1f, -0x1.55826ap-3f, -0x1.a32ebcp-4f},
  };
  Code c;
  const auto t = c.t(0), found = c.t(1), part = c.t(2), z = c.t(3), h = c.t(4);
  const auto square = found, power = part, r = z;
  c.add(LaneOp::kAnd, t, c.x, c.bits(0x7fffffff));
  c.add(LaneOp::kLess, t, t, c.number(kLimit));  // of NaN, the limit
  c.add(LaneOp::kAdd, part, t, c.number(1));
  c.shift(LaneOp::kShiftRight, part, part, 22);
  c.look_up(z, part, std::bit_cast<std::array<u32, 8>>(kMiddle));
  c.add(LaneOp::kSub, z, t, z);
  c.look_up(h, part, std::bit_cast<std::array<u32, 8>>(kParts[0]));
  for (size_t i = 1; i < std::size(kParts); i++) {
    c.look_up(found, part, std::bit_cast<std::array<u32, 8>>(kParts[i]));
    c.add(LaneOp::kFma, h, z, found);
  }
  c.add(LaneOp::kMul, square, t, t);
  c.add(LaneOp::kCopy, power, c.number(kNearestEighth));
  c.add(LaneOp::kFmaInto, power, square, c.number(-kLog2e / 2));
  c.add(LaneOp::kCopy, r, c.number(-kSteps * kNearestEighth));
  c.add(LaneOp::kFmaInto, r, power, c.number(kSteps));
  c.add(LaneOp::kFmaInto, r, t, t);
  c.add(LaneOp::kNegatedFmaInto, r, square, c.number(kLess));
  c.add(LaneOp::kLess, t, t, c.number(0.5f));
  c.look_up(found, power, to_shift(kEighths, 25));
  c.shift(LaneOp::kShiftLeft, power, power, 20);
  c.add(LaneOp::kAddInteger, power, power, found);
  c.add(LaneOp::kMul, power, power, t);
  c.polynomial(found, r, {0x1.552afep-9f, -0x1.5558c4p-6f, 0x1.00060cp-3f, -0x1.000306p-1f});
  c.add(LaneOp::kMul, r, found, r);  // e
  c.add(LaneOp::kAdd, found, r, h);
  c.add(LaneOp::kFma, h, r, found);  // e + h + e h
  c.add(LaneOp::kFma, h, power, power);
  const auto least = t, zero = r;
  c.where(least, c.x, Relation::kLess, c.number(kDenormal));
  c.add(LaneOp::kCopy, zero, c.bits(0x80000000));
  c.add(LaneOp::kGreater, c.out, zero, c.x);  // of NaN, that
  c.on(Needs::kMaskRegisters);
  c.add(LaneOp::kOrWhere, c.out, c.out, c.number(kLeast));
  c.on(Needs::kNoMaskRegisters);
  c.add(LaneOp::kAnd, least, least, c.number(kLeast));
  c.add(LaneOp::kOr, c.out, c.out, least);
  c.on(Needs::kNothing);
  c.add(LaneOp::kNegatedFmaInto, c.out, h, c.number(0x1p-26f));
  c.on(Needs::kMaskRegisters);
  c.add(LaneOp::kSubIntegerWhere, c.out, c.out, c.number(kLeast));
  c.on(Needs::kNoMaskRegisters);
  c.add(LaneOp::kSubInteger, c.out, c.out, least);
  c.on(Needs::kNothing);
  return c.recipe();
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// The recipe of gelu.
#ifndef MORELLO_COST_GELUS_HH
#define MORELLO_COST_GELUS_HH

#include "cost/recipe_code.hh"

namespace morello {

/// max(x, 0) - t q(t), t = |x|, q(t) = e^(-t^2 / 2) R(t) being the probability that a normal number
/// is above t. With e^(-t^2 / 2) = 2^n e^(-r / 2), t q(t) = min(t, 1/2) 2^n / 2 * (1 + h) (1 + e):
/// the first factors are exact, and what the others lose when they are rounded is little, for h
/// and e are small. Below 1/2, 1 + h is 2 R(t), above 4 t R(t): a polynomial of t less a number
/// near it, in each of eight parts, whose bounds are where t^2 + 7/4 is a power of two.
///
/// 2^n is 2^25 times larger until the last step. Processors take long to round what is denormal:
/// from such results 2^-126 is subtracted, and added to their bits. At the limit of t, n is -152
/// and the power 0.
constexpr Recipe gelu_recipe() {
  using Code = RecipeCode;
  constexpr float kLimit = 14.51f, kNearest = 0x1.8p23f + 127 + 25;
  constexpr float kDenormal = -0x1.a4ae0ep+3f;  // of what is less, results are denormal
  constexpr float kTwice = 0x1.62e4p+0f, kTwiceRest = 0x1.7f7d1cp-19f;  // their sum is 2 ln(2)
  constexpr std::array<float, 8> kMiddle = {1,          2,          0x1.92p+1f, 0x1.29p+2f,
                                            0x1.acp+2f, 0x1.32p+3f, 0x1.9ap+3f, 0.25f};
  constexpr std::array<float, 8> kParts[] = {
      {0x1.90d862p-9f, 0x1.3ac1c6p-12f, 0x1.1587ecp-15f, 0x1.995582p-19f, 0x1.caa27ep-23f,
       0x1.c23b94p-27f, 0x1.bd05a8p-32f, -0x1.d76718p-9f},
      {-0x1.28ba46p-7f, -0x1.144df4p-10f, -0x1.25da5ep-13f, -0x1.e86becp-17f, -0x1.5b596p-20f,
       -0x1.4f952ap-24f, 0x1.71421ap-25f, 0x1.7f1182p-7f},
      {0x1.8e0b6p-6f, 0x1.ca884ap-9f, 0x1.22ffdp-11f, 0x1.446ee6p-14f, 0x1.3a64b8p-17f,
       0x1.08cfep-20f, 0x1.37d25cp-23f, -0x1.ec3e3ep-6f},
      {-0x1.031228p-4f, -0x1.68c97ep-7f, -0x1.178f06p-9f, -0x1.8afa3ep-12f, -0x1.f4dac4p-15f,
       -0x1.205264p-17f, -0x1.e49c1ap-20f, 0x1.3102f8p-4f},
      {0x1.2f4b1p-3f, 0x1.03013p-5f, 0x1.f0ddd2p-8f, 0x1.bea01ep-10f, 0x1.742318p-12f,
       0x1.1f2706p-14f, 0x1.1c055ep-16f, -0x1.594e4p-3f},
      {-0x1.344174p-2f, -0x1.4986d8p-4f, -0x1.8d7136p-6f, -0x1.ce6766p-8f, -0x1.009c2ep-9f,
       -0x1.0e982ap-11f, -0x1.5ecb9p-13f, 0x1.5c56acp-2f},
      {0x1.fcc818p-2f, 0x1.5d300ap-3f, 0x1.0e251cp-4f, 0x1.9d7d12p-6f, 0x1.354e0ep-7f,
       0x1.c15aacp-9f, 0x1.7fddb6p-10f, -0x1.2e8652p-1f},
      {0x1.7b65dp-5f, 0x1.611772p-2f, 0x1.df2ca4p-2f, 0x1.0f7068p-1f, 0x1.1fdf0ep-1f, 0x1.28608p-1f,
       0x1.2c252p-1f, -0x1.601fep-3f},
  };
  Code c;
  const auto t = c.t(0), z = c.t(1), r = c.t(2), h = c.t(3), part = c.t(4), e = c.t(5),
             least = c.t(6);
  const auto square = z, n = z, power = h;
  c.add(LaneOp::kAnd, z, c.x, c.bits(0x7fffffff));
  c.add(LaneOp::kCopy, t, c.number(kLimit));
  c.add(LaneOp::kLess, t, t, z);
  c.add(LaneOp::kMul, square, t, t);
  c.add(LaneOp::kAdd, part, square, c.number(1.75f));
  c.shift(LaneOp::kShiftRight, part, part, 23);
  c.add(LaneOp::kCopy, power, c.number(kNearest));
  c.add(LaneOp::kFmaInto, power, square, c.number(-0x1.715476p-1f));
  c.add(LaneOp::kSub, n, power, c.number(kNearest));
  c.shift(LaneOp::kShiftLeft, power, power, 23);
  c.add(LaneOp::kMul, r, n, c.number(-kTwice));  // exact
  c.add(LaneOp::kNegatedFmaInto, r, t, t);
  c.add(LaneOp::kNegatedFmaInto, r, n, c.number(kTwiceRest));
  c.look_up(z, part, std::bit_cast<std::array<u32, 8>>(kMiddle));
  c.add(LaneOp::kSub, z, t, z);
  c.add(LaneOp::kLess, t, t, c.number(0.5f));
  c.add(LaneOp::kMul, t, t, power);
  c.add(LaneOp::kCopy, h, c.bits(0x80000000));
  c.where(e, c.x, Relation::kLess, c.number(kDenormal));
  c.add(LaneOp::kGreater, c.out, h, c.x);  // of NaN, that
  c.add(LaneOp::kCopy, h, c.bits(0));
  c.select(least, e, h, c.number(0x1p-126f));
  c.add(LaneOp::kOr, c.out, c.out, least);
  c.look_up(h, part, std::bit_cast<std::array<u32, 8>>(kParts[0]));
  for (size_t i = 1; i < std::size(kParts); i++) {
    c.look_up(e, part, std::bit_cast<std::array<u32, 8>>(kParts[i]));
    c.add(LaneOp::kFma, h, z, e);
  }
  c.polynomial(
      e, r,
      {0x1.6a4b38p-16f, 0x1.12398ep-12f, 0x1.5558b2p-9f, 0x1.555492p-6f, 0x1.fffffcp-4f, 0.5f});
  c.add(LaneOp::kMul, z, e, r);
  c.add(LaneOp::kFma, e, r, h);
  c.add(LaneOp::kFma, h, z, e);  // e + h + e h
  c.add(LaneOp::kFma, h, t, t);
  c.add(LaneOp::kNegatedFmaInto, c.out, h, c.number(0x1p-26f));
  c.add(LaneOp::kSubInteger, c.out, c.out, least);
  return c.recipe();
}

}  // namespace morello

#endif

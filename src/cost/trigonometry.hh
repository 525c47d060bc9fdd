// SPDX-License-Identifier: MIT
// The recipes of sin and cos.
#ifndef MORELLO_COST_TRIGONOMETRY_HH
#define MORELLO_COST_TRIGONOMETRY_HH

#include "cost/recipe_code.hh"

namespace morello {

/// Up to 2^20 quarters of turns are subtracted as they are, pi / 2 in three parts: the first
/// difference is exact, as the part has 23 digits, and what the others lose is little of what is
/// left, however little that is. The rest of numbers is within 0.53 quarters.
constexpr float kMostQuarters = 0x1p20f;
constexpr float kQuarters = 0x1.45f306p-1f;  // 2 / pi
constexpr std::array<float, 3> kQuarter = {0x1.921fb4p+0f, 0x1.4442d2p-24f, -0x1.ee59dap-50f};

/// Of larger numbers u 2^(16 g), where u is an integer below 2^39, quarters are u times what
/// 2^(16 g) 2 / pi is modulo 4, in three parts: a multiple of 2^-20, whose product with u is a sum
/// of two floats that are one as well, and 48 digits more. A table has them by 2 + g, modulo 8.
constexpr std::array<float, 8> kTurns[] = {
    {0x1.f534dp+0f, 0, 0x1.45f3p-1f, 0x1.836e4p+0f, 0x1.272208p+1f, 0x1.529fp-4f, 0x1.fc275p+0f,
     0x1.abe8f8p+1f},
    {0x1.b81b6cp-21f, 0, 0x1.b72722p-23f, 0x1.c882a6p-21f, 0x1.4a7f0ap-22f, 0x1.84eafap-21f,
     0x1.f47d4ep-22f, 0x1.4d377p-22f},
    {0x1.4acc9ep-47f, 0, 0x1.529fc2p-52f, -0x1.80f62ap-46f, -0x1.505c16p-49f, 0x1.f534dep-48f,
     -0x1.911f92p-47f, 0x1.b6c52cp-49f},
};

/// quarters += the integer nearest to v, which v is less from now on; spare is overwritten.
constexpr void take_quarters(RecipeCode& c, RecipeCode::Lanes v, RecipeCode::Lanes quarters,
                             RecipeCode::Lanes spare) {
  c.round(spare, v, Rounding::kNearest);
  c.add(LaneOp::kSub, v, v, spare);
  c.add(LaneOp::kAdd, quarters, quarters, spare);
}

/// rest, quarters = what is left of |x|, in quarters, and how many, modulo 4; wrong by up to 2^-24.
constexpr void far_quarters(RecipeCode& c, RecipeCode::Lanes rest, RecipeCode::Lanes quarters,
                            RecipeCode::Lanes u, RecipeCode::Lanes group, RecipeCode::Lanes part,
                            RecipeCode::Lanes low) {
  constexpr u32 kFirst = 160u << 23;  // in an exponent's place: of u, from 23 to 38, 10 more
  c.add(LaneOp::kAnd, u, c.x, c.bits(0x7fffffff));
  c.add(LaneOp::kCopy, group, c.number(0x1p23f));
  c.add(LaneOp::kGreater, group, u, group);
  c.add(LaneOp::kAddInteger, group, group, c.bits(10u << 23));
  c.shift(LaneOp::kShiftRight, group, group, 27);
  c.shift(LaneOp::kShiftLeft, low, group, 27);
  c.add(LaneOp::kSubInteger, u, u, low);
  c.add(LaneOp::kAddInteger, u, u, c.bits(kFirst));
  const auto product = [&](int i, RecipeCode::Lanes high) {  // high - low
    c.look_up(low, group, std::bit_cast<std::array<u32, 8>>(kTurns[i]));
    c.add(LaneOp::kMul, high, u, low);
    c.add(LaneOp::kNegatedFma, low, u, high);
  };
  product(0, rest);
  c.add(LaneOp::kMul, part, rest, c.number(0.25f));
  c.round(part, part, Rounding::kNearest);
  c.add(LaneOp::kNegatedFmaInto, rest, part, c.number(4));
  c.round(quarters, low, Rounding::kNearest);
  c.add(LaneOp::kSub, low, low, quarters);
  c.add(LaneOp::kSub, rest, rest, low);
  c.add(LaneOp::kXor, quarters, quarters, c.bits(0x80000000));
  take_quarters(c, rest, quarters, part);
  product(1, part);
  const auto spare = group;  // once the last part is there
  c.look_up(spare, group, std::bit_cast<std::array<u32, 8>>(kTurns[2]));
  c.add(LaneOp::kMul, u, u, spare);
  c.add(LaneOp::kSub, low, u, low);
  take_quarters(c, part, quarters, spare);
  c.add(LaneOp::kAdd, rest, rest, part);
  take_quarters(c, rest, quarters, spare);
  c.add(LaneOp::kAdd, rest, rest, low);
}

/// Of |x| in quarters of a turn: of what is left r, up to 0.83, sin(r) or cos(r) by whether the
/// quarters are odd, with a sign for each two of them. x times 0 makes NaN of infinities.
/// @param more  quarters: cos(x) = sin(x + pi / 2).
constexpr Recipe wave_recipe(u32 more) {
  constexpr u32 kSign = 0x80000000;
  const float integer = 0x1.8p23f + static_cast<float>(more);  // what is added to it becomes one
  RecipeCode c;
  const auto v = c.t(0), q = c.t(1), far = c.t(2), far_q = c.t(3), r = c.t(4), spare = c.t(5);
  const auto mask = spare;
  c.add(LaneOp::kAnd, v, c.x, c.bits(~kSign));
  c.where(mask, v, Relation::kGreater, c.number(kMostQuarters));
  c.rare(mask, [&] {
    far_quarters(c, far, far_q, v, q, r, spare);
    c.add(LaneOp::kMul, far, far, c.number(kQuarter[0] + 0x1p-23f));
    c.add(LaneOp::kCopy, r, c.number(0));
    c.add(LaneOp::kMul, r, c.x, r);
    c.add(LaneOp::kAdd, far, far, r);
    c.add(LaneOp::kToInteger, far_q, far_q);
    if (more != 0) c.add(LaneOp::kAddInteger, far_q, far_q, c.bits(more));
    c.add(LaneOp::kAnd, v, c.x, c.bits(~kSign));
  });
  // The last digits of q are those of an integer from here on.
  const auto n = spare;
  c.add(LaneOp::kCopy, q, c.number(integer));
  c.add(LaneOp::kFmaInto, q, v, c.number(kQuarters));
  c.add(LaneOp::kSub, n, q, c.number(integer));
  c.add(LaneOp::kCopy, r, v);
  for (float part : kQuarter) c.add(LaneOp::kNegatedFmaInto, r, n, c.number(part));
  c.on(Needs::kNoMaskRegisters);
  c.where(mask, v, Relation::kGreater, c.number(kMostQuarters));
  c.on(Needs::kNothing);
  c.select(r, mask, r, far);
  c.select(q, mask, q, far_q);
  const auto square = far, sine = v, cosine = far_q, is_odd = square;
  c.add(LaneOp::kMul, square, r, r);
  c.polynomial(sine, square, {-0x1.98da3ep-13f, 0x1.1106p-7f, -0x1.555542p-3f});
  c.add(LaneOp::kMul, sine, sine, square);
  c.add(LaneOp::kFma, sine, r, r);
  c.polynomial(cosine, square, {0x1.983d3p-16f, -0x1.6c05a4p-10f, 0x1.55553ep-5f, -0.5f, 1});
  c.shift(LaneOp::kShiftLeft, is_odd, q, 31);
  c.on(Needs::kMaskRegisters);
  c.where_integer(mask, is_odd, Relation::kEqual, c.bits(kSign));
  c.select(sine, mask, sine, cosine);
  c.on(Needs::kNoMaskRegisters);
  c.select(sine, is_odd, sine, cosine);
  c.on(Needs::kNothing);
  c.shift(LaneOp::kShiftLeft, q, q, 30);
  if (more == 0) c.add(LaneOp::kXor, q, q, c.x);
  c.add(LaneOp::kAnd, q, q, c.bits(kSign));
  c.add(LaneOp::kXor, c.out, sine, q);
  return c.recipe();
}

}  // namespace morello

#endif

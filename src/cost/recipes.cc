// SPDX-License-Identifier: MIT
// The recipes, one function each. Polynomials have the least relative error on their intervals,
// with coefficients that are floats. Numbers that are infinite or too large are cut off at the
// beginning, in an order that lets NaN pass; signs are taken off and put back.
#include <limits>

#include "cost/choices.hh"
#include "cost/exponentials.hh"
#include "cost/gelus.hh"
#include "cost/recipe_code.hh"
#include "cost/tangent.hh"
#include "cost/trigonometry.hh"

namespace morello {
namespace {

using Code = RecipeCode;
using Lanes = RecipeCode::Lanes;

constexpr u32 kMagnitude = 0x7fffffff;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Added to a number of small magnitude, it leaves 127 more than the nearest integer in the last
/// digits: once shifted to its place, the exponent of a power of two.
constexpr float kNearestExponent = 0x1.8p23f + 127;

/// to = min(|v|, most)
constexpr void magnitude(Code& c, Lanes to, Lanes v, Lanes spare, float most) {
  c.add(LaneOp::kAnd, spare, v, c.bits(kMagnitude));
  c.add(LaneOp::kCopy, to, c.number(most));
  c.add(LaneOp::kLess, to, to, spare);
}

/// n = the integer nearest to v * scale, power = 2^(n + more), from -126 to 127.
constexpr void power_of_two(Code& c, Lanes n, Lanes power, Lanes v, float scale, float more = 0) {
  c.add(LaneOp::kCopy, power, c.number(kNearestExponent + more));
  c.add(LaneOp::kFmaInto, power, v, c.number(scale));
  c.add(LaneOp::kSub, n, power, c.number(kNearestExponent + more));
  c.shift(LaneOp::kShiftLeft, power, power, 23);
}

/// v = 2^e * f, f between sqrt(1/2) and sqrt(2), of whatever bits v has.
constexpr void take_exponent(Code& c, Lanes f, Lanes e, Lanes v) {
  c.add(LaneOp::kSubInteger, f, v, c.number(0x1.6a09e6p-1f));
  c.shift(LaneOp::kShiftRightSigned, e, f, 23);
  c.add(LaneOp::kFromInteger, e, e);
  c.add(LaneOp::kAnd, f, f, c.bits(0xff800000));
  c.add(LaneOp::kSubInteger, f, v, f);
}

/// x = 2^e * (1 + f): log(x) = e ln(2) + log(1 + f). What is no positive normal number is rare;
/// where the result is infinite or NaN, so is e, which both parts of ln(2) are multiplied by: they
/// have one sign.
constexpr Recipe log_recipe() {
  constexpr float kHigh = 0x1.62e42ep-1f, kLow = 0x1.efa39ep-25f;
  Code c;
  const auto f = c.t(0), e = c.t(1), p = c.t(2), mask = c.t(3);
  take_exponent(c, f, e, c.x);
  c.add(LaneOp::kAddInteger, p, c.x, c.bits(0x7f800000));  // from the least integer on
  c.where_integer(mask, p, Relation::kGreater, c.bits(0xfeffffff));
  c.rare(mask, [&] {
    c.add(LaneOp::kMul, p, c.x, c.number(0x1p23f));
    c.where(mask, c.x, Relation::kLess, c.number(0x1p-126f));
    c.select(p, mask, c.x, p);
    take_exponent(c, f, e, p);
    c.add(LaneOp::kSub, p, e, c.number(23));
    c.select(e, mask, e, p);
    c.where(mask, c.x, Relation::kNotLess, c.number(kInfinity));
    c.select(e, mask, e, c.x);  // infinity and NaN
    c.where(mask, c.x, Relation::kEqual, c.number(0));
    c.select(e, mask, e, c.number(-kInfinity));
    c.where(mask, c.x, Relation::kLess, c.number(0));
    c.select(e, mask, e, c.bits(0x7fc00000));
  });
  c.add(LaneOp::kSub, f, f, c.number(1));
  c.polynomial(p, f,
               {-0x1.2a6f78p-4f, 0x1.015974p-3f, -0x1.0e96ccp-3f, 0x1.239ce2p-3f, -0x1.5466fep-3f,
                0x1.99944ep-3f, -0x1.000234p-2f, 0x1.55557p-2f, -0.5f});
  c.add(LaneOp::kMul, mask, f, f);
  c.add(LaneOp::kMul, c.out, p, mask);
  c.add(LaneOp::kFmaInto, c.out, e, c.number(kLow));
  c.add(LaneOp::kAdd, c.out, c.out, f);
  c.add(LaneOp::kFmaInto, c.out, e, c.number(kHigh));
  return c.recipe();
}

/// e^r - 1, with the relative error of a float, for |r| <= ln(2) / 2; r stays. p is overwritten.
constexpr void little(Code& c, Lanes p, Lanes r, Lanes spare) {
  c.polynomial(p, r,
               {0x1.6b71c2p-10f, 0x1.1227cap-7f, 0x1.555718p-5f, 0x1.5554bp-3f, 0x1.fffffep-2f});
  c.add(LaneOp::kMul, spare, r, r);
  c.add(LaneOp::kFma, p, spare, r);
}

/// What 1 and powers of two are multiplied by where they would be too large.
constexpr float kSmallExponent = -32, kSmall = 0x1p-32f;

/// w = one + power e^-r, |r| <= ln(2) / 2. Of the sum only power q is rounded before, q = 1 - e^-r:
/// where the sum is next to a power of two, and its last place counts most, q is nothing. q is
/// overwritten.
constexpr void one_and_power(Code& c, Lanes w, Lanes r, Lanes power, Lanes one, Lanes q) {
  c.polynomial(q, r,
               {0x1.6b71c2p-10f, -0x1.1227cap-7f, 0x1.555718p-5f, -0x1.5554bp-3f, 0x1.fffffep-2f});
  c.add(LaneOp::kMul, w, r, r);
  c.add(LaneOp::kNegatedFma, q, w, r);
  c.add(LaneOp::kCopy, w, one);
  c.add(LaneOp::kNegatedFmaInto, w, power, q);
  c.add(LaneOp::kAdd, w, w, power);
}

/// Of more, 1 + e^-x is 1.
constexpr float kMostSigmoid = 30;

/// 1 / (1 + e^-x)
constexpr Recipe sigmoid_recipe() {
  Code c;
  const auto v = c.t(0), power = c.t(1), n = c.t(2), w = c.t(3), one = c.out;
  c.add(LaneOp::kCopy, v, c.number(kMostSigmoid));
  c.add(LaneOp::kLess, v, v, c.x);  // of NaN, that
  c.add(LaneOp::kCopy, n, c.number(-105));
  c.add(LaneOp::kGreater, v, n, v);
  power_of_two(c, n, power, v, -kLog2e, kSmallExponent);
  subtract_ln2(c, v, n, -1);
  c.add(LaneOp::kCopy, one, c.number(kSmall));
  one_and_power(c, w, v, power, one, n);
  c.add(LaneOp::kDiv, c.out, one, w);
  return c.recipe();
}

/// out = u / (1 + e^-v), v from -110 to 30, or of v - *less, which is v with more digits. Of
/// negative u the divisor is made smaller, and so is the quotient, afterwards. u may be `out`; all
/// but u are overwritten.
constexpr void weighted(Code& c, Lanes u, Lanes v, const Lanes* less, Lanes power, Lanes n,
                        Lanes one, Lanes w) {
  c.add(LaneOp::kCopy, one, c.number(1));
  c.on(Needs::kMaskRegisters);
  c.where(power, u, Relation::kLess, c.number(0));
  c.select(one, power, one, c.number(kSmall));
  c.on(Needs::kNoMaskRegisters);
  c.select(one, u, one, c.number(kSmall));
  c.on(Needs::kNothing);
  power_of_two(c, n, power, v, -kLog2e, -127);
  c.add(LaneOp::kAddInteger, power, power, one);
  c.add(LaneOp::kFmaInto, v, n, c.number(kLn2));
  if (less) {
    c.add(LaneOp::kNegatedFmaInto, *less, n, c.number(kLn2Rest));
    c.add(LaneOp::kSub, v, v, *less);
  } else {
    c.add(LaneOp::kFmaInto, v, n, c.number(kLn2Rest));
  }
  one_and_power(c, w, v, power, one, n);
  c.add(LaneOp::kDiv, w, u, w);
  c.add(LaneOp::kMul, c.out, w, one);
}

/// x / (1 + e^-x)
constexpr Recipe silu_recipe() {
  Code c;
  const auto v = c.t(0), n = c.t(2), u = c.out;
  c.add(LaneOp::kCopy, n, c.number(-110));
  c.add(LaneOp::kGreater, u, n, c.x);  // of NaN, that
  c.add(LaneOp::kCopy, v, c.number(kMostSigmoid));
  c.add(LaneOp::kLess, v, v, u);
  weighted(c, u, v, nullptr, c.t(1), n, c.t(3), c.t(4));
  return c.recipe();
}

/// x / (1 + e^-v), v = x (c1 + c3 x^2), which is x / (1 + e^-2u) of the u that its definition takes
/// tanh of. v has 24 digits more than a float: what x^2, the sum and the product lose when they are
/// rounded is found exactly, the sum's because c1 has few digits. From 6 on it is x.
constexpr Recipe gelu_tanh_recipe() {
  constexpr float kC1 = 0x1.988000p+0f, kC1Rest = 0x1.14cf50p-14f, kC3 = 0x1.2444f2p-4f,
                  kC3Rest = 0x1.49b16ap-29f;
  Code c;
  const auto x = c.t(0), square = c.t(1), sum = c.t(2), rest = c.t(3), lost = c.t(4), u = c.out;
  c.add(LaneOp::kCopy, x, c.number(-10.9f));
  c.add(LaneOp::kGreater, u, x, c.x);  // of NaN, that
  c.add(LaneOp::kCopy, x, c.number(6));
  c.add(LaneOp::kLess, x, x, u);
  c.add(LaneOp::kMul, square, x, x);
  c.add(LaneOp::kCopy, sum, c.number(kC1));
  c.add(LaneOp::kFmaInto, sum, square, c.number(kC3));
  c.add(LaneOp::kCopy, rest, c.number(kC1));
  c.add(LaneOp::kSub, rest, rest, sum);
  c.add(LaneOp::kFmaInto, rest, square, c.number(kC3));
  c.add(LaneOp::kFmaInto, rest, square, c.number(kC3Rest));
  c.add(LaneOp::kAdd, rest, rest, c.number(kC1Rest));
  c.add(LaneOp::kCopy, lost, x);
  c.add(LaneOp::kNegatedFma, lost, x, square);
  c.add(LaneOp::kNegatedFmaInto, rest, lost, c.number(kC3));
  const auto v = square, less = sum;
  c.add(LaneOp::kMul, v, x, sum);
  c.add(LaneOp::kNegatedFma, less, x, v);
  c.add(LaneOp::kNegatedFmaInto, less, x, rest);
  weighted(c, u, v, &less, x, rest, lost, less);
  return c.recipe();
}

/// 1 - e^v, v being x times a polynomial, so that little is lost where x is small. From 3.92 on it
/// is 1.
constexpr Recipe erf_recipe() {
  Code c;
  const auto v = c.t(0), p = c.t(1), power = c.t(2), square = c.t(3);
  magnitude(c, v, c.x, p, 3.95f);
  c.polynomial(
      p, v,
      {0x1.366366p-17f, -0x1.ed3092p-14f, 0x1.4badfcp-11f, -0x1.b4e558p-10f, 0x1.4f7952p-13f,
       0x1.39ced6p-6f, -0x1.a4fa72p-4f, -0x1.45f2fap-1f, -0x1.0429b6p-24f});
  c.add(LaneOp::kMul, p, p, v);
  c.add(LaneOp::kFmaInto, p, v, c.number(-0x1.20dd74p+0f));
  c.add(LaneOp::kCopy, v, p);
  power_of_two(c, p, power, v, kLog2e);
  subtract_ln2(c, v, p, 1);
  little(c, p, v, square);
  c.add(LaneOp::kCopy, v, c.number(1));
  c.add(LaneOp::kSub, v, v, power);
  c.add(LaneOp::kNegatedFma, p, power, v);
  c.sign_of(c.out, p, c.x, v);
  return c.recipe();
}

constexpr Recipe rsqrt_recipe() {
  Code c;
  const auto root = c.t(0), one = c.t(1);
  c.add(LaneOp::kSqrt, root, c.x);
  c.add(LaneOp::kCopy, one, c.number(1));
  c.add(LaneOp::kDiv, c.out, one, root);
  return c.recipe();
}

constexpr Recipe rounding_recipe(Rounding way) {
  Code c;
  c.round(c.out, c.x, way);
  return c.recipe();
}

constexpr Recipe kExp = exp_recipe(), kExp2 = exp2_recipe(), kDecay = decay_recipe();
constexpr Recipe kLog = log_recipe();
constexpr Recipe kTanh = tanh_recipe(), kSigmoid = sigmoid_recipe(), kSilu = silu_recipe();
constexpr Recipe kErf = erf_recipe(), kRsqrt = rsqrt_recipe();
constexpr Recipe kFloor = rounding_recipe(Rounding::kDown), kCeil = rounding_recipe(Rounding::kUp),
                 kRound = rounding_recipe(Rounding::kNearest);
constexpr Recipe kGeluTanh = gelu_tanh_recipe();
constexpr Recipe kGelu = gelu_recipe();
constexpr Recipe kSin = wave_recipe(0), kCos = wave_recipe(1);
constexpr Recipe kMaximum = extreme(LaneOp::kGreater, LaneOp::kAnd, LaneOp::kMost);
constexpr Recipe kMinimum = extreme(LaneOp::kLess, LaneOp::kOr, LaneOp::kLeast);
constexpr Recipe kLess = comparison(Relation::kLess), kLessEqual = comparison(Relation::kLessEqual),
                 kGreater = comparison(Relation::kGreater),
                 kGreaterEqual = comparison(Relation::kGreaterEqual),
                 kEqual = comparison(Relation::kEqual), kNotEqual = comparison(Relation::kNotEqual);
constexpr Recipe kLessI32 = integer_comparison(Relation::kGreater, true, false),
                 kLessEqualI32 = integer_comparison(Relation::kGreater, false, true),
                 kGreaterI32 = integer_comparison(Relation::kGreater, false, false),
                 kGreaterEqualI32 = integer_comparison(Relation::kGreater, true, true),
                 kEqualI32 = integer_comparison(Relation::kEqual, false, false),
                 kNotEqualI32 = integer_comparison(Relation::kEqual, false, true);
constexpr Recipe kSelect = select_recipe(false), kSelectI32 = select_recipe(true);

OpClass class_of(LaneOp op) {
  return op == LaneOp::kDiv    ? OpClass::kDivide
         : op == LaneOp::kSqrt ? OpClass::kSquareRoot
                               : OpClass::kSimple;
}

/// Constants that are copied are loaded, by ports that compute nothing.
bool is_load(const LaneInstruction& in) { return in.op == LaneOp::kCopy && in.a >= kLaneConstant; }

i64 units_of(Op op, Dtype computed, const Target& target,
             const std::array<i64, kOpClasses>& price) {
  const Recipe* recipe = recipe_of(op, computed);
  if (!recipe) {
    const OpClass own = class_of(op);  // of a recipe: in integers
    return price[static_cast<size_t>(own == OpClass::kRecipe ? OpClass::kSimple : own)];
  }
  i64 units = 0;
  recipe->for_each(target, [&](const LaneInstruction& in, bool is_rare) {
    if (!is_load(in) && !is_rare) units += price[static_cast<size_t>(class_of(in.op))];
  });
  return units;
}

constexpr const Recipe* in_f32(Op op) {
  switch (op) {
    case Op::kMax:
      return &kMaximum;
    case Op::kMin:
      return &kMinimum;
    case Op::kExp:
      return &kExp;
    case Op::kExp2:
      return &kExp2;
    case Op::kDecay:
      return &kDecay;
    case Op::kLog:
      return &kLog;
    case Op::kTanh:
      return &kTanh;
    case Op::kSigmoid:
      return &kSigmoid;
    case Op::kErf:
      return &kErf;
    case Op::kSilu:
      return &kSilu;
    case Op::kRsqrt:
      return &kRsqrt;
    case Op::kSin:
      return &kSin;
    case Op::kCos:
      return &kCos;
    case Op::kFloor:
      return &kFloor;
    case Op::kCeil:
      return &kCeil;
    case Op::kRound:
      return &kRound;
    case Op::kGeluTanh:
      return &kGeluTanh;
    case Op::kGelu:
      return &kGelu;
    case Op::kLess:
      return &kLess;
    case Op::kLessEqual:
      return &kLessEqual;
    case Op::kGreater:
      return &kGreater;
    case Op::kGreaterEqual:
      return &kGreaterEqual;
    case Op::kEqual:
      return &kEqual;
    case Op::kNotEqual:
      return &kNotEqual;
    case Op::kSelect:
      return &kSelect;
    default:
      return nullptr;
  }
}

constexpr const Recipe* in_i32(Op op) {
  switch (op) {
    case Op::kLess:
      return &kLessI32;
    case Op::kLessEqual:
      return &kLessEqualI32;
    case Op::kGreater:
      return &kGreaterI32;
    case Op::kGreaterEqual:
      return &kGreaterEqualI32;
    case Op::kEqual:
      return &kEqualI32;
    case Op::kNotEqual:
      return &kNotEqualI32;
    case Op::kSelect:
      return &kSelectI32;
    default:
      return nullptr;
  }
}

constexpr bool all_have_recipes() {
  for (const Elementwise& e : kElementwise)
    if ((class_of(e.op) == OpClass::kRecipe) != (in_f32(e.op) != nullptr)) return false;
  return true;
}
static_assert(all_have_recipes());

}  // namespace

const Recipe* recipe_of(Op op, Dtype computed) {
  return computed == Dtype::kF32 ? in_f32(op) : computed == Dtype::kI32 ? in_i32(op) : nullptr;
}

i64 op_units(Op op, Dtype computed, const Target& target) {
  return units_of(op, computed, target, target.prices.op);
}

i64 scalar_op_units(Op op, Dtype computed, const Target& target) {
  return units_of(op, computed, target, target.prices.scalar_op);
}

}  // namespace morello

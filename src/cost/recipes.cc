// SPDX-License-Identifier: MIT
#include "cost/recipe_code.hh"

namespace morello {
namespace {

using Code = RecipeCode;

/// Both orders give the same unless both numbers are zeros, of which bits decide, or one is NaN.
constexpr Recipe extreme(LaneOp choose, LaneOp zeros) {
  Code c;
  const auto one = c.t(0), other = c.t(1);
  c.add(choose, one, c.x, c.y);
  c.add(choose, other, c.y, c.x);
  c.add(zeros, one, one, other);
  c.where(other, c.x, Relation::kUnordered, c.y);
  c.select(c.out, other, one, c.bits(0x7fc00000));
  return c.recipe();
}

constexpr Recipe kMaximum = extreme(LaneOp::kGreater, LaneOp::kAnd);
constexpr Recipe kMinimum = extreme(LaneOp::kLess, LaneOp::kOr);

OpClass class_of(LaneOp op) {
  return op == LaneOp::kDiv    ? OpClass::kDivide
         : op == LaneOp::kSqrt ? OpClass::kSquareRoot
                               : OpClass::kSimple;
}

i64 units_of(Op op, Dtype computed, const std::array<i64, kOpClasses>& price) {
  const Recipe* recipe = recipe_of(op, computed);
  if (!recipe) {
    const OpClass own = class_of(op);  // of a recipe: in integers
    return price[static_cast<size_t>(own == OpClass::kRecipe ? OpClass::kSimple : own)];
  }
  i64 units = 0;
  for (int i = 0; i < recipe->length; i++) {
    const OpClass own = class_of(recipe->code[i].op);
    units += price[static_cast<size_t>(own)] * (recipe->wide && own != OpClass::kSimple ? 2 : 1);
  }
  // Halves are taken out, converted twice, and put together.
  return recipe->wide ? 2 * units + 6 * price[static_cast<size_t>(OpClass::kSimple)] : units;
}

}  // namespace

const Recipe* recipe_of(Op op, Dtype computed) {
  if (computed != Dtype::kF32) return nullptr;
  switch (op) {
    case Op::kMax:
      return &kMaximum;
    case Op::kMin:
      return &kMinimum;
    default:
      return nullptr;
  }
}

i64 op_units(Op op, Dtype computed, const Target& target) {
  return units_of(op, computed, target.prices.op);
}

i64 scalar_op_units(Op op, Dtype computed, const Target& target) {
  return units_of(op, computed, target.prices.scalar_op);
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// The recipes of what compares and chooses, and rounds nothing: extremes, comparisons, select.
#ifndef MORELLO_COST_CHOICES_HH
#define MORELLO_COST_CHOICES_HH

#include "cost/recipe_code.hh"

namespace morello {

/// Both orders give the same unless both numbers are zeros, of which bits decide, or one is NaN.
constexpr Recipe extreme(LaneOp choose, LaneOp zeros, LaneOp both) {
  RecipeCode c;
  const auto one = c.t(0), other = c.t(1);
  c.on(Needs::kMaskRegisters);
  c.add(both, one, c.x, c.y);
  c.on(Needs::kNoMaskRegisters);
  c.add(choose, one, c.x, c.y);
  c.add(choose, other, c.y, c.x);
  c.add(zeros, one, one, other);
  c.on(Needs::kNothing);
  c.where(other, c.x, Relation::kUnordered, c.y);
  c.select(c.out, other, one, c.bits(0x7fc00000));
  return c.recipe();
}

/// 1 or 0.
constexpr Recipe comparison(Relation relation) {
  RecipeCode c;
  const auto zero = c.t(0), mask = c.t(1);
  c.where(mask, c.x, relation, c.y);
  c.add(LaneOp::kCopy, zero, c.bits(0));
  c.select(c.out, mask, zero, c.number(1));
  return c.recipe();
}

/// The same in i32, which has two relations: the others are these of the numbers swapped, or not.
constexpr Recipe integer_comparison(Relation relation, bool swapped, bool negated) {
  RecipeCode c;
  const auto value = c.t(0), mask = c.t(1);
  c.where_integer(mask, swapped ? c.y : c.x, relation, swapped ? c.x : c.y);
  c.add(LaneOp::kCopy, value, c.bits(negated));
  c.select(c.out, mask, value, c.bits(!negated));
  return c.recipe();
}

constexpr Recipe select_recipe(bool integers) {
  RecipeCode c;
  const auto mask = c.t(0);
  if (integers) {
    c.where_integer(mask, c.x, Relation::kEqual, c.bits(0));
    c.select(c.out, mask, c.y, c.z);
  } else {
    c.where(mask, c.x, Relation::kNotEqual, c.bits(0));
    c.select(c.out, mask, c.z, c.y);
  }
  return c.recipe();
}

}  // namespace morello

#endif

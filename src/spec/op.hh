// SPDX-License-Identifier: MIT
// Scalar operations: what a stage of a Spec computes.
#ifndef MORELLO_SPEC_OP_HH
#define MORELLO_SPEC_OP_HH

#include <limits>
#include <string_view>

#include "morello/morello.h"
#include "support/dtype.hh"
#include "support/types.hh"
#include "target/target.hh"

namespace morello {

/// Numbers of the elementwise ones are those of morello_op. On disk: never renumber.
enum class Op : u8 {
#define MORELLO_ELEMENTWISE(constant, name, number, ...) constant = number,
#include "spec/elementwise.def"
#undef MORELLO_ELEMENTWISE
  kFill = 40,    // the stage's constant
  kCopy = 41,    // in0
  kMulAdd = 42,  // in0 * in1, summed over the reduced dimensions
  kKeep = 43,    // in0 where the Spec's diagonal keeps it, else -inf: spec/diagonal.hh
  kDecay = 44,   // e^in0, of an in0 that is never above 0: spec/graph_rules.hh
  kGather = 45,  // in0 at the place of the reduced dimension that in1 names: spec/gather.hh
};

struct Elementwise {
  Op op;
  std::string_view name;    // in Impl trees and in the user's text: "relu", "add"
  std::string_view number;  // in the user's code: "MORELLO_OP_RELU"
  int inputs;
};

inline constexpr Elementwise kElementwise[] = {
#define MORELLO_ELEMENTWISE(constant, name, number, inputs, ...) \
  {Op::constant, name, #number, inputs},
#include "spec/elementwise.def"
#undef MORELLO_ELEMENTWISE
};

/// 1 to 3 for elementwise operations, also those that no text names, 0 for others and for numbers
/// of none.
constexpr int elementwise_inputs(Op op) {
  switch (op) {
#define MORELLO_ELEMENTWISE(constant, name, number, inputs, ...) \
  case Op::constant:                                             \
    return inputs;
#include "spec/elementwise.def"
#undef MORELLO_ELEMENTWISE
    case Op::kDecay:
      return 1;
    default:
      return 0;
  }
}
constexpr bool is_unary(Op op) { return elementwise_inputs(op) == 1; }
/// What its instruction costs like. Fills, copies and products are simple.
constexpr OpClass class_of(Op op) {
  switch (op) {
#define MORELLO_ELEMENTWISE(constant, name, number, inputs, price, ...) \
  case Op::constant:                                                    \
    return OpClass::price;
#include "spec/elementwise.def"
#undef MORELLO_ELEMENTWISE
    case Op::kDecay:
      return OpClass::kRecipe;
    default:
      return OpClass::kSimple;
  }
}
/// With one input and reduced dimensions they are reductions, if can_reduce().
constexpr bool is_binary(Op op) { return elementwise_inputs(op) == 2; }
constexpr bool is_ternary(Op op) { return elementwise_inputs(op) == 3; }
constexpr bool is_greatest(Op op) { return op == Op::kMax || op == Op::kFastMax; }
constexpr bool is_least(Op op) { return op == Op::kMin || op == Op::kFastMin; }
constexpr bool can_reduce(Op op) { return op == Op::kAdd || is_greatest(op) || is_least(op); }

/// What a reduction by `op`, or by kMulAdd, starts from: a number of every element type.
constexpr double identity_of(Op op, Dtype computed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool integer = is_integer(computed);
  if (is_greatest(op)) return integer ? std::numeric_limits<i32>::min() : -kInfinity;
  if (is_least(op)) return integer ? std::numeric_limits<i32>::max() : kInfinity;
  return 0;
}
/// Can it be computed in integers? Roots, quotients and other functions cannot; integers are their
/// own floor.
constexpr bool has_integers(Op op) {
  if (op == Op::kFloor || op == Op::kCeil || op == Op::kRound || elementwise_inputs(op) > 1)
    return op != Op::kDiv;
  return class_of(op) == OpClass::kSimple && op != Op::kRecip && op != Op::kKeep;
}

constexpr std::string_view name_of(Op op) {
  for (const Elementwise& e : kElementwise)
    if (e.op == op) return e.name;
  switch (op) {
    case Op::kFill:
      return "fill";
    case Op::kCopy:
      return "copy";
    case Op::kMulAdd:
      return "muladd";
    case Op::kKeep:
      return "keep";
    case Op::kDecay:
      return "decay";
    case Op::kGather:
      return "gather";
    default:
      return "?";
  }
}

}  // namespace morello

#endif

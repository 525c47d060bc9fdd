// SPDX-License-Identifier: MIT
// Recipes: elementwise operations that take several instructions, as data. A recipe is
// straight code on lanes, for any number of lanes, that rounds the same on every target, so an
// operation has the same bits everywhere. codegen/x64/recipe.hh makes instructions of it; registers
// and prices follow from its length.
#ifndef MORELLO_COST_RECIPE_HH
#define MORELLO_COST_RECIPE_HH

#include <array>

#include "spec/op.hh"
#include "target/target.hh"

namespace morello {

/// What one instruction does in every lane. Floats are rounded as IEEE 754 says.
enum class LaneOp : u8 {
  kCopy,  // to = a
  kAdd,   // to = a + b; so kSub, kMul, kDiv
  kSub,
  kMul,
  kDiv,
  kSqrt,            // to = sqrt(a)
  kFma,             // to = to * a + b, rounded once
  kNegatedFma,      // to = b - to * a
  kFmaInto,         // to = a * b + to
  kNegatedFmaInto,  // to = to - a * b
  kGreater,         // to = a > b ? a : b
  kLess,            // to = a < b ? a : b
  kAnd,             // of bits; so kOr, kXor
  kOr,
  kXor,
  kRound,        // to = a, rounded to an integer; `extra`: a Rounding
  kToInteger,    // i32 of the nearest integer of a
  kFromInteger,  // the float of an i32
  kAddInteger,   // so kSubInteger
  kSubInteger,
  kShiftLeft,  // by `extra` bits; so kShiftRight (zeros come in), kShiftRightSigned
  kShiftRight,
  kShiftRightSigned,
  kWhere,         // the mask `to` = a `extra` b; `extra`: a Relation
  kWhereInteger,  // the same of i32, of which `extra` is kEqual or kGreater
  kSelect,        // to = mask `extra` ? b : a; where masks are lanes, any with that sign
  kLookUp,        // to = what table `extra` has for the last three bits of a
  kUnlessAny,     // the next `extra` rows are skipped unless the mask a, or that of a vector beside
                  // this one, is set in a lane; see RecipeCode::rare
  // With mask registers only:
  kScale,  // to = a * 2^floor(b), rounded once
  kMost,   // the greater of a and b, of zeros +0, where neither is NaN; so kLeast, of zeros -0
  kLeast,
  kNoLonger,  // to = a, or where |a| > b or a is NaN, b with any sign
  kOrWhere,   // to = a | b where the mask is set, else a; so kSubIntegerWhere
  kSubIntegerWhere,
  kJoin,  // to = a, and the bits of `to` that b has
};
/// Of what targets an instruction is a part of its recipe. Others have other instructions there,
/// with the same results.
enum class Needs : u8 { kNothing, kMaskRegisters, kNoMaskRegisters };
enum class Rounding : u8 { kNearest = 0, kDown = 1, kUp = 2, kTruncate = 3 };
/// Those of vcmpps. With a NaN all but kUnordered and those that negate are false.
enum class Relation : u8 {
  kEqual = 0,
  kLess = 1,
  kLessEqual = 2,
  kUnordered = 3,
  kNotEqual = 4,
  kNotLess = 5,
  kGreaterEqual = 13,
  kGreater = 14,
};

/// Where an instruction finds its lanes: a register of this enumeration, one of the temporaries
/// behind it, or a constant.
using LaneRef = u8;
inline constexpr LaneRef kInputX = 0, kInputY = 1, kInputZ = 2, kResult = 3, kTemporary = 4,
                         kLaneConstant = 64;

struct LaneInstruction {
  LaneOp op;
  LaneRef to, a, b;  // b, or a where there is no b, may be a constant
  u8 extra = 0;
  Needs needs = Needs::kNothing;

  bool is_for(const Target& target) const {
    return needs == Needs::kNothing || (needs == Needs::kMaskRegisters) == target.has_masks;
  }
};

/// Inputs stay as they are, for they may be anyone's registers, and the result may be one of them:
/// it is written when no input is read any more. At most one mask is read later; it has a temporary
/// to lie in where there are no mask registers.
struct Recipe {
  static constexpr int kMost = 80, kMostTables = 10;
  std::array<LaneInstruction, kMost> code{};
  std::array<u32, kMost> constant{};                    // bits
  std::array<std::array<u32, 8>, kMostTables> table{};  // of kLookUp
  u8 length = 0, constants = 0, tables = 0;
  u8 temporaries = 0, temporaries_without_masks = 0;
  u8 temporaries_on(const Target& target) const {
    return target.has_masks ? temporaries : temporaries_without_masks;
  }
  /// Calls f(instruction, whether it is among those that are skipped mostly) for those of a target.
  template <class F>
  void for_each(const Target& target, F f) const {
    int rare_end = 0;
    for (int i = 0; i < length; i++) {
      if (code[i].op == LaneOp::kUnlessAny) rare_end = i + 1 + code[i].extra;
      const bool is_rare = code[i].op != LaneOp::kUnlessAny && i < rare_end;
      if (code[i].is_for(target)) f(code[i], is_rare);
    }
  }
};

/// Vectors that run through a recipe side by side at most, each with temporaries of its own:
/// between two instructions of one vector are those of the others. One vector alone waits for each
/// result.
inline constexpr u32 kMostSideBySide = 4;

/// How an operation is computed; null: by one instruction, or by none.
const Recipe* recipe_of(Op op, Dtype computed);

/// Units of an operation on a vector, and on one element.
i64 op_units(Op op, Dtype computed, const Target& target);
i64 scalar_op_units(Op op, Dtype computed, const Target& target);

}  // namespace morello

#endif

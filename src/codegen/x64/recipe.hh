// SPDX-License-Identifier: MIT
// Instructions of a recipe of cost/recipe.hh, for vectors of any width.
#ifndef MORELLO_CODEGEN_X64_RECIPE_HH
#define MORELLO_CODEGEN_X64_RECIPE_HH

#include <optional>
#include <span>
#include <vector>

#include "codegen/x64/vectors.hh"
#include "cost/recipe.hh"

namespace morello::x64 {

/// Registers of one use of a recipe.
struct RecipeRegisters {
  u32 x = 0, y = 0, z = 0, result = 0;
  u32 temporaries = 0;  // the first of them
};

/// Constants and tables of recipes that stay in registers, for all vectors that follow.
class HeldConstants {
 public:
  /// Loads those of a recipe, in the order of their use, into registers from `first` on, as far as
  /// there are any.
  /// @return the first register behind them.
  u32 load(Vectors& as, const Recipe& recipe, u32 first);
  /// The register of what an instruction takes: a constant, or table().
  std::optional<u32> find(const Recipe& recipe, u32 what) const;

  static constexpr u32 table(u32 index) { return 256 + index; }

 private:
  struct Held {
    const Recipe* recipe;
    u32 what, index;
  };
  std::vector<Held> held_;
};

/// The code of up to kMostSideBySide vectors of one width, instruction by instruction.
/// @param shared  of several vectors: a register for the constant of an instruction.
void emit_recipe(Vectors& as, const Recipe& recipe, u32 width,
                 std::span<const RecipeRegisters> vectors, u32 shared = 0,
                 const HeldConstants& held = {});

/// to = a op b, of any binary operation of vectors in registers; kMulAdd: a sum.
/// @param temporaries  the first of those of the operation's recipe, if it has one.
void emit_binary(Vectors& as, Op op, Dtype held, u32 width, u32 to, u32 a, u32 b, u32 temporaries);

/// Combines all elements of vector `index` (of `width`) into element 0.
void emit_reduced_lanes(Vectors& as, Op op, Dtype held, u32 index, u32 width, u32 spare,
                        u32 temporaries);
/// Adds the quarters of 4 elements of vector `index` (of `width`, 4 at least), in the first one.
void emit_added_quarters(Vectors& as, Dtype held, u32 index, u32 width, u32 spare);

}  // namespace morello::x64

#endif

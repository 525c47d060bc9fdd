// SPDX-License-Identifier: MIT
// The iteration space on its way to the canonical form: what Statements of one operation and graphs
// share when they are lowered.
#ifndef MORELLO_SPEC_DRAFT_HH
#define MORELLO_SPEC_DRAFT_HH

#include "spec/check.hh"

namespace morello {

/// The iteration space while dimensions are merged. A stride of 0 means that the operand does not
/// have the dimension: it is broadcast.
struct Draft {
  struct Dim {
    i64 size = 1;
    /// Which stages of a graph have it in their value (bit 2 s) or combine along it (bit 2 s + 1).
    u32 roles = 0;
    std::array<i64, kMaxOperands> stride{};
    u8 window = 0;    // 2 w + 1: the outer one of bordered[w], 2 w + 2: the inner one
    u8 diagonal = 0;  // kRow or kColumn of it; never merged
  };
  static constexpr u8 kRow = 1, kColumn = 2;
  /// Two dimensions that index one axis of an operand, past its ends. They are never merged.
  struct Bordered {
    int operand = 0;
    Window window;   // but for its dimensions
    i64 stride = 0;  // of the axis
  };
  std::vector<Dim> dims;
  std::vector<Bordered> bordered;
  int operands = 0;
  int outputs = 1;  // the last operands

  bool has(int operand, u8 dim) const { return dims[dim].stride[operand] != 0; }
  bool is_output(int operand) const { return operand >= operands - outputs; }
  bool is_reduced(u8 dim) const { return !has(operands - 1, dim); }
};

/// Merges and numbers the dimensions of `draft`, and makes of it the sizes, operands and views of a
/// Spec that has no stages yet. Operand o is tensor arguments[o] of the Statement, outputs last.
/// A fault if there are too many dimensions.
MaybeFault place_operands(const Statement& statement, const std::vector<int>& arguments,
                          Draft& draft, Lowered& lowered);

inline Stage make_stage(Op op, Ref first = kNoRef, Ref second = kNoRef, DimMask reduced = 0,
                        Ref third = kNoRef) {
  Stage stage;
  stage.op = op;
  stage.in = {first, second, third};
  stage.reduce = reduced;
  return stage;
}

/// What is computed in i32 and written to a float of 16 bits is rounded to f32 in between.
/// False: there are too many stages.
bool round_to_f32(Spec& spec);

}  // namespace morello

#endif

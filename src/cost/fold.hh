// SPDX-License-Identifier: MIT
// Folds: elementwise stages, and one that combines their results.
#ifndef MORELLO_COST_FOLD_HH
#define MORELLO_COST_FOLD_HH

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// What comes before the reduction: it ends in a register, with vectors along the reduced dimension
/// if there is one dimension of that kind. A product that is summed is its last stage.
/// REQUIRES: is_fold().
Spec prologue_of(const Spec& spec);
/// By which vectors of that are combined.
inline Op combined_by(const Spec& spec) {
  const Op op = spec.stage[spec.stage_count - 1].op;
  return op == Op::kMulAdd ? Op::kAdd : op;
}

/// The vector registers of a fold besides those of its prologue.
struct FoldRegisters {
  u32 sums = 0;         // that are combined in turns: a prologue that takes long needs few of them
  u32 temporaries = 0;  // of the recipe that combines
  bool mask = false;    // of a last vector that is not full, without mask registers
  bool half = false;    // of one that is stored in parts
  bool widening = false;  // of bf16: see widens_by_order()

  // 1: what the stages make.
  u32 count() const { return sums + 1 + temporaries + mask + half + widening; }
};
FoldRegisters fold_registers(const Spec& spec, const Target& target);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Folds: elementwise stages, and one that combines their results.
#ifndef MORELLO_COST_FOLD_HH
#define MORELLO_COST_FOLD_HH

#include "spec/spec.hh"

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

}  // namespace morello

#endif

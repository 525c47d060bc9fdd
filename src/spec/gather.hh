// SPDX-License-Identifier: MIT
// Stages that gather (Op::kGather) read their first input at the place of one dimension that their
// second input names, an integer; places before the first one are the first, and those behind the
// last one the last, so that no program reads what is outside. The dimension, the only one that the
// stage reduces, is not tiled. What is gathered at one place is an operand where that place begins.
#ifndef MORELLO_SPEC_GATHER_HH
#define MORELLO_SPEC_GATHER_HH

#include "spec/spec.hh"

namespace morello {

inline bool gathers(const Spec& spec) {
  for (int s = 0; s < spec.stage_count; s++)
    if (spec.stage[s].op == Op::kGather) return true;
  return false;
}
/// The dimensions whose places are named.
DimMask gathered_dims(const Spec& spec);
/// The one of a stage; kNoDim: it has one place. REQUIRES: it gathers.
u8 gathered_dim(const Stage& stage);
/// The operands that stages gather from and by. Bits.
u8 gathered_operands(const Spec& spec);

/// The first stage that gathers at one place, of an operand that nothing else reads; -1: none.
int gather_at_one_place(const Spec& spec);
/// The Spec of which the operand has that place alone, and the stage is gone, or a copy.
struct Gathered {
  Spec spec;
  Binding binding;
};
/// REQUIRES: stage == gather_at_one_place().
Gathered gathered(const Spec& spec, int stage);

}  // namespace morello

#endif

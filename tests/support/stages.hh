// SPDX-License-Identifier: MIT
// Stages of Specs that tests make by hand.
#ifndef MORELLO_TESTS_SUPPORT_STAGES_HH
#define MORELLO_TESTS_SUPPORT_STAGES_HH

#include <vector>

#include "spec/spec.hh"

namespace morello::testing {

/// The value of the stage before, until set_stages() knows which one that is.
inline constexpr Ref kPrevious = 0xfe;

inline Stage stage_of_op(Op op, Ref first = kNoRef, Ref second = kNoRef, DimMask reduce = 0) {
  Stage stage;
  stage.op = op;
  stage.in = {first, second, kNoRef};
  stage.reduce = reduce;
  return stage;
}

/// A chain whose last stage writes the last operand. REQUIRES: the operands are counted.
inline void set_stages(Spec& spec, const std::vector<Stage>& stages) {
  spec.stage = {};
  spec.stage_count = 0;
  for (Stage stage : stages) {
    for (Ref& in : stage.in)
      if (in == kPrevious) in = value_of(spec.stage_count - 1);
    spec.stage[spec.stage_count++] = stage;
  }
  spec.stage[spec.stage_count - 1].out = static_cast<Ref>(spec.out_index());
}

inline u32 bits_of(float value) { return std::bit_cast<u32>(value); }

}  // namespace morello::testing

#endif

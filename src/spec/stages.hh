// SPDX-License-Identifier: MIT
// Stages of a Spec put in and taken out: what the others read stays what it was.
#ifndef MORELLO_SPEC_STAGES_HH
#define MORELLO_SPEC_STAGES_HH

#include "spec/spec.hh"

namespace morello {

/// Puts a stage in front of stage `at`, whose value no other stage reads.
inline void insert_stage(Spec& spec, int at, const Stage& stage) {
  for (int s = spec.stage_count++; s > at; s--) {
    spec.stage[s] = spec.stage[s - 1];
    for (Ref& in : spec.stage[s].in)
      if (is_value(in) && stage_of(in) > at) in = value_of(stage_of(in) + 1);
  }
  spec.stage[at] = stage;
}

/// Takes out a stage, whose value nothing reads.
inline void drop_stage(Spec& spec, int stage) {
  for (int s = stage; s + 1 < spec.stage_count; s++) {
    spec.stage[s] = spec.stage[s + 1];
    for (Ref& in : spec.stage[s].in)
      if (is_value(in) && stage_of(in) > stage) in = value_of(stage_of(in) - 1);
  }
  spec.stage[--spec.stage_count] = Stage{};
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Steps on the results of a reduction: what makes a mean of a sum, or a scale of a sum of squares.
// Who combines a row has its result in a register, and makes the steps there, of one element;
// stored, and read by what comes next, each waits for its way through memory.
#ifndef MORELLO_COST_STEPS_HH
#define MORELLO_COST_STEPS_HH

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Are the last stages such steps? They read nothing but the value before and constants, are
/// computed in its type, and nothing else reads that value.
bool has_result_steps(const Spec& spec);
/// The Spec up to the reduction; without steps, as it is. What is written is its output.
Spec without_steps(const Spec& spec);
/// The steps of a result, which is operand 0, alone. REQUIRES: has_result_steps().
Spec steps_alone(const Spec& spec);

/// 0 if there are none: of one result; vector registers.
i64 step_units_of_result(const Spec& spec, const Target& target);
u32 step_registers(const Spec& spec, const Target& target);

}  // namespace morello

#endif

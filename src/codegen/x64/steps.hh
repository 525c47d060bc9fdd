// SPDX-License-Identifier: MIT
// What is done with the result of a reduction before it is stored.
#ifndef MORELLO_CODEGEN_X64_STEPS_HH
#define MORELLO_CODEGEN_X64_STEPS_HH

#include "codegen/plan.hh"
#include "codegen/x64/vectors.hh"

namespace morello::x64 {

/// A call without the steps on its results (cost/steps.hh).
PlanCall without_steps(const PlanCall& call);
/// Makes these of the result in lane 0 of register `result`, and stores what comes of it.
/// REQUIRES: has_result_steps(call.spec).
/// @param first_free  registers from there on are free.
void store_by_steps(Vectors& as, const PlanCall& call, u32 result, u32 first_free);

}  // namespace morello::x64

#endif

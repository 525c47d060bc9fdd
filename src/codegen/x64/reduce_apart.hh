// SPDX-License-Identifier: MIT
// Rows whose vectors are made of every second or third element: a part of reduce_rows.
#ifndef MORELLO_CODEGEN_X64_REDUCE_APART_HH
#define MORELLO_CODEGEN_X64_REDUCE_APART_HH

#include "codegen/plan.hh"
#include "codegen/x64/vectors.hh"

namespace morello::x64 {

const PlanOperand& input_of(const PlanCall& call);

/// REQUIRES: elements_apart() was not 0.
void emit_apart(Vectors& as, const PlanCall& call);

}  // namespace morello::x64

#endif

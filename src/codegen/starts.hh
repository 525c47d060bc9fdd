// SPDX-License-Identifier: MIT
// Reductions that need no register tile that was filled for them.
#ifndef MORELLO_CODEGEN_STARTS_HH
#define MORELLO_CODEGEN_STARTS_HH

#include "codegen/plan.hh"

namespace morello {

/// Where first elements can be what a reduction starts from, nothing has to be there before: makes
/// `call`, which comes next, do without `fill`, and ask for what that asks for. False: it needs it.
bool takes_over(const PlanCall& fill, PlanCall& call);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// The functions of one number that kernels do not round correctly: what they are, and how far a
// result may be off. Nothing here comes from the library.
#ifndef MORELLO_TESTS_SUPPORT_FUNCTIONS_HH
#define MORELLO_TESTS_SUPPORT_FUNCTIONS_HH

#include <vector>

#include "spec/op.hh"

namespace morello::testing {

/// All of them.
std::vector<Op> functions();

/// In double, as close as that gets.
double function_value(Op op, double x);

/// Is anything promised of the result?
bool function_takes(Op op, double x);

/// Units of the last place of an f32 that docs/numerics.md allows, or, where a slack is not 0, how
/// much in any unit.
double function_ulps(Op op);
double function_slack(Op op, double x);

}  // namespace morello::testing

#endif

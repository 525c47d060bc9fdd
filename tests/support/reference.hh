// SPDX-License-Identifier: MIT
// What Specs of the general form mean, written once more from the definition (impl/evaluate.hh and
// spec/layout.hh), point by point: shares no code with evaluate(), views or conversions.
#ifndef MORELLO_TESTS_SUPPORT_REFERENCE_HH
#define MORELLO_TESTS_SUPPORT_REFERENCE_HH

#include "random_spec.hh"

namespace morello::testing {

/// A number of an element type as a double, by its bits, and the nearest one back.
double decoded(Dtype dtype, u32 bits);
u32 encoded(Dtype dtype, double value);

struct Reference {
  /// Memory of all operands afterwards.
  std::array<std::vector<char>, kMaxOperands> data;
  /// No reduction of floats depends on the order: sums are exact in f32, and nothing is odd.
  bool exact = true;
};
Reference reference_of(const GeneralProblem& problem);

/// "" if operands have the same bytes, NaNs aside; else where the first difference is.
std::string difference(const Spec& spec,
                       const std::array<std::vector<char>, kMaxOperands>& expected,
                       const std::array<std::vector<char>, kMaxOperands>& found);

}  // namespace morello::testing

#endif

// SPDX-License-Identifier: MIT
// Judges results in f32: an independent evaluation of a Spec, point by point, with a bound on the
// error of any correct program.
#ifndef MORELLO_TESTS_SUPPORT_COMPARE_HH
#define MORELLO_TESTS_SUPPORT_COMPARE_HH

#include <string>
#include <vector>

#include "impl/evaluate.hh"

namespace morello::testing {

/// The value of one output element and how far a program may be off.
struct Expected {
  i64 offset = 0;  // of the element
  double value = 0;
  double error = 0;           // 0: exactly the value, rounded to f32; infinite: anything goes
  bool sign_of_zero = false;  // matters: no order of summation is left open
};

/// All elements of the output, from the operands before the run.
///
/// The bound is that of summation in any order, gamma_k = k u / (1 - k u) times the sum of the
/// magnitudes, carried through the later stages. Elementwise chains have no error: every operation
/// is rounded correctly and once.
std::vector<Expected> expect(const Spec& spec, const Views& views, const void* const* operands);

/// "" if every element of `out` is as expected; else the number of wrong elements, and the first
/// one.
std::string compare(const std::vector<Expected>& expected, const float* out);

}  // namespace morello::testing

#endif

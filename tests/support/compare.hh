// SPDX-License-Identifier: MIT
// Judges results of every element type: an independent evaluation of a chain, point by point, with
// a bound on the error of any correct program.
#ifndef MORELLO_TESTS_SUPPORT_COMPARE_HH
#define MORELLO_TESTS_SUPPORT_COMPARE_HH

#include <string>
#include <vector>

#include "impl/evaluate.hh"

namespace morello::testing {

/// The value of one output element before it is converted to the output's type, and how far a
/// program may be off there.
struct Expected {
  i64 offset = 0;  // of the element
  double value = 0;
  double error = 0;           // 0: exactly the value, converted; infinite: anything goes
  bool sign_of_zero = false;  // matters: no order of summation is left open
};

/// What sums of products of bf16 by bf16 do with denormals. kFlushed: factors, products and sums
/// below 2^-126 may count as zero. It is the one thing that vdpbf16ps does differently, whatever
/// the MXCSR says (docs/numerics.md), and allowed where a target has it.
enum class Denormals { kKept, kFlushed };
Denormals denormals_of(const Target& target);

/// All elements of the output, from the operands before the run.
///
/// The bound of a sum of floats is that of any order, gamma_k = k u / (1 - k u) times the sum of
/// the magnitudes, u = 2^-24, carried through the later stages; a NaN among the terms, infinities
/// of both signs, or of one where nothing else can overflow, show in the sum. Integers have no
/// error, nor have elementwise chains: every operation is rounded correctly and once. What a
/// program may write is what it may have, rounded to the output's type.
///
/// REQUIRES: a chain whose stages are in f32 or i32.
std::vector<Expected> expect(const Spec& spec, const Views& views, const void* const* operands,
                             Denormals denormals = Denormals::kKept);

/// "" if every element of `out` is as expected; else the number of wrong elements, and the first
/// one.
std::string compare(const std::vector<Expected>& expected, Dtype dtype, const void* out);
inline std::string compare(const std::vector<Expected>& expected, const float* out) {
  return compare(expected, Dtype::kF32, out);
}

}  // namespace morello::testing

#endif

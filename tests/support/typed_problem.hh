// SPDX-License-Identifier: MIT
// Random chains whose operands have any element types, with the memory of their operands.
#ifndef MORELLO_TESTS_SUPPORT_TYPED_PROBLEM_HH
#define MORELLO_TESTS_SUPPORT_TYPED_PROBLEM_HH

#include <string>
#include <vector>

#include "random_tree.hh"

namespace morello::testing {

/// A Spec whose operands are somewhere, as bytes.
struct TypedProblem {
  Spec spec;
  Views views;
  std::array<std::vector<char>, kMaxOperands> data;

  /// Operands get memory, and numbers: without a reduction any bits, edges and numbers between
  /// them; else small integers other than zero, whose sums and products are exact in any order.
  void fill(Random& random);
};

/// Bytes from the first to past the last element.
size_t extent(const Spec& spec, int operand, const View& view);

/// As random_problem(), but every operand has an element type of its own, and every stage one that
/// they allow.
TypedProblem random_typed_problem(Random& random, u32 max_size = 19);
/// Gives `spec` random element types. REQUIRES: a chain.
void draw_dtypes(Spec& spec, Random& random);

/// The output as bytes, by evaluate().
std::vector<char> evaluated(const TypedProblem& problem);
/// "" if all elements of the output have the same bits, or both are NaN; else which one has not.
std::string compare_bits(const TypedProblem& problem, const std::vector<char>& expected,
                         const void* got);

}  // namespace morello::testing

#endif

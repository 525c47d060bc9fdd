// SPDX-License-Identifier: MIT
// Random Specs of the general form, with the memory of their operands: graphs of stages, element
// types, blocked layouts, windows, several outputs. More than any Statement can say.
#ifndef MORELLO_TESTS_SUPPORT_RANDOM_SPEC_HH
#define MORELLO_TESTS_SUPPORT_RANDOM_SPEC_HH

#include <vector>

#include "random_tree.hh"

namespace morello::testing {

struct RandomSpecOptions {
  u64 max_points = 3000;  // of the iteration space
  bool levels = false;    // operands anywhere; else all in memory
  bool free = false;      // layouts of inputs may be free
};

enum class Numbers {
  kSmall,  // integers from -2 to 2: most sums of them are exact in any order
  kAny,    // whatever the element type has
};

/// A canonical Spec whose operands are somewhere.
struct GeneralProblem {
  Spec spec;
  /// Elements from one to the next, of each entry of each operand's layout.
  std::array<std::array<i64, kMaxPhysical>, kMaxOperands> pitch{};
  Views views;
  std::array<std::vector<char>, kMaxOperands> data;

  void fill(Random& random, Numbers numbers);
  std::vector<OperandMemory> memory();
  std::array<void*, kMaxOperands> pointers();
};

GeneralProblem random_general(Random& random, const RandomSpecOptions& options = {});

/// A random canonical layout of these dimensions; those of `whole_only` are in no blocks.
Layout random_blocks(const Spec& spec, DimMask dims, DimMask whole_only, Random& random);
/// The same Spec with dimension d called now[d].
Spec renumbered(const Spec& spec, const std::array<u8, kMaxDims>& now);

}  // namespace morello::testing

#endif

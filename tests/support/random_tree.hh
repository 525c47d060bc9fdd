// SPDX-License-Identifier: MIT
// Random Specs with the memory of their operands, and random Impl trees for a Spec: any sequence of
// loops, moves and blocks, however bad.
#ifndef MORELLO_TESTS_SUPPORT_RANDOM_TREE_HH
#define MORELLO_TESTS_SUPPORT_RANDOM_TREE_HH

#include <random>
#include <vector>

#include "impl/impl.hh"
#include "impl/interpret.hh"

namespace morello::testing {

using Random = std::mt19937;

/// In [low, high].
inline u32 pick(Random& random, u32 low, u32 high) {
  return std::uniform_int_distribution<u32>(low, high)(random);
}
inline bool chance(Random& random, u32 percent) { return pick(random, 1, 100) <= percent; }

/// A Spec whose operands are somewhere.
struct Problem {
  Spec spec;
  Views views;
  std::array<std::vector<float>, kMaxOperands> data;

  /// Fills all operands with values in [-1, 1].
  void fill(Random& random);
  std::vector<OperandMemory> memory();
  std::array<void*, kMaxOperands> pointers();
};

/// Products, chains, reductions, copies and fills with random sizes; rows may be apart. With four
/// dimensions, sizes are at most 19.
Problem random_problem(Random& random, u32 max_size = 19);
/// A tree for `spec`, about `depth` decisions deep. Its leaves select no microkernel in particular.
ImplTree random_tree(const Spec& spec, Random& random, int depth);

}  // namespace morello::testing

#endif

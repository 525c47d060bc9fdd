// SPDX-License-Identifier: MIT
// What the search sees of a Spec: numbers of actions, prices, and lower bounds.
#ifndef MORELLO_TESTS_GOLDEN_SPACE_HH
#define MORELLO_TESTS_GOLDEN_SPACE_HH

#include "compare.hh"

namespace morello::golden {

/// Sums over the pairs of a few random ways down from the Spec, and over all that their actions
/// lead to. Bounds that are weaker than they were make no other program, and searches slower: here
/// is where that is seen.
Result<std::string> space_of(const Entry& entry);

}  // namespace morello::golden

#endif

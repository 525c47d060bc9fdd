// SPDX-License-Identifier: MIT
// How a search comes to its program, and what it has when it is stopped.
#ifndef MORELLO_TESTS_GOLDEN_EFFORT_HH
#define MORELLO_TESTS_GOLDEN_EFFORT_HH

#include "search/synthesize.hh"

namespace morello::golden {

/// All that a search with one thread counts, and the same search stopped early: its bound, and the
/// cost of its program. None of this changes a result, and all of it time or memory.
std::string effort_of(const Spec& spec, const Target& target, u32 threads,
                      const SearchStats& stats);

}  // namespace morello::golden

#endif

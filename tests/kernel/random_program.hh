// SPDX-License-Identifier: MIT
// Programs that the search could have chosen: random walks over the actions.
#ifndef MORELLO_TESTS_KERNEL_RANDOM_PROGRAM_HH
#define MORELLO_TESTS_KERNEL_RANDOM_PROGRAM_HH

#include <optional>
#include <random>

#include "impl/impl.hh"

namespace morello::testing {

/// A tree with costs and peaks as the search would give them; nothing if the walk came to an end
/// where no action applies. `threads` > 1 allows parallel loops.
std::optional<ImplTree> random_program(const Spec& spec, const Target& target, u32 threads,
                                       std::mt19937_64& random);

}  // namespace morello::testing

#endif

// SPDX-License-Identifier: MIT
// What every search checks of itself, in every build: no pair costs less than a bound that was
// reported for it, and the tree of a solution costs what the solution says. A violation is a bug of
// the cost model, and its Spec is what a report needs.
#ifndef MORELLO_SEARCH_SOUNDNESS_HH
#define MORELLO_SEARCH_SOUNDNESS_HH

#include "search/spec_problem.hh"
#include "support/result.hh"

namespace morello {

/// INTERNAL, if the search met a pair that costs less than its bound.
std::optional<Error> wrong_bound(const SpecSearch& search, const Target& target);
/// INTERNAL, if a program costs anything but `cost`.
std::optional<Error> wrong_cost(const ImplTree& tree, i64 cost);
/// INTERNAL, if a program costs less than `bound`.
std::optional<Error> below_bound(const ImplTree& tree, i64 bound);

}  // namespace morello

#endif

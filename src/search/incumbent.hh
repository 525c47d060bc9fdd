// SPDX-License-Identifier: MIT
// A program before the search is done: what is solved, completed greedily.
#ifndef MORELLO_SEARCH_INCUMBENT_HH
#define MORELLO_SEARCH_INCUMBENT_HH

#include <optional>

#include "actions/walk.hh"
#include "search/spec_problem.hh"

namespace morello {

/// Some program for `spec`: solved pairs by their optimal action, others by the best of the few of
/// their open actions with the lowest bounds, as many as `tries` ways down in all, and of those
/// whose children all have a known program. Nothing if none could be completed. Other threads may
/// be searching. `decided`, if it is not null, is set to the decisions.
std::optional<ImplTree> incumbent(SpecSearch& search, const SpecProblem& problem,
                                  SpecSearch::Worker& worker, const Spec& spec,
                                  const Limits& limits, const Target& target, u32 tries = 30,
                                  DecidedPairs* decided = nullptr);

}  // namespace morello

#endif

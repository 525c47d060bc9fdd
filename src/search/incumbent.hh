// SPDX-License-Identifier: MIT
// A program before the search is done: what is solved, completed greedily.
#ifndef MORELLO_SEARCH_INCUMBENT_HH
#define MORELLO_SEARCH_INCUMBENT_HH

#include <optional>

#include "actions/decide.hh"
#include "search/best_first.hh"
#include "search/spec_problem.hh"

namespace morello {

/// Some program for `spec`: solved pairs by their optimal action, others by the first of their
/// open actions, by lower bound, that can be completed. Nothing if none was found within
/// `max_pairs` pairs. Other threads may be searching.
std::optional<ImplTree> incumbent(BestFirst<SpecProblem>& search, const SpecProblem& problem,
                                  BestFirst<SpecProblem>::Worker& worker, const Spec& spec,
                                  const Limits& limits, const Target& target,
                                  u32 max_pairs = 20000);

}  // namespace morello

#endif

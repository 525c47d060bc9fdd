// SPDX-License-Identifier: MIT
// Searches with an effort: of narrower spaces first, each by the exact algorithm with a memo of its
// own, until a number of expansions is used up.
#ifndef MORELLO_SEARCH_EFFORT_HH
#define MORELLO_SEARCH_EFFORT_HH

#include "actions/action.hh"
#include "search/synthesize.hh"

namespace morello {

/// One search of several.
struct SearchPart {
  Breadth breadth = Breadth::kWhole;
  u64 expansions = 0;              // at most; 0: any number
  const ImplTree* best = nullptr;  // what the parts before found
};

/// The cheapest program of a part, or the best one that is known if something ends it: the effort,
/// then that is `part.best`, if there is one. Errors: as synthesize(). `stats` has a bound for the
/// whole space.
Result<ImplTree> search_part(const Spec& spec, const Target& target, const SearchOptions& options,
                             const SearchPart& part, SearchStats* stats);

/// synthesize() with options.effort. The narrowest space is searched whatever the effort, and of
/// others one that is not searched to its end counts for nothing. So more effort never finds less,
/// and as much finds the same, for all is counted and one thread searches.
Result<ImplTree> search_with_effort(const Spec& spec, const Target& target,
                                    const SearchOptions& options, SearchStats* stats);

}  // namespace morello

#endif

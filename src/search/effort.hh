// SPDX-License-Identifier: MIT
// Searches that may end early: what a table decides for near sizes first, and with an effort
// narrower spaces, each by the exact algorithm with a memo of its own, until so much work
// is done.
#ifndef MORELLO_SEARCH_EFFORT_HH
#define MORELLO_SEARCH_EFFORT_HH

#include <memory>

#include "actions/action.hh"
#include "search/spec_problem.hh"
#include "search/synthesize.hh"

namespace morello {

/// One search of several.
struct SearchPart {
  Breadth breadth = Breadth::kWhole;
  u64 work = 0;                               // at most (search/counts.hh); 0: any amount
  const ImplTree* best = nullptr;             // what the parts before found
  const SpecProblem::Guide* guide = nullptr;  // a space of its own, in place of `breadth`'s
  bool ignores_limits = false;                // the guide
  /// Work of improving what is found (search/improve.hh), at most, if it took no less than
  /// `improves_from` to find it: `improvements`, or what is left of `improves_until`.
  u64 improvements = 0, improves_until = 0, improves_from = 0;
  bool* ended = nullptr;  // set to whether all of the space was searched, unless it is null
};

/// The cheapest program of a part, or the best one that is known if something ends it: the effort,
/// then that is `part.best`, if there is one. Errors: as synthesize(). `stats` has a bound for the
/// whole space.
Result<ImplTree> search_part(const Spec& spec, const Target& target, const SearchOptions& options,
                             const SearchPart& part, SearchStats* stats);

/// The same, of a search that is remembered, to improve what it found later on.
class PartSearch {
 public:
  /// The Spec and the target are referred to.
  PartSearch(const Spec& spec, const Target& target, const SearchOptions& options,
             const SearchPart& part);
  ~PartSearch();
  PartSearch(const PartSearch&) = delete;
  PartSearch& operator=(const PartSearch&) = delete;

  Result<ImplTree> run(SearchStats* stats);
  /// What is found by so much more work, or `tree` if that is nothing better. `stats`: of this.
  /// REQUIRES: run() has found a program.
  Result<ImplTree> improve(const ImplTree& tree, u64 work, u64 time_budget_us, SearchStats* stats);
  /// The same, part by part (search/subtrees.hh).
  Result<ImplTree> improve_parts(const ImplTree& tree, u64 work, u64 time_budget_us,
                                 SearchStats* stats);

 private:
  struct Search;
  std::unique_ptr<Search> search_;
};

/// synthesize() of searches that may end early. What is near comes first (SearchOptions::near); it
/// is all, if it is good enough and the effort no more than kQuickEffort. With an effort, a program
/// of few actions is found and improved whatever it is, and a space that is not searched to its end
/// afterwards counts for nothing; where all were not, parts of that program are solved. So more
/// effort never finds less, and as much finds the same, for all is counted and one thread searches.
Result<ImplTree> search_in_parts(const Spec& spec, const Target& target,
                                 const SearchOptions& options, SearchStats* stats);

}  // namespace morello

#endif

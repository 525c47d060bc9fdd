// SPDX-License-Identifier: MIT
// Exact searches for parts of a program that was found in a narrower space.
#ifndef MORELLO_SEARCH_SUBTREES_HH
#define MORELLO_SEARCH_SUBTREES_HH

#include <functional>

#include "actions/decide.hh"
#include "search/spec_problem.hh"

namespace morello {

/// Solves pairs in the whole space, all in one memo: what is found for one is there for those above
/// it. Used by one thread.
class Subtrees {
 public:
  /// Called with what was done, expansion by expansion. False ends the search.
  using Worked = std::function<bool(const SearchCounts&)>;

  /// `whole` and `worked` are referred to.
  Subtrees(const ActionContext& whole, u32 bound_percent, const Worked& worked)
      : problem_(whole, bound_percent), search_(problem_), worker_(search_), worked_(worked) {
    worker_.set_check([this] { return check(); }, 1);
  }
  Subtrees(const Subtrees&) = delete;
  Subtrees& operator=(const Subtrees&) = delete;

  bool known(const Spec& spec, const Limits& limits, SpecSearch::Solution& out) {
    return search_.known(spec, limits, out);
  }
  /// False if nothing costs less than `bound`, or so much work did not tell: then `out.cost` is a
  /// lower bound, and calling again resumes.
  bool solve(const Pair& pair, i64 bound, u64 work, SpecSearch::Solution& out) {
    worker_.flush();
    most_ = search_.counts().work + work;
    const bool solved = search_.solve(pair.spec, pair.limits, worker_, out, bound);
    worker_.flush();
    check();
    if (!search_.violation()) search_.allow();
    return solved && !search_.violation();
  }
  const SpecSearch& search() const { return search_; }

 private:
  bool check() {
    const SearchCounts now = search_.counts();
    const SearchCounts before = std::exchange(counted_, now);
    return worked_(now.since(before)) && now.work < most_;
  }

  SpecProblem problem_;
  SpecSearch search_;
  SpecSearch::Worker worker_;
  const Worked& worked_;
  SearchCounts counted_;  // told already
  u64 most_ = 0;
};

}  // namespace morello

#endif

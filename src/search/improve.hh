// SPDX-License-Identifier: MIT
// Improves a program decision by decision: each may become any action of the whole space, if what
// that leads to is cheaper with the best programs of a narrower space. Then part by part.
#ifndef MORELLO_SEARCH_IMPROVE_HH
#define MORELLO_SEARCH_IMPROVE_HH

#include <functional>
#include <vector>

#include "actions/decide.hh"
#include "search/spec_problem.hh"
#include "search/subtrees.hh"

namespace morello {

/// Used by one thread. From the root of the program down, a pair whose cost is well above its lower
/// bound lists the actions of the whole space; the best of them is found as in any search, with
/// what is known of the children: the program's own decisions, and a search of a narrower space,
/// which goes on as far as it is needed. A cheaper one takes the old one's place at once, so the
/// program is never dearer than before, wherever this ends.
///
/// A decision that pays only together with others is not found so. So what is below a pair may be
/// solved in the whole space, from the leaves up, as long as that takes little.
class Improvement {
 public:
  /// Called with what was done besides the search's own. False if the search was stopped.
  using Worked = Subtrees::Worked;

  /// `start` decides what the search has not solved. All are referred to.
  Improvement(SpecSearch& search, const SpecProblem& problem, SpecSearch::Worker& worker,
              const ActionContext& whole, const Decisions& start, const Worked& worked)
      : search_(search),
        problem_(problem),
        worker_(worker),
        whole_(whole),
        start_(start),
        worked_(worked) {}

  /// Until the search is stopped, or nothing is left to improve. REQUIRES: `start` or the search
  /// has a program for the pair.
  void run(const Spec& spec, const Limits& limits);
  /// The same, with parts that `subtrees` solves, which is referred to.
  void run_with(Subtrees& subtrees, const Spec& spec, const Limits& limits);
  /// The best that is known, for decide().
  std::optional<Action> action_of(const Spec& spec, const Limits& limits);

 private:
  struct Known {
    Action action;
    i64 cost = kInfinite;
  };
  /// A pair of the program, and what is decided for it.
  struct Step {
    Pair pair;
    Action action;
    i64 cost = 0, own = 0, bound = 0;
    double runs = 0;  // of the pair, in one of the program
    double rise = 0;  // of the program's bound, by the decision
    size_t count = 0;
    std::array<u32, kMaxChildren> child{};
    std::array<u64, kMaxChildren> times{};
  };
  struct Candidate {
    i64 f = 0;  // a lower bound of its cost, or that
    Action action;
  };
  struct Value {
    i64 cost = 0;  // or a lower bound
    bool known = false;
  };

  bool trace(const Spec& spec, const Limits& limits);
  void find_rises();
  u64 next_work(const Step& step);
  bool improve_one();
  bool solve_parts();
  bool solve_part(Step& step, bool* solved);
  i64 target_of(const Step& step) const;
  bool improve(const Step& step, i64 target, u64 most);
  void list(const Step& step, i64 target);
  bool raise(const Pair& pair, Candidate& top, i64 second, i64 target);
  Value value(const Spec& spec, Limits limits, bool quick);

  SpecSearch& search_;
  const SpecProblem& problem_;
  SpecSearch::Worker& worker_;
  const ActionContext& whole_;
  const Decisions& start_;
  const Worked& worked_;
  InsertionMap<Pair, Known> best_;  // of all pairs that were in the program
  InsertionMap<Pair, u64> tried_;   // with so much work; ~0: nothing is cheaper
  Subtrees* subtrees_ = nullptr;    // once it has them
  InsertionMap<Pair, bool> hard_;   // what they did not solve
  std::vector<Step> program_;       // children first
  ActionList list_;
  std::vector<Candidate> heap_;
  Derivation derivation_;
};

}  // namespace morello

#endif

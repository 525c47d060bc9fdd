// SPDX-License-Identifier: MIT
// The definition of the optimum, without any of the search's ideas: every action of every Spec, for
// exactly the limits asked for, remembered only so that it ends.
#ifndef MORELLO_TESTS_SEARCH_BRUTE_FORCE_HH
#define MORELLO_TESTS_SEARCH_BRUTE_FORCE_HH

#include <unordered_map>
#include <utility>
#include <vector>

#include "actions/action.hh"

namespace morello::testing {

class BruteForce {
 public:
  struct Answer {
    i64 cost = kInfinite;
    Action action;
    Limits peaks;
  };

  explicit BruteForce(const ActionContext& context) : context_(context) {}

  Answer solve(const Spec& spec, const Limits& limits) {
    Answers& known = memo_[spec];
    for (const auto& [of, answer] : known)
      if (of == limits) return answer;
    const size_t at = known.size();
    known.emplace_back(limits, Answer{});  // what asks for itself has no answer
    Answer best;
    ActionList actions;
    list_actions(spec, limits, context_, actions);
    for (const Action& action : actions) {
      Derivation d;
      if (!preview(spec, limits, action, context_, d)) continue;
      i64 cost = d.own;
      std::array<Limits, 3> peaks;
      for (int i = 0; i < d.count; i++) {
        const Answer child = solve(d.child[i].spec, d.child[i].limits);
        cost = saturating_add(cost, saturating_mul(d.child[i].times, child.cost));
        peaks[i] = child.peaks;
      }
      bool better = cost < best.cost || (cost == best.cost && cost < kInfinite &&
                                         order_of(action) < order_of(best.action));
      if (better)
        best = {cost, action, peaks_of(d, std::span<const Limits>(peaks.data(), d.count))};
    }
    return known[at].second = best;
  }

  template <class F>
  void each(F&& f) const {
    for (const auto& [spec, answers] : memo_)
      for (const auto& [limits, answer] : answers) f(spec, limits, answer);
  }
  size_t size() const {
    size_t pairs = 0;
    for (const auto& [spec, answers] : memo_) pairs += answers.size();
    return pairs;
  }

 private:
  using Answers = std::vector<std::pair<Limits, Answer>>;
  struct SpecHash {
    size_t operator()(const Spec& spec) const { return hash_of(spec); }
  };
  const ActionContext& context_;
  std::unordered_map<Spec, Answers, SpecHash> memo_;
};

}  // namespace morello::testing

#endif

// SPDX-License-Identifier: MIT
// The definition of the optimum, without any of the search's ideas: every action of every Spec, for
// exactly the limits asked for, remembered only so that it ends.
#ifndef MORELLO_TESTS_SEARCH_BRUTE_FORCE_HH
#define MORELLO_TESTS_SEARCH_BRUTE_FORCE_HH

#include <unordered_map>

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

  const Answer& solve(const Spec& spec, const Limits& limits) {
    auto [it, is_new] = memo_.try_emplace({spec, limits});
    if (!is_new) return it->second;
    Answer best;
    ActionList actions;
    list_actions(spec, limits, context_, actions);
    for (const Action& action : actions) {
      Derivation d;
      if (!preview(spec, limits, action, context_, d)) continue;
      i64 cost = d.own;
      std::array<Limits, 3> peaks;
      for (int i = 0; i < d.count; i++) {
        const Answer& child = solve(d.child[i].spec, d.child[i].limits);
        cost = saturating_add(cost, saturating_mul(d.child[i].times, child.cost));
        peaks[i] = child.peaks;
      }
      bool better = cost < best.cost || (cost == best.cost && cost < kInfinite &&
                                         order_of(action) < order_of(best.action));
      if (better)
        best = {cost, action, peaks_of(d, std::span<const Limits>(peaks.data(), d.count))};
    }
    return memo_[{spec, limits}] = best;
  }

  template <class F>
  void each(F&& f) const {
    for (const auto& [pair, answer] : memo_) f(pair.spec, pair.limits, answer);
  }
  size_t size() const { return memo_.size(); }

 private:
  struct Pair {
    Spec spec;
    Limits limits;
    friend bool operator==(const Pair& a, const Pair& b) {
      return a.spec == b.spec && a.limits == b.limits;
    }
  };
  struct PairHash {
    size_t operator()(const Pair& p) const {
      u32 l = p.limits.use[0] | u32{p.limits.use[1]} << 8 | u32{p.limits.use[2]} << 16;
      return hash_of(p.spec) * 31 + l;
    }
  };
  const ActionContext& context_;
  std::unordered_map<Pair, Answer, PairHash> memo_;
};

}  // namespace morello::testing

#endif

// SPDX-License-Identifier: MIT
#include "search/incumbent.hh"

namespace morello {
namespace {

class Completion {
 public:
  Completion(SpecSearch& search, const SpecProblem& problem, SpecSearch::Worker& worker)
      : search_(search), problem_(problem), worker_(worker) {}

  /// The cost of the program found for a pair, kInfinite if none was. `tries`: how many ways down
  /// may be tried; at least one is.
  i64 complete(const Spec& spec, Limits limits, u32 tries) {
    clamp_limits(spec, limits);
    if (const Known* known = found_.find({spec, limits})) return known->cost;
    Known known;
    SpecSearch::Solution solution;
    if (search_.known(spec, limits, solution)) {
      if (solution.feasible) known = {solution.action, solution.cost};
    } else {
      known = choose(spec, limits, tries);
    }
    found_.add({spec, limits}, known);
    return known.cost;
  }

  std::optional<Action> action_of(const Spec& spec, const Limits& limits) {
    if (const Known* known = found_.find({spec, limits}))
      return known->cost < kInfinite ? std::optional(known->action) : std::nullopt;
    // Below a solved pair, where complete() did not go.
    SpecSearch::Solution solution;
    if (!search_.known(spec, limits, solution) || !solution.feasible) return std::nullopt;
    return solution.action;
  }

 private:
  static constexpr u32 kWidth = 3;
  struct Known {
    Action action;
    i64 cost = kInfinite;
  };

  /// The best of the first few actions that can be completed, of those whose children need no
  /// completing, and of the microkernels.
  Known choose(const Spec& spec, const Limits& limits, u32 tries) {
    bool deep = pairs_left_ > 0;
    if (deep) pairs_left_--;
    std::vector<Action> actions;
    search_.open_actions(spec, limits, worker_, actions);
    Known best;
    u32 width = tries >= kWidth ? kWidth : 1, completed = 0;
    for (const Action& a : actions) {
      Derivation d;
      if (!problem_.preview(spec, limits, a, d)) continue;
      if (d.count > 0 && (completed >= width || !deep) && !is_known(d)) continue;
      i64 cost = d.own;
      for (int i = 0; i < d.count && cost < kInfinite; i++)
        cost = saturating_add(
            cost, saturating_mul(d.child[i].times,
                                 complete(d.child[i].spec, d.child[i].limits, tries / width)));
      if (d.count > 0 && cost < kInfinite) completed++;
      if (cost < best.cost) best = {a, cost};
    }
    return best;
  }

  /// Are programs of all children known without looking further?
  bool is_known(const Derivation& d) {
    for (int i = 0; i < d.count; i++) {
      Limits limits = d.child[i].limits;
      clamp_limits(d.child[i].spec, limits);
      SpecSearch::Solution solution;
      if (!found_.find({d.child[i].spec, limits}) &&
          !search_.known(d.child[i].spec, limits, solution))
        return false;
    }
    return true;
  }

  SpecSearch& search_;
  const SpecProblem& problem_;
  SpecSearch::Worker& worker_;
  InsertionMap<Pair, Known> found_;
  u32 pairs_left_ = 20000;  // of those that have no program at all there may be many
};

}  // namespace

std::optional<ImplTree> incumbent(SpecSearch& search, const SpecProblem& problem,
                                  SpecSearch::Worker& worker, const Spec& spec,
                                  const Limits& limits, const Target& target, u32 tries,
                                  DecidedPairs* decided) {
  Completion completion(search, problem, worker);
  if (completion.complete(spec, limits, tries) >= kInfinite) return std::nullopt;
  const Decisions decisions = [&](const Spec& s, const Limits& l) {
    const std::optional<Action> action = completion.action_of(s, l);
    if (decided && action && !decided->find({s, l})) decided->add({s, l}, *action);
    return action;
  };
  return decide(spec, limits, problem.context(), target, decisions, {.trusted = true});
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "search/incumbent.hh"

namespace morello {
namespace {

class Completion {
 public:
  Completion(BestFirst<SpecProblem>& search, const SpecProblem& problem,
             BestFirst<SpecProblem>::Worker& worker, u32 max_pairs)
      : search_(search), problem_(problem), worker_(worker), pairs_left_(max_pairs) {}

  bool complete(const Spec& spec, Limits limits) {
    clamp_limits(spec, limits);
    BestFirst<SpecProblem>::Solution solution;
    if (search_.known(spec, limits, worker_, solution)) {
      if (!found_.find({spec, limits}))
        found_.add({spec, limits},
                   solution.feasible ? std::optional(solution.action) : std::nullopt);
      return solution.feasible;
    }
    if (const auto* action = found_.find({spec, limits})) return action->has_value();
    if (pairs_left_ == 0) return false;
    pairs_left_--;
    std::optional<Action> chosen = choose(spec, limits);
    found_.add({spec, limits}, chosen);
    return chosen.has_value();
  }

  std::optional<Action> action_of(const Spec& spec, const Limits& limits) {
    const auto* action = found_.find({spec, limits});
    return action ? *action : std::nullopt;
  }

 private:
  std::optional<Action> choose(const Spec& spec, const Limits& limits) {
    std::vector<Action> actions;
    search_.open_actions(spec, limits, worker_, actions);
    for (const Action& a : actions) {
      Derivation d;
      if (!problem_.preview(spec, limits, a, d)) continue;
      bool whole = true;
      for (int i = 0; i < d.count && whole; i++)
        whole = complete(d.child[i].spec, d.child[i].limits);
      if (whole) return a;
    }
    return std::nullopt;
  }

  BestFirst<SpecProblem>& search_;
  const SpecProblem& problem_;
  BestFirst<SpecProblem>::Worker& worker_;
  InsertionMap<Pair, std::optional<Action>> found_;
  u32 pairs_left_;
};

}  // namespace

std::optional<ImplTree> incumbent(BestFirst<SpecProblem>& search, const SpecProblem& problem,
                                  BestFirst<SpecProblem>::Worker& worker, const Spec& spec,
                                  const Limits& limits, const Target& target, u32 max_pairs) {
  Completion completion(search, problem, worker, max_pairs);
  if (!completion.complete(spec, limits)) return std::nullopt;
  return decide(spec, limits, problem.context(), target,
                [&](const Spec& s, const Limits& l) { return completion.action_of(s, l); },
                {.trusted = true});
}

}  // namespace morello

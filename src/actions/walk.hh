// SPDX-License-Identifier: MIT
// Walk: from a pair along its decision to the pairs that it leads to, down to the leaves. All who
// ask what decisions amount to take the same one, and keep a value for each pair: a node of an Impl
// tree, or the decision itself.
#ifndef MORELLO_ACTIONS_WALK_HH
#define MORELLO_ACTIONS_WALK_HH

#include <deque>

#include "actions/clamp.hh"
#include "actions/decide.hh"

namespace morello {

using DecidedPairs = InsertionMap<Pair, Action>;
/// For walks whose values are the decisions.
inline std::optional<Action> the_action(const Pair&, const Action& action, const Derivation&,
                                        const std::array<Action, kMaxChildren>&) {
  return action;
}

template <class Value>
class Walk {
 public:
  using Known = InsertionMap<Pair, Value>;
  enum class Obstacle : u8 { kNothing, kUnknown, kWrong, kTooMany };

  /// All are referred to. Pairs in `known` need no visit; those that are visited are added to it.
  Walk(const ActionContext& context, const Decisions& decisions, const DecideOptions& options,
       Known& known)
      : context_(context), decisions_(decisions), options_(options), known_(known) {}

  /// The value of a Spec at `limits`, which are clamped here: what finish(pair, action, derivation,
  /// values of the children) makes of it, once per pair and after all its children. Nothing if
  /// that makes nothing, or there is an obstacle.
  template <class Finish>
  std::optional<Value> to(const Spec& spec, const Limits& limits, const Finish& finish,
                          u32 depth = 0) {
    Pair pair{spec, limits};
    clamp_limits(pair.spec, pair.limits);
    const u32 hash = known_.hash(pair);
    if (const Value* known = known_.find(pair, hash)) return *known;
    const std::optional<Action> action = decisions_(pair.spec, pair.limits);
    if (!action) return stop(Obstacle::kUnknown, pair);
    while (derivations_.size() <= depth) derivations_.emplace_back();
    Derivation& d = derivations_[depth];
    if (depth >= options_.max_depth || !is_possible(pair, *action, d))
      return stop(Obstacle::kWrong, pair);
    std::array<Value, kMaxChildren> child{};
    for (int i = 0; i < d.count; i++) {
      const std::optional<Value> value = to(d.child[i].spec, d.child[i].limits, finish, depth + 1);
      if (!value) return std::nullopt;
      child[static_cast<size_t>(i)] = *value;
    }
    if (known_.size() >= options_.max_nodes) return stop(Obstacle::kTooMany, pair);
    const std::optional<Value> value = finish(pair, *action, d, child);
    if (value) known_.add(pair, hash, *value);
    return value;
  }

  Obstacle obstacle() const { return obstacle_; }
  /// The Spec where the obstacle is.
  const Spec& where() const { return where_; }

 private:
  bool is_possible(const Pair& pair, const Action& action, Derivation& d) {
    return (options_.trusted || is_listed(pair.spec, pair.limits, action, context_, list_)) &&
           preview(pair.spec, pair.limits, action, context_, d);
  }

  std::nullopt_t stop(Obstacle obstacle, const Pair& pair) {
    obstacle_ = obstacle;
    where_ = pair.spec;
    return std::nullopt;
  }

  const ActionContext& context_;
  const Decisions& decisions_;
  const DecideOptions& options_;
  Known& known_;
  ActionList list_;
  std::deque<Derivation> derivations_;  // by depth; they are large
  Obstacle obstacle_ = Obstacle::kNothing;
  Spec where_;
};

}  // namespace morello

#endif

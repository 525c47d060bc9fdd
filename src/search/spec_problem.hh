// SPDX-License-Identifier: MIT
// The search problem of Specs: keys are canonical Specs, limits are memory limits.
#ifndef MORELLO_SEARCH_SPEC_PROBLEM_HH
#define MORELLO_SEARCH_SPEC_PROBLEM_HH

#include "actions/action.hh"
#include "actions/clamp.hh"
#include "cost/bounds.hh"

namespace morello {

/// Immutable; see best_first.hh for what each member means.
class SpecProblem {
 public:
  using Key = Spec;
  using Limits = morello::Limits;
  using Action = morello::Action;
  using ActionList = morello::ActionList;
  using Derivation = morello::Derivation;
  static constexpr int kMaxChildren = morello::kMaxChildren;

  /// `use_bounds` false: every lower bound is 0, for tests that compare with the unpruned search.
  explicit SpecProblem(const ActionContext& context, bool use_bounds = true)
      : context_(context), bounds_(*context.target), use_bounds_(use_bounds) {}

  u64 hash(const Spec& spec) const { return hash_of(spec); }
  i64 lower_bound(const Spec& spec, const Limits& limits) const {
    return use_bounds_ ? bounds_.of(spec, limits) : 0;
  }
  void list(const Spec& spec, const Limits& limits, ActionList& out) const {
    list_actions(spec, limits, context_, out);
  }
  bool preview(const Spec& spec, const Limits& limits, const Action& action,
               Derivation& out) const {
    return morello::preview(spec, limits, action, context_, out);
  }
  Limits peaks(const Derivation& d, std::span<const Limits> children) const {
    return peaks_of(d, children);
  }
  u64 order(const Action& action) const { return order_of(action); }

  void clamp(const Spec& spec, Limits& limits) const { clamp_limits(spec, limits); }

  const ActionContext& context() const { return context_; }

 private:
  ActionContext context_;
  Bounds bounds_;
  bool use_bounds_;
};

}  // namespace morello

#endif

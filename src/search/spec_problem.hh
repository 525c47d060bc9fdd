// SPDX-License-Identifier: MIT
// The search problem of Specs: keys are canonical Specs, limits are memory limits.
#ifndef MORELLO_SEARCH_SPEC_PROBLEM_HH
#define MORELLO_SEARCH_SPEC_PROBLEM_HH

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "actions/action.hh"
#include "actions/clamp.hh"
#include "cost/bounds.hh"
#include "search/best_first.hh"
#include "spec/roles.hh"

namespace morello {

/// Without the operands and stages that there are not, which are most.
template <>
struct KeptKey<Spec> {
  static size_t bytes(const Spec& spec) { return spec.used_bytes() + spec.stage_bytes(); }
  static void write(const Spec& spec, char* to) {
    std::memcpy(to, &spec, spec.used_bytes());
    std::memcpy(to + spec.used_bytes(), &spec.stage, spec.stage_bytes());
  }
  static bool equal(const Spec& spec, const char* kept) {
    return kept[offsetof(Spec, operand_count)] == static_cast<char>(spec.operand_count) &&
           kept[offsetof(Spec, stage_count)] == static_cast<char>(spec.stage_count) &&
           std::memcmp(&spec, kept, spec.used_bytes()) == 0 &&
           std::memcmp(&spec.stage, kept + spec.used_bytes(), spec.stage_bytes()) == 0;
  }
  static Spec read(const char* kept) {
    Spec spec;
    spec.operand_count = static_cast<u8>(kept[offsetof(Spec, operand_count)]);
    spec.stage_count = static_cast<u8>(kept[offsetof(Spec, stage_count)]);
    const size_t used = spec.used_bytes();
    std::memcpy(static_cast<void*>(&spec), kept, used);
    std::memcpy(static_cast<void*>(&spec.stage), kept + used, spec.stage_bytes());
    return spec;
  }
};

/// Immutable; see best_first.hh for what each member means.
class SpecProblem {
 public:
  using Key = Spec;
  using Limits = morello::Limits;
  using Action = morello::Action;
  using ActionList = morello::ActionList;
  using Derivation = morello::Derivation;
  struct Use {  // what a node allocates while its children run
    Level level = Level::kMemory;
    u32 amount = 0;
  };
  static constexpr int kMaxChildren = morello::kMaxChildren;

  /// Lists actions in place of those of the context: a space of its own.
  using Guide = std::function<void(const Spec&, const Limits&, ActionList&)>;

  /// `bound_percent`: of every lower bound, for tests that compare with searches that prune less.
  /// `guide`: referred to; may be null.
  explicit SpecProblem(const ActionContext& context, u32 bound_percent = 100,
                       const Guide* guide = nullptr)
      : context_(context),
        bounds_(*context.target, context.microkernels),
        most_(limits_of(*context.target)),
        bound_percent_(bound_percent),
        guide_(guide) {}

  u64 hash(const Spec& spec) const { return hash_of(spec); }
  /// Graphs have cuts to preview, and a bound for each stage.
  bool is_heavy(const Spec& spec) const { return !is_chain(spec); }
  i64 lower_bound(const Spec& spec, const Limits& limits) const {
    return part_of(bounds_.of(spec, limits));
  }
  i64 quick_bound(const Spec& spec, const Limits& limits) const {
    return part_of(bounds_.quick(spec, limits));
  }
  void list(const Spec& spec, const Limits& limits, ActionList& out) const {
    if (guide_)
      (*guide_)(spec, limits, out);
    else
      list_actions(spec, limits, context_, out);
  }
  bool preview(const Spec& spec, const Limits& limits, const Action& action,
               Derivation& out) const {
    return morello::preview(spec, limits, action, context_, out);
  }
  Use use_of(const Derivation& d) const { return {d.level, static_cast<u32>(d.amount)}; }
  Limits peaks(const Use& use, std::span<const Limits> children) const {
    Limits most;
    for (const Limits& p : children) most = max_of(most, p);
    return add(most, use.level, use.amount);
  }
  u64 order(const Action& action) const { return order_of(action); }

  /// Up to the next power of two of each cache.
  Limits loosen(Limits limits) const {
    for (Level level : {Level::kL1, Level::kL2})
      limits.at(level) = std::min(most_.at(level), static_cast<u8>((limits.at(level) + 3) / 4 * 4));
    return limits;
  }
  void clamp(const Spec& spec, Limits& limits) const { clamp_limits(spec, limits); }

  const ActionContext& context() const { return context_; }

 private:
  i64 part_of(i64 bound) const {
    return bound_percent_ == 100 ? bound : bound / 100 * bound_percent_;
  }

  ActionContext context_;
  Bounds bounds_;
  Limits most_;
  u32 bound_percent_;
  const Guide* guide_;
};

using SpecSearch = BestFirst<SpecProblem>;
static_assert(sizeof(Memo<Spec, Limits, PairState<SpecProblem>>::Entry) == kLineBytes);

}  // namespace morello

#endif

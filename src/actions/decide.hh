// SPDX-License-Identifier: MIT
// From decisions to programs: whoever knows the action of every (Spec, limits) pair, a search or a
// table, knows the Impl tree, its cost and its peaks.
#ifndef MORELLO_ACTIONS_DECIDE_HH
#define MORELLO_ACTIONS_DECIDE_HH

#include <functional>
#include <optional>

#include "actions/action.hh"
#include "support/insertion_map.hh"

namespace morello {

/// What is decided: a Spec at clamped limits.
struct Pair {
  Spec spec;
  Limits limits;
  friend bool operator==(const Pair&, const Pair&) = default;
};
u64 hash_of(const Pair& pair, u64 seed);

/// The action of a Spec at clamped limits, or nothing if it is not known.
using Decisions = std::function<std::optional<Action>(const Spec&, const Limits&)>;

struct DecideOptions {
  bool trusted = false;        // decisions need no check: they come from the actions themselves
  size_t max_nodes = 1 << 16;  // of the tree, or pairs; decisions that ask for more are no program
  u32 max_depth = 512;
};

/// The program that `decisions` describe for a Spec. Children come after all their parents, pairs
/// of equal Specs and limits share a node, costs and peaks are computed from the leaves up. Nothing
/// if a decision is unknown, not among the actions of its Spec, does not fit the limits, or past
/// the options' maxima. `target` is what the tree refers to.
std::optional<ImplTree> decide(const Spec& spec, const Limits& limits, const ActionContext& context,
                               const Target& target, const Decisions& decisions,
                               const DecideOptions& options = {});

/// Is `action` among those that list_actions() finds? Asks its own rewrite only. `scratch` is
/// overwritten.
bool is_listed(const Spec& spec, const Limits& limits, const Action& action,
               const ActionContext& context, ActionList& scratch);

}  // namespace morello

#endif

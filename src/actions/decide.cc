// SPDX-License-Identifier: MIT
#include "actions/decide.hh"

#include <algorithm>
#include <deque>

#include "actions/clamp.hh"

namespace morello {
namespace {

/// Makes nodes children first; the root is the last one.
class Decider {
 public:
  Decider(const ActionContext& context, const Decisions& decisions, const DecideOptions& options,
          std::vector<ImplNode>& nodes)
      : context_(context), decisions_(decisions), options_(options), nodes_(nodes) {
    nodes_.reserve(kUsualNodes);
    known_.reserve(kUsualNodes);
  }

  /// Limits are clamped. False: no program.
  bool make(const Spec& spec, const Limits& limits, u32 depth) {
    std::optional<Action> action = decisions_(spec, limits);
    if (!action || depth >= options_.max_depth) return false;
    if (!options_.trusted && !is_listed(spec, limits, *action, context_, list_)) return false;
    while (derivations_.size() <= depth) derivations_.emplace_back();
    Derivation& d = derivations_[depth];
    if (!preview(spec, limits, *action, context_, d)) return false;
    std::array<NodeId, kMaxChildren> child{};
    std::array<Limits, kMaxChildren> peaks;
    i64 cost = d.own;
    for (int i = 0; i < d.count; i++) {
      if (!make_shared(d.child[i], depth + 1, child[i])) return false;
      cost = saturating_add(cost, saturating_mul(d.child[i].times, nodes_[child[i]].cost));
      peaks[i] = nodes_[child[i]].peaks;
    }
    if (cost >= kInfinite || nodes_.size() >= options_.max_nodes) return false;
    ImplNode& node = nodes_.emplace_back(apply(spec, *action, context_, d));
    for (int i = 0; i < d.count; i++) node.children[static_cast<size_t>(i)].node = child[i];
    node.cost = cost;
    node.peaks = peaks_of(d, std::span<const Limits>(peaks.data(), static_cast<size_t>(d.count)));
    return true;
  }

 private:
  static constexpr size_t kUsualNodes = 64;

  bool make_shared(Child& child, u32 depth, NodeId& id) {
    clamp_limits(child.spec, child.limits);
    Pair pair{child.spec, child.limits};
    if (const NodeId* known = known_.find(pair)) {
      id = *known;
      return true;
    }
    if (!make(child.spec, child.limits, depth)) return false;
    id = static_cast<NodeId>(nodes_.size() - 1);
    known_.add(pair, id);
    return true;
  }

  const ActionContext& context_;
  const Decisions& decisions_;
  const DecideOptions& options_;
  std::vector<ImplNode>& nodes_;
  InsertionMap<Pair, NodeId> known_;
  ActionList list_;
  std::deque<Derivation> derivations_;  // by depth; they are large
};

}  // namespace

u64 hash_of(const Pair& pair, u64 seed) {
  u64 use = u64{pair.limits.use[0]} | u64{pair.limits.use[1]} << 8 | u64{pair.limits.use[2]} << 16;
  return hash_of(pair.spec, seed ^ use * 0x9e3779b97f4a7c15u);
}

std::optional<ImplTree> decide(const Spec& spec, const Limits& limits, const ActionContext& context,
                               const Target& target, const Decisions& decisions,
                               const DecideOptions& options) {
  std::optional<ImplTree> tree(std::in_place);
  tree->target = &target;
  Limits clamped = limits;
  clamp_limits(spec, clamped);
  if (!Decider(context, decisions, options, tree->nodes).make(spec, clamped, 0))
    return std::nullopt;
  // Turned around, children come after all their parents.
  NodeId root = static_cast<NodeId>(tree->nodes.size() - 1);
  std::reverse(tree->nodes.begin(), tree->nodes.end());
  for (ImplNode& node : tree->nodes)
    for (Edge& edge : node.children) edge.node = root - edge.node;
  return tree;
}

bool is_listed(const Spec& spec, const Limits& limits, const Action& action,
               const ActionContext& context, ActionList& scratch) {
  size_t kind = static_cast<size_t>(action.kind);
  if (kind == 0 || kind > rewrites().size() || (context.disabled >> kind & 1)) return false;
  const Rewrite& rewrite = *rewrites()[kind - 1];
  if (rewrite.lists) return rewrite.lists(spec, limits, action, context);
  scratch.clear();
  rewrite.list(spec, limits, context, scratch);
  return std::find(scratch.begin(), scratch.end(), action) != scratch.end();
}

}  // namespace morello

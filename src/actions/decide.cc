// SPDX-License-Identifier: MIT
#include "actions/decide.hh"

#include <algorithm>
#include <bit>

#include "actions/narrow.hh"
#include "actions/walk.hh"

namespace morello {
namespace {

constexpr size_t kUsualNodes = 64;

}  // namespace

u64 hash_of(const Pair& pair, u64 seed) {
  u64 use = std::bit_cast<u32>(pair.limits.use);
  return hash_of(pair.spec, seed ^ use * 0x9e3779b97f4a7c15u);
}

std::optional<ImplTree> decide(const Spec& spec, const Limits& limits, const ActionContext& context,
                               const Target& target, const Decisions& decisions,
                               const DecideOptions& options) {
  std::optional<ImplTree> tree(std::in_place);
  tree->target = &target;
  std::vector<ImplNode>& nodes = tree->nodes;
  InsertionMap<Pair, NodeId> known;
  nodes.reserve(kUsualNodes);
  known.reserve(kUsualNodes);
  auto make = [&](const Pair& pair, const Action& action, const Derivation& d,
                  const std::array<NodeId, kMaxChildren>& child) -> std::optional<NodeId> {
    std::array<Limits, kMaxChildren> peaks;
    const size_t children = static_cast<size_t>(d.count);
    i64 cost = d.own;
    for (size_t i = 0; i < children; i++) {
      cost = saturating_add(cost, saturating_mul(d.child[i].times, nodes[child[i]].cost));
      peaks[i] = nodes[child[i]].peaks;
    }
    if (cost >= kInfinite) return std::nullopt;
    ImplNode& node = nodes.emplace_back(apply(pair.spec, action, context, d));
    for (size_t i = 0; i < children; i++) node.children[i].node = child[i];
    node.cost = cost;
    node.peaks = peaks_of(d, std::span<const Limits>(peaks.data(), children));
    return static_cast<NodeId>(nodes.size() - 1);
  };
  if (!Walk<NodeId>(context, decisions, options, known).to(spec, limits, make)) return std::nullopt;
  // Turned around, children come after all their parents.
  const NodeId root = static_cast<NodeId>(nodes.size() - 1);
  std::reverse(nodes.begin(), nodes.end());
  for (ImplNode& node : nodes)
    for (Edge& edge : node.children) edge.node = root - edge.node;
  return tree;
}

bool is_listed(const Spec& spec, const Limits& limits, const Action& action,
               const ActionContext& context, ActionList& scratch) {
  size_t kind = static_cast<size_t>(action.kind);
  if (kind == 0 || kind > rewrites().size()) return false;
  const Rewrite& rewrite = *rewrites()[kind - 1];
  const u8 specials = specials_of(spec);
  if (!may_be_listed(rewrite, specials, context)) return false;
  if (specials == 0)
    if (const std::optional<Action> sure = sure_action(spec, context)) return action == *sure;
  if (rewrite.lists) return rewrite.lists(spec, limits, action, context);
  scratch.clear();
  rewrite.list(spec, limits, context, scratch);
  return std::find(scratch.begin(), scratch.end(), action) != scratch.end();
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "random_program.hh"

#include <algorithm>
#include <vector>

#include "actions/action.hh"

namespace morello::testing {
namespace {

constexpr int kDepth = 9;  // from here on, leaves where possible

class Walk {
 public:
  Walk(const Target& target, std::mt19937_64& random) : context_{&target, 0}, random_(random) {
    tree_.target = &target;
  }

  bool grow(const Spec& spec, const Limits& limits, int depth) {
    if (tree_.nodes.size() > 300 || depth > 3 * kDepth) return false;
    Derivation d;
    std::optional<Action> action = choose(spec, limits, depth, d);
    if (!action) return false;
    size_t id = tree_.nodes.size();
    tree_.nodes.push_back(apply(spec, *action, context_, d));
    std::vector<Limits> peaks;
    i64 cost = d.own;
    for (int c = 0; c < d.count; c++) {
      NodeId child = static_cast<NodeId>(tree_.nodes.size());
      if (!grow(d.child[c].spec, d.child[c].limits, depth + 1)) return false;
      tree_.nodes[id].children[static_cast<size_t>(c)].node = child;
      peaks.push_back(tree_.nodes[child].peaks);
      cost = saturating_add(cost, saturating_mul(d.child[c].times, tree_.nodes[child].cost));
    }
    tree_.nodes[id].cost = cost;
    tree_.nodes[id].peaks = peaks_of(d, peaks);
    return true;
  }

  ImplTree& tree() { return tree_; }

 private:
  /// First a kind, then one action of it: otherwise most would be tiles.
  std::optional<Action> choose(const Spec& spec, const Limits& limits, int depth, Derivation& d) {
    ActionList list;
    list_actions(spec, limits, context_, list);
    std::vector<Action> legal;
    std::vector<ActionKind> kinds;
    for (const Action& a : list) {
      if (!preview(spec, limits, a, context_, d)) continue;
      legal.push_back(a);
      if (std::find(kinds.begin(), kinds.end(), a.kind) != kinds.end()) continue;
      kinds.insert(kinds.end(), a.kind == ActionKind::kView ? 1 : 3, a.kind);
    }
    if (legal.empty()) return std::nullopt;
    ActionKind kind = kinds[random_() % kinds.size()];
    bool has_leaf = std::find(kinds.begin(), kinds.end(), ActionKind::kSelect) != kinds.end();
    if (has_leaf && (depth >= kDepth || tree_.nodes.size() > 60)) kind = ActionKind::kSelect;
    std::erase_if(legal, [&](const Action& a) { return a.kind != kind; });
    auto is_panels = [](const Action& a) { return a.option == LayoutOption::kPanels; };
    if (std::any_of(legal.begin(), legal.end(), is_panels) && random_() % 4 != 0)
      std::erase_if(legal, [&](const Action& a) { return !is_panels(a); });
    Action action = legal[random_() % legal.size()];
    preview(spec, limits, action, context_, d);
    return action;
  }

  ActionContext context_;
  std::mt19937_64& random_;
  ImplTree tree_;
};

}  // namespace

std::optional<ImplTree> random_program(const Spec& spec, const Target& target, u32 threads,
                                       std::mt19937_64& random) {
  Spec root = spec;
  root.serial = threads <= 1;
  for (int attempt = 0; attempt < 10; attempt++) {
    Walk walk(target, random);
    if (walk.grow(root, limits_of(target), 0)) return std::move(walk.tree());
  }
  return std::nullopt;
}

}  // namespace morello::testing

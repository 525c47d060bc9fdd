// SPDX-License-Identifier: MIT
#include "action_tree.hh"

#include <cmath>
#include <cstring>

#include "actions/clamp.hh"
#include "cost/bounds.hh"
#include "impl/evaluate.hh"
#include "impl/interpret.hh"
#include "impl/microkernel_id.hh"
#include "reference.hh"
#include "spec/canonical.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

/// Memory of a graph's operands, of numbers from -2 to 2.
struct Data {
  explicit Data(const Lowered& lowered, Random& random) {
    const Spec& spec = lowered.spec;
    for (int o = 0; o < spec.operand_count; o++) {
      const Dtype dtype = spec.operand[o].dtype;
      std::vector<char>& memory = bytes.emplace_back(lowered.bytes[o]);
      for (size_t at = 0; at < memory.size(); at += size_of(dtype)) {
        const u32 bits = encoded(dtype, pick(random, 0, 4000) / 1000.0 - 2);
        std::memcpy(memory.data() + at, &bits, size_of(dtype));
      }
    }
  }
  std::array<void*, kMaxOperands> pointers() {
    std::array<void*, kMaxOperands> all{};
    for (size_t o = 0; o < bytes.size(); o++) all[o] = bytes[o].data();
    return all;
  }
  std::vector<OperandMemory> memory(const Spec& spec) {
    std::vector<OperandMemory> all;
    for (size_t o = 0; o < bytes.size(); o++)
      all.push_back({bytes[o].data(), bytes[o].size() / size_of(spec.operand[o].dtype)});
    return all;
  }
  std::vector<std::vector<char>> bytes;
};

/// Random actions down to where a walk ends; leaves select no microkernel in particular, and cost
/// what any program does: loops over them may cost less than they do one by one.
NodeId grow(ImplTree& tree, const Spec& spec, const Limits& limits, const ActionContext& context,
            Random& random, int depth, std::map<ActionKind, int>& seen) {
  const NodeId id = static_cast<NodeId>(tree.nodes.size());
  const i64 least = Bounds(*context.target).quick(spec, limits);
  tree.nodes.push_back({spec, Select{static_cast<u16>(MicrokernelId::kScalarMap)}, {}, least, {}});
  ActionList list;
  list_actions(spec, limits, context, list);
  std::map<ActionKind, std::vector<Action>> kinds;
  Derivation d;
  for (const Action& a : list)
    if (a.kind != ActionKind::kSelect && preview(spec, limits, a, context, d))
      kinds[a.kind].push_back(a);
  if (kinds.empty() || depth == 0 || id > 150) return id;
  auto kind = kinds.begin();
  std::advance(kind, pick(random, 0, static_cast<u32>(kinds.size()) - 1));
  const Action action = kind->second[pick(random, 0, static_cast<u32>(kind->second.size()) - 1)];
  preview(spec, limits, action, context, d);
  seen[action.kind]++;
  tree.nodes[id] = apply(spec, action, context, d);
  std::vector<Limits> peaks;
  i64 cost = d.own;
  for (int c = 0; c < d.count; c++) {
    const NodeId child =
        grow(tree, d.child[c].spec, d.child[c].limits, context, random, depth - 1, seen);
    tree.nodes[id].children[static_cast<size_t>(c)].node = child;
    peaks.push_back(tree.nodes[child].peaks);
    cost = saturating_add(cost, saturating_mul(d.child[c].times, tree.nodes[child].cost));
  }
  tree.nodes[id].cost = cost;
  tree.nodes[id].peaks = peaks_of(d, peaks);
  return id;
}

}  // namespace

ImplTree random_action_tree(const Spec& spec, const ActionContext& context, Random& random,
                            int depth, std::map<ActionKind, int>& seen) {
  ImplTree tree;
  tree.target = context.target;
  Limits limits = limits_of(*context.target);
  clamp_limits(spec, limits);
  grow(tree, spec, limits, context, random, depth, seen);
  return tree;
}

std::string wrong_tree(const ImplTree& tree, const Lowered& lowered, Random& random) {
  const Spec& spec = lowered.spec;
  for (const ImplNode& node : tree.nodes)
    if (std::string bad = not_canonical(node.spec); !bad.empty())
      return describe(node.spec) + ": " + bad;
  if (std::string bad = validate(tree); !bad.empty()) return bad;
  Data found(lowered, random);
  Data expected = found;
  evaluate(spec, lowered.view, expected.pointers().data());
  const std::vector<OperandMemory> memory = found.memory(spec);
  const Result<InterpretStats> stats = interpret(tree, lowered.view, memory);
  if (!stats) return stats.error().message;
  for (size_t o = 0; o < found.bytes.size(); o++) {
    const Dtype dtype = spec.operand[o].dtype;
    if (spec.operand[o].access == Access::kIn) continue;
    for (size_t at = 0; at < found.bytes[o].size(); at += size_of(dtype)) {
      const double x =
          load_number(dtype, found.bytes[o].data(), static_cast<i64>(at / size_of(dtype)));
      const double y =
          load_number(dtype, expected.bytes[o].data(), static_cast<i64>(at / size_of(dtype)));
      const double allowed = is_narrow_float(dtype) ? 0.02 : 1e-4;
      if (x == y || std::fabs(x - y) <= allowed * std::max(1.0, std::fabs(y))) continue;
      if (std::isnan(x) && std::isnan(y)) continue;
      return "operand " + std::to_string(o) + " has " + std::to_string(x) + ", not " +
             std::to_string(y);
    }
  }
  return "";
}

}  // namespace morello::testing

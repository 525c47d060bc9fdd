// SPDX-License-Identifier: MIT
// Causal graphs: rows divided anywhere and masks, in random trees and as actions have them, against
// evaluate(), which tests/spec compares with what operations mean.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "../support/graph_tree.hh"
#include "../support/random_graph.hh"
#include "../support/reference.hh"
#include "../support/scale.hh"
#include "actions/action.hh"
#include "actions/clamp.hh"
#include "impl/evaluate.hh"
#include "impl/interpret.hh"
#include "impl/microkernel_id.hh"
#include "spec/canonical.hh"
#include "spec/diagonal.hh"
#include "spec/roles.hh"
#include "support/number.hh"

namespace morello {
namespace {

using namespace testing;

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

/// "" if the tree computes what evaluate() does, but for the order of sums.
std::string wrong(const ImplTree& tree, const Lowered& lowered, Random& random) {
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

/// The next random graph with a diagonal.
Lowered random_causal(Random& random, u32 seed) {
  for (;;) {
    const Statement s = random_graph(random, 1 + static_cast<int>(seed % 6));
    Lowered lowered = *lower(s);
    if (lowered.spec.diagonal.used()) return lowered;
  }
}

Lowered lowered(std::string_view text) {
  const Result<Statement> s = parse(text);
  REQUIRE_MESSAGE(s.ok(), text);
  return *lower(*s);
}

TEST_SUITE_BEGIN("impl");

TEST_CASE("random trees of causal graphs are valid and compute them") {
  GraphTreeCounts counts;
  for (u32 seed = 1, last = static_cast<u32>(testing::rounds(3000)); seed <= last; seed++) {
    Random random(seed);
    const Lowered graph = random_causal(random, seed);
    const ImplTree tree = random_graph_tree(graph.spec, random, static_cast<int>(seed % 7), counts);
    INFO("seed " << seed << ": " << describe(graph.spec) << ":\n" << print(tree));
    REQUIRE(wrong(tree, graph, random) == "");
  }
  CHECK(counts.divides > testing::rounds(300));
  CHECK(counts.columns_left_out > testing::rounds(100));
  CHECK(counts.masks > testing::rounds(300));
}

TEST_CASE("attention whose rows are divided anywhere") {
  for (u32 seed = 1; seed <= 400; seed++) {
    Random random(seed);
    const u32 rows = pick(random, 2, 9), columns = pick(random, 2, 12), d = pick(random, 1, 3);
    const std::string keys = "f32[2," + std::to_string(columns) + ',' + std::to_string(d) + ']';
    const std::string text = "attention f32[2," + std::to_string(rows) + ',' + std::to_string(d) +
                             "] " + keys + ' ' + keys +
                             " causal offset=" + std::to_string(pick(random, 0, 4));
    const Lowered graph = lowered(text);
    GraphTreeCounts counts;
    const ImplTree tree = random_graph_tree(graph.spec, random, static_cast<int>(seed % 7), counts);
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong(tree, graph, random) == "");
  }
}

/// Random actions down to where a walk ends; leaves select no microkernel in particular.
NodeId grow(ImplTree& tree, const Spec& spec, const Limits& limits, const ActionContext& context,
            Random& random, int depth, std::map<ActionKind, int>& seen) {
  const NodeId id = static_cast<NodeId>(tree.nodes.size());
  tree.nodes.push_back({spec, Select{static_cast<u16>(MicrokernelId::kScalarMap)}, {}, 0, {}});
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
  REQUIRE(preview(spec, limits, action, context, d));
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

TEST_CASE("what is listed for causal graphs is right") {
  const Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 4);
  const ActionContext context{&target};
  std::map<ActionKind, int> seen;
  for (std::string_view text :
       {"attention f32[2,20,3] f32[2,20,3] f32[2,20,2] causal",
        "attention f32[2,17,3] f32[2,30,3] f32[2,30,2] causal offset=13",
        "attention f32[33,2] f32[9,2] f32[9,2] f32[33,9] causal",
        "causal_mask f32[2,19,23] offset=2", "causal_mask f32[40,9]{0,1} -> softmax axis=1",
        "matmul f32[18,3] f32[3,18] -> causal_mask",
        "k = matmul x f32[20,4] f32[4,3]; v = matmul x f32[4,3]; attention f32[18,3] k v causal"})
    for (u32 seed = 1; seed <= 60; seed++) {
      Random random(seed);
      const Lowered graph = lowered(text);
      ImplTree tree;
      tree.target = &target;
      Limits limits = limits_of(target);
      clamp_limits(graph.spec, limits);
      grow(tree, graph.spec, limits, context, random, 8, seen);
      INFO(text << ", seed " << seed << ":\n" << print(tree));
      REQUIRE(wrong(tree, graph, random) == "");
    }
  CHECK(seen[ActionKind::kDivide] > 50);
  CHECK(seen[ActionKind::kMask] > 50);
  CHECK(seen[ActionKind::kBufferize] > 50);
}

TEST_CASE("what a diagonal keeps is counted") {
  for (u32 seed = 1; seed <= 300; seed++) {
    Random random(seed);
    const u32 rows = pick(random, 1, 9), columns = pick(random, 2, 9);
    const std::string shape = std::to_string(rows) + ',' + std::to_string(columns);
    const u32 offset = pick(random, 0, columns - 2);
    const Spec spec =
        lowered("causal_mask f32[3," + shape + "] offset=" + std::to_string(offset)).spec;
    u64 kept = 0;
    for (u32 r = 0; r < rows; r++)
      for (u32 c = 0; c < columns; c++) kept += c <= r + offset;
    INFO(describe(spec));
    CHECK(kept_points(spec, spec.all_dims()) == 3 * kept);
    CHECK(mask_elements(spec) == rows + columns - 1);
  }
}

TEST_CASE("columns that no row keeps are left out where that makes no difference") {
  auto columns_of_first = [](std::string_view text) {
    const Spec spec = lowered(text).spec;
    return part_of_rows(spec, 4, true).spec.size[spec.diagonal.column];
  };
  CHECK(columns_of_first("causal_mask x f32[8,8]") == 8);  // they are written
  const Spec scores = lowered("attention f32[8,3] f32[8,3] f32[8,3] causal").spec;
  for (bool first : {true, false}) {
    const Spec part = part_of_rows(scores, 4, first).spec;
    CHECK(volume(part) == (first ? volume(scores) / 4 : volume(scores) / 2));
    CHECK(part.diagonal.kept == (first ? 1 : 5));
  }
  auto volume_of_first = [](std::string_view text) {
    return volume(part_of_rows(lowered(text).spec, 4, true).spec);
  };
  CHECK(volume_of_first("causal_mask f32[8,8] -> exp -> reduce_sum axis=1") == 16);
  CHECK(volume_of_first("causal_mask f32[8,8] * 2 -> reduce_max axis=1") == 16);
  CHECK(volume_of_first("causal_mask f32[8,8] * -2 -> reduce_max axis=1") == 32);
  CHECK(volume_of_first("causal_mask f32[8,8] -> reduce_sum axis=1") == 32);
  CHECK(volume_of_first("causal_mask f32[8,8] -> reduce_min axis=1") == 32);
  CHECK(volume_of_first("causal_mask f32[8,8] -> exp -> reduce_max axis=1") == 32);
  CHECK(volume_of_first("e = causal_mask f32[8,8] -> exp; matmul e f32[8,3]") == 48);
  // A row of its own keeps what it has.
  const Spec row = part_of_rows(scores, 1, true).spec;
  CHECK(!row.diagonal.used());
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

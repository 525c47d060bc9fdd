// SPDX-License-Identifier: MIT
// Causal graphs: rows divided anywhere and masks, in random trees and as actions have them, against
// evaluate(), which tests/spec compares with what operations mean.
#include <doctest/doctest.h>

#include "../support/action_tree.hh"
#include "../support/graph_tree.hh"
#include "../support/random_graph.hh"
#include "../support/scale.hh"
#include "spec/diagonal.hh"

namespace morello {
namespace {

using namespace testing;

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
    REQUIRE(wrong_tree(tree, graph, random) == "");
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
    REQUIRE(wrong_tree(tree, graph, random) == "");
  }
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
      const ImplTree tree = random_action_tree(graph.spec, context, random, 8, seen);
      INFO(text << ", seed " << seed << ":\n" << print(tree));
      REQUIRE(wrong_tree(tree, graph, random) == "");
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

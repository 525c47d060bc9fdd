// SPDX-License-Identifier: MIT
// Graphs that gather, in random trees, against evaluate(), which tests/spec compares with what
// operations mean; and trees that take an index where there is none.
#include <doctest/doctest.h>

#include "../support/action_tree.hh"
#include "../support/graph_tree.hh"
#include "../support/random_graph.hh"
#include "../support/scale.hh"
#include "spec/gather.hh"

namespace morello {
namespace {

using namespace testing;

Lowered lowered(std::string_view text) {
  const Result<Statement> s = parse(text);
  REQUIRE_MESSAGE(s.ok(), text);
  return *lower(*s);
}

TEST_SUITE_BEGIN("impl");

TEST_CASE("random trees of graphs that gather are valid and compute them") {
  GraphTreeCounts counts;
  for (u32 seed = 1, last = static_cast<u32>(testing::rounds(2000)); seed <= last; seed++) {
    Random random(seed);
    Lowered graph;
    do {
      graph = *lower(random_graph(random, 1 + static_cast<int>(seed % 6)));
    } while (!gathers(graph.spec));
    const ImplTree tree =
        random_graph_tree(graph.spec, random, 2 + static_cast<int>(seed % 7), counts);
    INFO("seed " << seed << ": " << describe(graph.spec) << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, graph, random) == "");
  }
  CHECK(counts.indices > testing::rounds(200));
}

TEST_CASE("an index is taken where a stage gathers at one place, and nowhere else") {
  const Spec whole = lowered("gather f32[5,7] i32[3] axis=0").spec;
  CHECK(gather_at_one_place(whole) == -1);
  Binding binding;
  const Spec one = tile(whole, 0, 1, &binding);
  REQUIRE(gather_at_one_place(one) == 0);
  const Gathered part = gathered(one, 0);
  ImplTree tree;
  tree.nodes.push_back({one, Index{0}, {{1, part.binding}}, 1, {}});
  tree.nodes.push_back({part.spec, Select{1}, {}, 1, {}});
  CHECK(validate(tree) == "");
  ImplTree other = tree;
  other.nodes[0].kind = Index{1};
  CHECK(validate(other).find("does not gather at one place") != std::string::npos);
  other = tree;
  other.nodes[0].spec = whole;
  CHECK(validate(other).find("does not gather at one place") != std::string::npos);
  other = tree;
  other.nodes[1].spec.operand[0].dtype = Dtype::kBf16;
  CHECK(validate(other).find("should compute") != std::string::npos);
  // What is gathered along is no loop.
  CHECK_FALSE(may_tile(whole, 2, 1));
  CHECK(may_tile(whole, 0, 1));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

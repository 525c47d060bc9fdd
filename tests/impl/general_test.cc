// SPDX-License-Identifier: MIT
// Specs of the general form: evaluate() against a second definition, and both against the
// interpreter on random trees.
#include <doctest/doctest.h>

#include "../support/graph_tree.hh"
#include "../support/reference.hh"
#include "impl/interpret.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("impl");

TEST_CASE("evaluate agrees with the definition on random Specs of the general form") {
  int graphs = 0;
  for (u32 seed = 1; seed <= 4000; seed++) {
    Random random(seed);
    GeneralProblem problem = random_general(random, {3000, seed % 2 == 0});
    problem.fill(random, seed % 3 == 0 ? Numbers::kSmall : Numbers::kAny);
    const Reference expected = reference_of(problem);
    evaluate(problem.spec, problem.views, problem.pointers().data());
    INFO("seed " << seed << ": " << describe(problem.spec));
    REQUIRE(difference(problem.spec, expected.data, problem.data) == "");
    graphs += !is_chain(problem.spec);
  }
  CHECK(graphs > 1000);
}

TEST_CASE("random trees of Specs of the general form are valid and compute them") {
  GraphTreeCounts counts;
  int exact = 0, folded = 0;
  constexpr u32 kSeeds = 6000;
  for (u32 seed = 1; seed <= kSeeds; seed++) {
    Random random(seed);
    GeneralProblem problem = random_general(random, {1500});
    problem.fill(random, Numbers::kSmall);
    const ImplTree tree =
        random_graph_tree(problem.spec, random, static_cast<int>(seed % 7), counts);
    INFO("seed " << seed << ": " << describe(problem.spec) << ":\n" << print(tree));
    for (const ImplNode& node : tree.nodes) REQUIRE(not_canonical(node.spec) == "");
    REQUIRE(validate(tree) == "");
    const Reference expected = reference_of(problem);
    Result<InterpretStats> stats = interpret(tree, problem.views, problem.memory());
    REQUIRE_MESSAGE(stats.ok(), stats.error().message);
    folded += splits_reduction(tree) && expected.exact;
    exact += expected.exact;
    // Else the order matters, in which parts number their dimensions as they like, and parts of
    // sums are rounded.
    if (!expected.exact) continue;
    REQUIRE(difference(problem.spec, expected.data, problem.data) == "");
  }
  CHECK(exact > kSeeds * 3 / 4);
  CHECK(folded > 200);
  CHECK(counts.loops > 1000);
  CHECK(counts.views > 300);
  CHECK(counts.copies > 1000);
  CHECK(counts.windows > 50);
  CHECK(counts.pads > 50);
  CHECK(counts.border_cuts > 3);
  CHECK(counts.cuts > 500);
  CHECK(counts.cuts_of_three >= 3);
  CHECK(counts.fills > 200);
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

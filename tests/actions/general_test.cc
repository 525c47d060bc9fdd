// SPDX-License-Identifier: MIT
// Actions on Specs of the general form: most have no microkernel, but whatever is listed must be
// right. Leaves are where a walk ends.
#include <doctest/doctest.h>

#include <map>

#include "../support/least.hh"
#include "../support/reference.hh"
#include "../support/scale.hh"
#include "actions/action.hh"
#include "actions/clamp.hh"
#include "cost/bounds.hh"
#include "impl/interpret.hh"
#include "impl/microkernel_id.hh"
#include "search/synthesize.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using namespace testing;

/// A random walk down the actions, all of whose children are looked at on the way.
class GeneralWalk {
 public:
  GeneralWalk(const ActionContext& context, Random& random) : context_(context), random_(random) {
    tree_.target = context.target;
  }

  NodeId grow(const Spec& spec, const Limits& limits, int depth) {
    const NodeId id = static_cast<NodeId>(tree_.nodes.size());
    const i64 least = Bounds(*context_.target).quick(spec, limits);
    tree_.nodes.push_back(
        {spec, Select{static_cast<u16>(MicrokernelId::kScalarMap)}, {}, least, {}});
    Derivation d;
    const std::optional<Action> action = choose(spec, limits, d);
    if (!action || action->kind == ActionKind::kSelect || depth == 0 || id > 150) return id;
    seen[static_cast<int>(action->kind)]++;
    tree_.nodes[id] = apply(spec, *action, context_, d);
    std::vector<Limits> peaks;
    i64 cost = d.own;
    for (int c = 0; c < d.count; c++) {
      const NodeId child = grow(d.child[c].spec, d.child[c].limits, depth - 1);
      tree_.nodes[id].children[static_cast<size_t>(c)].node = child;
      peaks.push_back(tree_.nodes[child].peaks);
      cost = saturating_add(cost, saturating_mul(d.child[c].times, tree_.nodes[child].cost));
    }
    tree_.nodes[id].cost = cost;
    tree_.nodes[id].peaks = peaks_of(d, peaks);
    return id;
  }

  ImplTree& tree() { return tree_; }
  std::map<int, int> seen;  // by kind

 private:
  /// First a kind, then one of it.
  std::optional<Action> choose(const Spec& spec, const Limits& limits, Derivation& d) {
    ActionList list;
    list_actions(spec, limits, context_, list);
    std::map<ActionKind, std::vector<Action>> legal;
    const Bounds bounds(*context_.target);
    REQUIRE(bounds.of(spec, limits) >= 0);
    REQUIRE(bounds.quick(spec, limits) <= bounds.of(spec, limits));
    for (const Action& a : list) {
      if (!preview(spec, limits, a, context_, d)) continue;
      REQUIRE(least_of(d, bounds) >= 0);
      for (int c = 0; c < d.count; c++) {
        const std::string bad = not_canonical(d.child[c].spec);
        if (!bad.empty())
          FAIL("action " << static_cast<int>(a.kind) << " of " << describe(spec) << " derives "
                         << describe(d.child[c].spec) << ": " << bad);
      }
      legal[a.kind].push_back(a);
    }
    if (legal.empty()) return std::nullopt;
    auto kind = legal.begin();
    std::advance(kind, pick(random_, 0, static_cast<u32>(legal.size()) - 1));
    const Action action = kind->second[pick(random_, 0, static_cast<u32>(kind->second.size()) - 1)];
    REQUIRE(preview(spec, limits, action, context_, d));
    return action;
  }

  const ActionContext& context_;
  Random& random_;
  ImplTree tree_;
};

TEST_SUITE_BEGIN("actions");

TEST_CASE("what is listed for Specs of the general form is right") {
  const Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 4);
  const ActionContext context{&target};
  std::map<int, int> seen;
  int exact = 0;
  for (u32 seed = 1, last = static_cast<u32>(testing::rounds(1500)); seed <= last; seed++) {
    Random random(seed);
    GeneralProblem problem = random_general(random, {400, seed % 3 == 0});
    problem.fill(random, Numbers::kSmall);
    INFO("seed " << seed << ": " << describe(problem.spec));
    Limits limits = limits_of(target);
    clamp_limits(problem.spec, limits);
    GeneralWalk walk(context, random);
    walk.grow(problem.spec, limits, 8);
    const ImplTree& tree = walk.tree();
    for (auto [kind, count] : walk.seen) seen[kind] += count;
    INFO(print(tree));
    REQUIRE(validate(tree) == "");
    const Reference expected = reference_of(problem);
    Result<InterpretStats> stats = interpret(tree, problem.views, problem.memory());
    REQUIRE_MESSAGE(stats.ok(), stats.error().message);
    if (!expected.exact) continue;
    exact++;
    REQUIRE(difference(problem.spec, expected.data, problem.data) == "");
  }
  CHECK(exact > testing::rounds(800));
  // All but leaves, layouts to choose, and masks.
  if (testing::rounds(100) >= 100) CHECK(seen.size() == 11);
}

TEST_CASE("actions on Specs with free layouts have canonical children") {
  const Target target = with_machine(*fixed_target(Isa::kAvx512), 0, 0, 4);
  const ActionContext context{&target};
  for (u32 seed = 1, last = static_cast<u32>(testing::rounds(1000)); seed <= last; seed++) {
    Random random(seed);
    const Spec spec = random_general(random, {300, true, true}).spec;
    INFO("seed " << seed << ": " << describe(spec));
    GeneralWalk walk(context, random);
    walk.grow(spec, limits_of(target), 6);
    CHECK(validate(walk.tree()) == "");
  }
}

TEST_CASE(
    "a search for a Spec of the general form finds a right program, or says that there is none") {
  int none = 0, found = 0;
  for (u32 seed = 1, last = static_cast<u32>(testing::rounds(400)); seed <= last; seed++) {
    Random random(seed);
    GeneralProblem problem = random_general(random, {60});
    problem.fill(random, Numbers::kSmall);
    INFO("seed " << seed << ": " << describe(problem.spec));
    SearchOptions options;
    options.memory_budget_bytes = 8 << 20;
    SearchStats stats;
    const Result<ImplTree> tree =
        synthesize(problem.spec, *fixed_target(Isa::kAvx2), options, &stats);
    if (!tree.ok()) {
      none++;
      INFO(tree.error().message);
      REQUIRE((tree.error().status == MORELLO_NO_IMPLEMENTATION ||
               tree.error().status == MORELLO_BUDGET_EXCEEDED));
      REQUIRE(tree.error().message.size() > 20);
      continue;
    }
    found++;
    REQUIRE(validate(*tree) == "");
    const Reference expected = reference_of(problem);
    REQUIRE(interpret(*tree, problem.views, problem.memory()).ok());
    if (expected.exact) REQUIRE(difference(problem.spec, expected.data, problem.data) == "");
  }
  CHECK(none > testing::rounds(100));
  CHECK(found > 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

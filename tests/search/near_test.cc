// SPDX-License-Identifier: MIT
// Near misses: what a table decides for the sizes around those of a Spec makes a program of its
// own.
#include "search/near.hh"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "../table/solved_family.hh"
#include "search/solve.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

using testing::SolvedFamily;

const Target& avx2() { return *fixed_target(Isa::kAvx2); }

Spec matmul(u32 m, u32 k, u32 n) {
  const auto s = [](u32 size) { return std::to_string(size); };
  const Result<Statement> statement =
      parse("matmul f32[" + s(m) + "," + s(k) + "] f32[" + s(k) + "," + s(n) + "]");
  REQUIRE(statement.ok());
  return lower(*statement)->spec;
}

/// Matmuls with these sizes.
const Table& ladder() {
  static const Table table = [] {
    const u32 sizes[] = {16, 24, 32, 48, 64};
    return testing::table_of(testing::solve(testing::matmuls(sizes)));
  }();
  return table;
}

struct Found {
  ImplTree tree;
  SolveStats stats;
  i64 cost() const { return tree.nodes[0].cost; }
};

Found find(const Spec& spec, const Table* table, const SearchOptions& options = {}) {
  Found found;
  Result<ImplTree> tree = solve(spec, avx2(), options, table, found.stats);
  REQUIRE_MESSAGE(tree.ok(), (tree.ok() ? "" : tree.error().message));
  CHECK(validate(*tree).empty());
  found.tree = std::move(*tree);
  return found;
}

SearchOptions with_effort(u64 effort) {
  SearchOptions options;
  options.effort = effort;
  return options;
}

/// The same boxes, with every decision replaced.
Table spoiled(const std::function<Action(const Action&)>& change) {
  TableContent content = ladder().content();
  for (TableGroup& group : content.groups)
    for (Action& action : group.actions) action = change(action);
  content.promises.clear();
  return std::move(*Table::make(content));
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("sizes between those of a table: nearly the cheapest, not proven, the same again") {
    const u64 seed = 11;
    INFO("seed " << seed);
    std::mt19937_64 rng(seed);
    const auto size = [&] { return static_cast<u32>(17 + rng() % 47); };
    double sum = 0;
    constexpr int kRounds = 12;
    int near = 0;
    for (int round = 0; round < kRounds; round++) {
      const Spec spec = matmul(size(), size(), size());
      CAPTURE(describe(spec));
      const Found quick = find(spec, &ladder(), with_effort(kQuickEffort));
      const Found exact = find(spec, &ladder());
      CHECK(exact.stats.search.optimal);
      CHECK(print(exact.tree) == print(find(spec, nullptr).tree));
      CHECK(print(quick.tree) == print(find(spec, &ladder(), with_effort(kQuickEffort)).tree));
      CHECK(quick.cost() >= exact.cost());
      sum += static_cast<double>(quick.cost()) / static_cast<double>(exact.cost());
      if (quick.stats.table_use == TableUse::kNear) {
        near++;
        CHECK(!quick.stats.search.optimal);
        CHECK(quick.stats.search.bound <= exact.cost());
        CHECK(quick.stats.table_reason == TableReason::kSpec);
      }
      // As it begins with the same, more effort finds no less.
      CHECK(find(spec, &ladder(), with_effort(2 * kQuickEffort)).cost() <= quick.cost());
    }
    CHECK(near > kRounds / 2);
    MESSAGE(near << " of " << kRounds << " of near sizes; mean cost " << sum / kRounds
                 << " times that of the cheapest");
    CHECK(sum / kRounds < 1.02);
  }

  TEST_CASE("a budget ends a search with what is near") {
    const Spec spec = matmul(50, 40, 61);
    SearchOptions options;
    options.time_budget_us = 1;
    const Found hurried = find(spec, &ladder(), options);
    CHECK(!hurried.stats.search.optimal);
    CHECK(hurried.stats.search.budget_ended);
    CHECK(hurried.cost() >= find(spec, nullptr).cost());
  }

  TEST_CASE("decisions that are wrong for the Spec are left out") {
    const Spec spec = matmul(50, 40, 61);
    const Found alone = find(spec, nullptr, with_effort(kQuickEffort));
    const Table absurd = spoiled([](const Action&) {
      return Action{ActionKind::kSelect, 77, Level::kL1, LayoutOption::kPanels, 12345};
    });
    const Found found = find(spec, &absurd, with_effort(kQuickEffort));
    CHECK(found.stats.table_use == TableUse::kNotCovered);
    CHECK(print(found.tree) == print(alone.tree));
    // Possible, but bad: no worse than without the table.
    const Table bad = spoiled([](const Action& action) {
      Action changed = action;
      if (changed.kind == ActionKind::kTile) changed.size = 1;
      return changed;
    });
    CHECK(find(spec, &bad, with_effort(kQuickEffort)).cost() <= alone.cost());
  }

  TEST_CASE("what a table has nothing near is searched for as without it") {
    const Result<Statement> statement = parse("matmul bf16[50,40] bf16[40,61] -> f32[50,61]");
    REQUIRE(statement.ok());
    const Spec spec = lower(*statement)->spec;
    const NearDecisions near(ladder(), avx2());
    Limits limits = limits_of(avx2());
    clamp_limits(spec, limits);
    CHECK(!near.has(spec, limits));
    CHECK(near.expected_cost(spec) == 0);
    const Found with = find(spec, &ladder(), with_effort(300)),
                without = find(spec, nullptr, with_effort(300));
    CHECK(print(with.tree) == print(without.tree));
    CHECK(with.stats.search.expanded == without.stats.search.expanded);
  }
}

}  // namespace morello

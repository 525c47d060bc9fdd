// SPDX-License-Identifier: MIT
// Verification: right tables pass, planted decisions are found.
#include "precompute/verify.hh"

#include <doctest/doctest.h>

#include "../table/solved_family.hh"
#include "actions/clamp.hh"
#include "table/groups.hh"

namespace morello {
namespace {

constexpr u32 kSizes[] = {2, 3, 8};

/// The action of the box that decides a promised Spec itself.
Action& root_action(TableContent& content, const Spec& spec, const Limits& limits) {
  const GridPoint point = to_grid(spec, limits);
  for (TableGroup& group : content.groups) {
    const std::vector<GridBox> boxes = boxes_in(group);
    for (size_t i = 0; i < boxes.size(); i++)
      if (group.key == point.key && boxes[i].contains(point.at)) return group.actions[i];
  }
  FAIL("no box");
  return content.groups[0].actions[0];
}

}  // namespace

TEST_SUITE("precompute") {
  TEST_CASE("a right table passes, whatever is searched for") {
    for (u32 processors : {1u, 2u}) {
      const testing::SolvedFamily family = testing::solve(testing::matmuls(kSizes), processors);
      const Table table = testing::table_of(family);
      const Verification all = verify(table, family.target, 1000, 1);
      CHECK(all.failure == "");
      CHECK(all.failures == 0);
      CHECK(all.promised == family.members.size());
      CHECK(all.searched == family.members.size());
      CHECK(all.pairs == family.pairs.size());
      const Verification some = verify(table, family.target, 7, 2);
      CHECK(some.searched == 7);
      CHECK(some.failures == 0);
      CHECK(verify(table, family.target, 0, 2).searched == 0);
    }
  }

  TEST_CASE("illegal decisions are found without a search") {
    const testing::SolvedFamily family = testing::solve(testing::matmuls(kSizes));
    TableContent content = testing::table_of(family).content();
    for (TableGroup& group : content.groups)
      for (Action& action : group.actions) action = {ActionKind::kSelect, 77, {}, {}, 0};
    const Result<Table> table = Table::make(content);
    REQUIRE(table.ok());
    const Verification found = verify(*table, family.target, 0, 1);
    CHECK(found.failures == 1);
    CHECK(found.pairs == 0);
    CHECK(found.failure.find("wrong decision") != std::string::npos);
    CHECK(verify(*table, family.target, 5, 1).failures == 6);
  }

  TEST_CASE("legal decisions that are not the cheapest are found by searching") {
    const testing::SolvedFamily family = testing::solve(testing::matmuls(kSizes));
    const TableContent right = testing::table_of(family).content();
    int planted = 0, caught = 0, by_searching = 0;
    for (const Spec& spec : family.members) {
      Pair pair{spec, limits_of(family.target)};
      clamp_limits(pair.spec, pair.limits);
      ActionList list;
      list_actions(pair.spec, pair.limits, {&family.target}, list);
      for (const Action& action : list) {
        TableContent content = right;
        Action& root = root_action(content, pair.spec, pair.limits);
        if (root == action) continue;
        root = action;
        planted++;
        const Result<Table> table = Table::make(content);
        REQUIRE(table.ok());
        const Verification found = verify(*table, family.target, 1000, 1);
        caught += found.failures > 0;
        by_searching += found.failures > 0 && found.pairs > 0;
      }
    }
    CHECK(planted > 100);
    CHECK(caught == planted);
    CHECK(by_searching > 0);
  }
}

}  // namespace morello

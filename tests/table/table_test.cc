// SPDX-License-Identifier: MIT
// Tables of small families, beside the plain maps that they replace.
#include "table/table.hh"

#include <doctest/doctest.h>

#include <random>
#include <thread>

#include "actions/clamp.hh"
#include "solved_family.hh"
#include "spec/statement.hh"
#include "table/check.hh"
#include "table/identity.hh"
#include "table/promise.hh"

namespace morello {
namespace {

using testing::matmuls;
using testing::moves;
using testing::solve;
using testing::SolvedFamily;
using testing::table_of;

constexpr u32 kSmall[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16};

void same_as_map(const Table& table, const SolvedFamily& family) {
  for (const auto& [pair, action] : family.pairs) {
    CHECK(table.find(pair.spec, pair.limits) == action);
    CHECK(table.agrees(pair.spec, pair.limits, action));
  }
}

void same_programs(const Table& table, const SolvedFamily& family) {
  for (size_t i = 0; i < family.members.size(); i++) {
    const auto tree = program(table, family.members[i], *fixed_target(Isa::kAvx2));
    REQUIRE(tree);
    CHECK(print(*tree) == print(family.programs[i]));
  }
}

Spec spec_of(const std::string& text, bool serial = true) {
  Spec spec = lower(*parse(text))->spec;
  spec.serial = serial;
  return spec;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("a table says what the map says: matmuls, moves, limits, threads") {
    const SolvedFamily families[] = {solve(matmuls(kSmall)), solve(moves(kSmall)),
                                     solve(matmuls(std::span(kSmall).first(6)), 1, 12),
                                     solve(matmuls(std::span(kSmall).first(6)), 4)};
    for (const SolvedFamily& family : families) {
      for (BoxForm form : {BoxForm{}, BoxForm{BoxForm::kBestAxis}, BoxForm{kAxisSize}}) {
        const Table table = table_of(family, form);
        same_as_map(table, family);
        same_programs(table, family);
        CHECK(check(table.content()) == "");
        const Result<Table> again = Table::make(table.content());
        REQUIRE(again.ok());
        CHECK(again->content() == table.content());
        same_as_map(*again, family);
      }
      const Table table = table_of(family);
      CHECK(table.boxes() * 4 < family.pairs.size());
      CHECK(table.boxes() * 2 < table_of(family, {BoxForm::kBestAxis}).boxes());
    }
  }

  TEST_CASE("all pairs are found again from promises and decisions") {
    const SolvedFamily family = solve(matmuls(kSmall));
    const Table table = table_of(family);
    const Result<DecidedPairs> pairs = decided_pairs(table, family.target);
    REQUIRE(pairs.ok());
    CHECK(pairs->size() == family.pairs.size());
    for (const auto& [pair, action] : *pairs) {
      const Action* wanted = family.pairs.find(pair);
      REQUIRE(wanted);
      CHECK(*wanted == action);
    }
    const Result<DecidedPairs> too_many = decided_pairs(table, family.target, 100);
    REQUIRE(!too_many.ok());
    CHECK(too_many.error().status == MORELLO_CORRUPT_TABLE);
  }

  TEST_CASE("the content depends on no order and no thread") {
    const SolvedFamily family = solve(matmuls(std::span(kSmall).first(8)));
    const TableContent content = table_of(family).content();
    TableBuilder builder(identity_of(family.target));
    std::thread other([&] { testing::add(family, builder, true); });
    testing::add(family, builder);
    other.join();
    CHECK(builder.build()->content() == content);
  }

  TEST_CASE("what is promised, and what is not") {
    const u32 sizes[] = {2, 3, 4, 5, 6, 7, 8};
    const SolvedFamily family = solve(matmuls(sizes));
    const Table table = table_of(family);
    const Limits limits = limits_of(family.target);
    CHECK(table.promises().size() == 1);
    for (const Spec& spec : family.members) CHECK(table.promises(spec, limits));

    const Spec spec = spec_of("matmul f32[4,8] f32[8,8] -> f32[4,8]");
    Limits clamped = limits;
    clamp_limits(spec, clamped);
    CHECK(table.promises(spec, clamped));
    Limits tighter = clamped;
    tighter.at(Level::kRegister)--;
    CHECK(!table.promises(spec, tighter));
    tighter = clamped;
    tighter.at(Level::kL1)--;
    CHECK(!table.promises(spec, tighter));

    auto no_promise = [&](const Spec& other) {
      CHECK(!table.promises(other, limits));
      CHECK(!program(table, other, *fixed_target(Isa::kAvx2)));
    };
    no_promise(spec_of("matmul f32[4,9] f32[9,8] -> f32[4,8]"));
    no_promise(spec_of("matmul f32[1,8] f32[8,8] -> f32[1,8]"));  // another rank
    no_promise(spec_of("matmul f32[4,8]{0,1} f32[8,8] -> f32[4,8]"));
    no_promise(spec_of("matmul f32[4,8] f32[8,8] += f32[4,8]"));
    no_promise(spec_of("matmul f32[4,8] f32[8,8] -> relu -> f32[4,8]"));
    Spec nearer = spec;
    nearer.operand[0].level = Level::kL1;
    no_promise(nearer);
    Spec parallel = spec;
    parallel.serial = false;
    CHECK(!table.promises(parallel, limits));
  }

  TEST_CASE("sizes off the ladder are promised one by one") {
    const u32 sizes[] = {18, 20, 24};
    const SolvedFamily family = solve(matmuls(sizes));
    const Table table = table_of(family);
    const Limits limits = limits_of(family.target);
    for (const Spec& spec : family.members) CHECK(table.promises(spec, limits));
    CHECK(!table.promises(spec_of("matmul f32[18,19] f32[19,20] -> f32[18,20]"), limits));
    CHECK(table.promises().size() == family.members.size());
    same_programs(table, family);
  }

  TEST_CASE("planted decisions give valid programs or none") {
    const u64 seed = 10;
    std::mt19937_64 rng(seed);
    const u32 sizes[] = {2, 5, 8, 12};
    const SolvedFamily family = solve(matmuls(sizes));
    const TableContent content = table_of(family).content();
    int none = 0, other = 0;
    for (int round = 0; round < 300; round++) {
      INFO("seed " << seed << ", round " << round);
      TableContent planted = content;
      auto some_action = [&]() -> Action& {
        TableGroup& group = planted.groups[rng() % planted.groups.size()];
        return group.actions[rng() % group.actions.size()];
      };
      Action& action = some_action();
      if (rng() % 2)
        action = some_action();  // right elsewhere
      else
        action = {static_cast<ActionKind>(1 + rng() % 9), static_cast<u8>(rng() % 9),
                  static_cast<Level>(rng() % 4), static_cast<LayoutOption>(rng() % 4),
                  static_cast<u32>(rng() % 2 ? rng() % 16 : rng())};
      const Result<Table> table = Table::make(planted);
      REQUIRE(table.ok());
      bool walks = true;
      for (size_t i = 0; i < family.members.size(); i++) {
        const auto tree = program(*table, family.members[i], *fixed_target(Isa::kAvx2));
        if (!tree) {
          none++;
          walks = false;
          continue;
        }
        CHECK(validate(*tree) == "");
        CHECK(tree->nodes[0].cost >= family.programs[i].nodes[0].cost);
        other += print(*tree) != print(family.programs[i]);
      }
      CHECK(decided_pairs(*table, family.target).ok() == walks);
    }
    CHECK(none > 100);
    CHECK(other > 0);
  }
}

}  // namespace morello

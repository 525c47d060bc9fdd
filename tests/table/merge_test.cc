// SPDX-License-Identifier: MIT
// Merging tables: any order, any grouping, any number of times.
#include <doctest/doctest.h>

#include "solved_family.hh"
#include "table/identity.hh"

namespace morello {
namespace {

using testing::matmuls;
using testing::moves;
using testing::solve;
using testing::SolvedFamily;
using testing::table_of;

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("merge commutes, associates, and is idempotent") {
    const u32 low[] = {1, 2, 3, 4, 5, 6}, high[] = {4, 8, 12, 16, 24}, some[] = {3, 16, 40};
    const SolvedFamily families[] = {solve(matmuls(low)), solve(matmuls(high)), solve(moves(some))};
    const Target& target = families[0].target;
    const Table a = table_of(families[0]), b = table_of(families[1]), c = table_of(families[2]);
    auto merged = [&](const Table& x, const Table& y) {
      Result<Table> table = merge(x, y, target);
      REQUIRE(table.ok());
      return std::move(*table);
    };
    const Table ab = merged(a, b), abc = merged(ab, c);
    CHECK(ab.content() == merged(b, a).content());
    CHECK(abc.content() == merged(a, merged(b, c)).content());
    CHECK(abc.content() == merged(merged(c, a), b).content());
    CHECK(merged(a, a).content() == a.content());
    CHECK(merged(abc, b).content() == abc.content());
    CHECK(abc.content() == merged(abc, abc).content());

    TableBuilder builder(identity_of(target));
    for (const SolvedFamily& family : families) testing::add(family, builder);
    CHECK(builder.build()->content() == abc.content());
    for (const SolvedFamily& family : families)
      for (size_t i = 0; i < family.members.size(); i++) {
        const auto tree = program(abc, family.members[i], *fixed_target(Isa::kAvx2));
        REQUIRE(tree);
        CHECK(print(*tree) == print(family.programs[i]));
      }
  }

  TEST_CASE("families are kept, each once") {
    const u32 sizes[] = {2, 3};
    const SolvedFamily family = solve(matmuls(sizes));
    auto named = [&](std::initializer_list<const char*> names) {
      TableBuilder builder(identity_of(family.target));
      for (const char* name : names) builder.add_family(name);
      return std::move(*builder.build());
    };
    const Result<Table> both = merge(named({"b", "a", "b"}), named({"c", "a"}), family.target);
    REQUIRE(both.ok());
    CHECK(both->families() == std::vector<std::string>{"a", "b", "c"});
  }

  TEST_CASE("tables that do not go together") {
    const u32 sizes[] = {2, 4};
    const SolvedFamily serial = solve(matmuls(sizes)), parallel = solve(matmuls(sizes), 2);
    const Result<Table> other = merge(table_of(serial), table_of(parallel), serial.target);
    REQUIRE(!other.ok());
    CHECK(other.error().status == MORELLO_INCOMPATIBLE_TABLE);
    CHECK(other.error().message.find("threads") != std::string::npos);

    TableBuilder builder(identity_of(serial.target));
    testing::add(serial, builder);
    const Pair& pair = serial.pairs[0].key;
    builder.add(pair.spec, pair.limits, {ActionKind::kSelect, 77, {}, {}, 0});
    const Result<Table> contradiction = builder.build();
    REQUIRE(!contradiction.ok());
    CHECK(contradiction.error().status == MORELLO_CORRUPT_TABLE);
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Parts of programs solved in the whole space: like any exact search, in steps, within their work.
#include "search/subtrees.hh"

#include <doctest/doctest.h>

#include "search/synthesize.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

const Target& avx2() { return *fixed_target(Isa::kAvx2); }

Pair pair_of(const std::string& text) {
  Pair pair{lower(*parse(text))->spec, limits_of(avx2())};
  pair.spec.serial = true;
  clamp_limits(pair.spec, pair.limits);
  return pair;
}

constexpr u64 kAny = u64{1} << 40;

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("a part costs what an exact search says, also in steps") {
    const Pair pair = pair_of("matmul f32[37,61] f32[61,29]");
    const i64 cost = synthesize(pair.spec, avx2(), {}, nullptr)->nodes[0].cost;
    const ActionContext whole{&avx2()};
    u64 told = 0;
    const Subtrees::Worked worked = [&](const SearchCounts& counts) {
      told += counts.work;
      return true;
    };
    Subtrees subtrees(whole, 100, worked);
    SpecSearch::Solution found;
    i64 before = 0;
    u64 steps = 0;
    constexpr u64 kStep = 20 * kWorkOfExpansion, kOne = 10 * kWorkOfExpansion;
    for (; !subtrees.solve(pair, kInfinite, kStep, found); steps++) {
      CHECK(found.cost >= before);
      CHECK(found.cost <= cost);
      CHECK(told <= (steps + 1) * (kStep + kOne));
      before = found.cost;
      CHECK(!subtrees.known(pair.spec, pair.limits, found));
    }
    CHECK(steps > 2);
    CHECK(found.cost == cost);
    CHECK(told == subtrees.search().counts().work);
    CHECK(subtrees.known(pair.spec, pair.limits, found));
    // Once more is no work.
    const u64 all = told;
    CHECK(subtrees.solve(pair, kInfinite, kAny, found));
    CHECK(told == all);
  }

  TEST_CASE("a part that is no cheaper than asked is not solved, but bounded") {
    const Pair pair = pair_of("matmul f32[37,61] f32[61,29]");
    const i64 cost = synthesize(pair.spec, avx2(), {}, nullptr)->nodes[0].cost;
    const ActionContext whole{&avx2()};
    const Subtrees::Worked worked = [](const SearchCounts&) { return true; };
    Subtrees subtrees(whole, 100, worked);
    SpecSearch::Solution found;
    CHECK(!subtrees.solve(pair, cost - cost / 100, kAny, found));
    CHECK(found.cost >= cost - cost / 100);
    CHECK(found.cost <= cost);
  }

  TEST_CASE("who is told of the work may end it") {
    const Pair pair = pair_of("matmul f32[37,61] f32[61,29]");
    const ActionContext whole{&avx2()};
    u64 expanded = 0;
    const Subtrees::Worked worked = [&](const SearchCounts& counts) {
      expanded += counts.expanded;
      return expanded < 5;
    };
    Subtrees subtrees(whole, 100, worked);
    SpecSearch::Solution found;
    CHECK(!subtrees.solve(pair, kInfinite, kAny, found));
    CHECK(expanded == 5);
  }
}

}  // namespace morello

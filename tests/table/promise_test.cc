// SPDX-License-Identifier: MIT
// Promises hold the Specs that were promised, and no others.
#include "table/promise.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "spec/ladder.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

using Coordinates = std::array<u32, kAxes>;

GridPoint matmul_point(u32 m, u32 k, u32 n) {
  auto text = [](u32 a, u32 b) {
    return "f32[" + std::to_string(a) + "," + std::to_string(b) + "]";
  };
  Spec spec = lower(*parse("matmul " + text(m, k) + " " + text(k, n) + " -> " + text(m, n)))->spec;
  return to_grid(spec, limits_of(*fixed_target(Isa::kAvx2)));
}

std::set<Coordinates> members_of(const std::vector<Promise>& promises) {
  std::set<Coordinates> members;
  for (const Promise& promise : promises) {
    const size_t before = members.size();
    each_member(promise, [&](const Spec& spec, const Limits& limits) {
      const GridPoint p = to_grid(spec, limits);
      CHECK(p.key == promise.key);
      CHECK(is_member(promise, p.at));
      CHECK(members.insert(p.at).second);  // promises are disjoint
      return true;
    });
    CHECK(members.size() - before == member_count(promise));
  }
  return members;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("the ladder") {
    CHECK(kLadder[0] == 1);
    for (u32 size : {1u, 7u, 16u, 24u, 32u, 48u, 1024u, 1536u}) CHECK(on_ladder(size));
    for (u32 size : {0u, 17u, 20u, 40u, 1000u, ~0u}) CHECK(!on_ladder(size));
    CHECK(next_on_ladder(16) == 24);
    CHECK(next_on_ladder(20) == 24);
    CHECK(next_on_ladder(1u << 30) == ~0u);
  }

  TEST_CASE("what a promise of everything counts") {
    Promise all{matmul_point(2, 2, 2).key, {}, {}};
    CHECK(member_count(all) == 1);
    for (size_t a = kAxisSize; a < kAxisSize + 3; a++) all.hi[a] = ~0u;
    const u64 sizes = 15 + 2 * 26;  // 2 to 16, then two of each power of two below 2^30
    CHECK(member_count(all) == sizes * sizes * sizes);
    all.hi.fill(~0u);
    CHECK(member_count(all) == ~u64{0});
  }

  TEST_CASE("a family is one promise") {
    std::vector<GridPoint> points;
    for (u32 m : {2u, 3u, 4u, 5u})
      for (u32 k : {8u, 12u, 16u, 24u})
        if (k != 12u)
          for (u32 n : {14u, 15u, 16u, 24u, 32u}) points.push_back(matmul_point(m, k, n));
    CHECK(promises_of(points).size() == 2);  // k is 8, or 16 and 24
    points.clear();
    for (u32 m : {2u, 3u, 4u, 5u})
      for (u32 n : {14u, 15u, 16u, 24u, 32u, 48u}) points.push_back(matmul_point(m, 100, n));
    const std::vector<Promise> promises = promises_of(points);
    REQUIRE(promises.size() == 1);
    CHECK(members_of(promises).size() == points.size());
    CHECK(is_member(promises[0], matmul_point(5, 100, 48).at));
    CHECK(!is_member(promises[0], matmul_point(5, 100, 40).at));  // off the ladder
    CHECK(!is_member(promises[0], matmul_point(5, 96, 48).at));
    CHECK(!is_member(promises[0], matmul_point(6, 100, 48).at));
    CHECK(promises_of({}).empty());
  }

  TEST_CASE("random sets of Specs are promised exactly, whatever their order") {
    const u64 seed = 9;
    std::mt19937_64 rng(seed);
    const GridPoint base = matmul_point(2, 2, 2);
    for (int round = 0; round < 200; round++) {
      INFO("seed " << seed << ", round " << round);
      const u64 density = 1 + rng() % 8;
      std::vector<GridPoint> points;
      std::set<Coordinates> wanted;
      for (u32 m = 2; m <= 26; m++)
        for (u32 n = 12; n <= 50; n += 2)
          for (u32 level : {2u, 3u}) {
            if (rng() % 8 >= density || (rng() % 4 && (!on_ladder(m) || !on_ladder(n)))) continue;
            GridPoint p = base;
            p.at[kAxisSize] = m - 2;
            p.at[kAxisSize + 1] = n - 2;
            p.at[kAxisLevel] = level;
            points.push_back(p);
            wanted.insert(p.at);
          }
      const std::vector<Promise> promises = promises_of(points);
      CHECK(members_of(promises) == wanted);
      CHECK(promises.size() <= points.size());
      for (u32 m = 2; m <= 26; m++)
        for (u32 n = 12; n <= 50; n++) {
          Coordinates at = base.at;
          at[kAxisSize] = m - 2;
          at[kAxisSize + 1] = n - 2;
          at[kAxisLevel] = 2;
          const bool promised = std::any_of(promises.begin(), promises.end(),
                                            [&](const Promise& p) { return is_member(p, at); });
          CHECK(promised == (wanted.count(at) == 1));
        }
      const std::vector<GridPoint> once = points;  // some of them come twice
      points.insert(points.end(), once.begin(), once.begin() + once.size() / 3);
      std::shuffle(points.begin(), points.end(), rng);
      CHECK(promises_of(points) == promises);
    }
  }
}

}  // namespace morello

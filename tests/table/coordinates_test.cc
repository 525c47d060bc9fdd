// SPDX-License-Identifier: MIT
// Coordinates: a bijection, oriented along the dependencies.
#include "table/coordinates.hh"

#include <doctest/doctest.h>

#include <random>

#include "../support/random_statement.hh"
#include "actions/action.hh"
#include "spec/statement.hh"
#include "table/memo.hh"

namespace morello {
namespace {

void same_after_a_round_trip(const Spec& spec, const Limits& limits) {
  Spec back;
  Limits back_limits;
  from_grid(to_grid(spec, limits), back, back_limits);
  CHECK(back == spec);
  CHECK(back_limits == limits);
}

struct ToyLimits {
  int memory = 0;
  bool within(const ToyLimits& other) const { return memory <= other.memory; }
  friend bool operator==(const ToyLimits&, const ToyLimits&) = default;
};
struct ToyEntry {
  ToyLimits limits, peaks;
  i64 low = 0;
  bool solved = false, feasible = false;
};

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("to the grid and back, for random Specs and all they depend on") {
    u64 seed = 99;
    std::mt19937_64 rng(seed);
    Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 2);
    ActionContext context{&target};
    testing::RandomStatementOptions options;
    options.free_layouts = true;
    int same_key = 0;
    for (int round = 0; round < 300; round++) {
      Spec spec = lower(testing::random_statement(rng, options))->spec;
      Limits limits = limits_of(target);
      INFO("seed " << seed << ", round " << round << ": " << describe(spec));
      same_after_a_round_trip(spec, limits);
      GridPoint point = to_grid(spec, limits);
      ActionList actions;
      list_actions(spec, limits, context, actions);
      for (const Action& action : actions) {
        Derivation d;
        if (!preview(spec, limits, action, context, d)) continue;
        for (int i = 0; i < d.count; i++) {
          const Child& child = d.child[i];
          same_after_a_round_trip(child.spec, child.limits);
          GridPoint p = to_grid(child.spec, child.limits);
          if (!(p.key == point.key)) continue;
          same_key++;
          CHECK(!(p == point));
          for (int axis = 0; axis < kAxes; axis++) CHECK(p.at[axis] <= point.at[axis]);
        }
      }
    }
    CHECK(same_key > 300);
  }

  TEST_CASE("the memo answers boxes of limits, and passes bounds on to tighter ones") {
    Memo<int, ToyLimits, ToyEntry> memo;
    CHECK(memo.find(1, 11, {5}) == kNoEntry);
    EntryId e = memo.add(1, 11, {8});
    CHECK(memo.find(1, 11, {8}) == e);
    CHECK(memo.find(1, 11, {5}) == kNoEntry);
    memo[e].low = 40;
    memo[e].solved = memo[e].feasible = true;
    memo[e].peaks = {4};
    CHECK(memo.find(1, 11, {5}) == e);
    CHECK(memo.find(1, 11, {4}) == e);
    CHECK(memo.find(1, 11, {3}) == kNoEntry);  // its program does not fit
    CHECK(memo.find(1, 11, {9}) == kNoEntry);  // there may be a better one
    CHECK(memo[memo.add(1, 11, {3})].low == 40);
    CHECK(memo[memo.add(1, 11, {9})].low == 0);
    CHECK(memo.find(2, 11, {8}) == kNoEntry);  // equal hash, other key
    for (int key = 10; key < 5000; key++) memo.add(key, static_cast<u64>(key % 7), {1});
    for (int key = 10; key < 5000; key += 97)
      CHECK(memo.key_of(memo.find(key, static_cast<u64>(key % 7), {1})) == key);
    CHECK(memo.keys() == 4991);
  }
}

}  // namespace morello

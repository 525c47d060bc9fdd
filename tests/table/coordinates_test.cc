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
struct ToyState {
  ToyLimits peaks;
  i64 bound = 0;
  bool solved = false, feasible = false;
  bool answers(const ToyLimits& limits) const {
    return solved && (!feasible || peaks.within(limits));
  }
  i64 low() const { return bound; }
  void raise(i64 low) { bound = std::max(bound, low); }
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
    Memo<int, ToyLimits, ToyState> memo;
    bool found = true;
    auto& e = memo.find_or_add(1, 11, {8}, found);
    CHECK(!found);
    CHECK(&memo.find_or_add(1, 11, {8}, found) == &e);
    CHECK(found);
    e.bound = 40;
    e.solved = e.feasible = true;
    e.peaks = {4};
    CHECK(&memo.find_or_add(1, 11, {5}, found) == &e);
    CHECK(&memo.find_or_add(1, 11, {4}, found) == &e);
    auto& tighter = memo.find_or_add(1, 11, {3}, found);  // its program does not fit
    CHECK(!found);
    CHECK(tighter.low() == 40);
    CHECK(&memo.loosest_of(tighter) == &e);
    CHECK(&memo.find_or_add(tighter, {5}, found) == &e);
    auto& looser = memo.find_or_add(1, 11, {9}, found);  // there may be a better one
    CHECK(!found);
    CHECK(looser.low() == 0);
    CHECK(&memo.loosest_of(tighter) == &looser);
    CHECK(&memo.loosest_of(looser) == &looser);
    memo.find_or_add(2, 11, {8}, found);  // equal hash, other key
    CHECK(!found);
    for (int key = 10; key < 5000; key++)
      memo.find_or_add(key, static_cast<u64>(key % 7) << 60, {1}, found);
    for (int key = 10; key < 5000; key += 97) {
      CHECK(memo.find_or_add(key, static_cast<u64>(key % 7) << 60, {1}, found).key() == key);
      CHECK(found);
    }
    CHECK(memo.keys() == 4992);
  }
}

}  // namespace morello

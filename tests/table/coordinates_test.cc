// SPDX-License-Identifier: MIT
// Coordinates: a bijection, oriented along the dependencies.
#include "table/coordinates.hh"

#include <doctest/doctest.h>

#include <random>

#include "../support/random_statement.hh"
#include "actions/action.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

void same_after_a_round_trip(const Spec& spec, const Limits& limits) {
  Spec back;
  Limits back_limits;
  from_grid(to_grid(spec, limits), back, back_limits);
  CHECK(back == spec);
  CHECK(back_limits == limits);
}

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
}

}  // namespace morello

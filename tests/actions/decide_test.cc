// SPDX-License-Identifier: MIT
// Programs from decisions that may be anything.
#include "actions/decide.hh"

#include <doctest/doctest.h>

#include "spec/statement.hh"

namespace morello {
namespace {

const Target& target() { return *fixed_target(Isa::kAvx2); }

Spec matmul() {
  Spec spec = lower(*parse("matmul f32[6,10] f32[10,16] -> f32[6,16]"))->spec;
  spec.serial = true;
  return spec;
}

/// The first action that fits, of kinds in this order: some program.
std::optional<Action> first_that_fits(const Spec& spec, const Limits& limits) {
  const ActionContext context{&target()};
  ActionList list;
  list_actions(spec, limits, context, list);
  Derivation d;
  for (ActionKind kind :
       {ActionKind::kAccumulate, ActionKind::kRegisters, ActionKind::kSelect, ActionKind::kTile})
    for (const Action& action : list)
      if (action.kind == kind && preview(spec, limits, action, context, d)) return action;
  return std::nullopt;
}

std::optional<ImplTree> decided(const Decisions& decisions, const DecideOptions& options = {}) {
  return decide(matmul(), limits_of(target()), {&target()}, target(), decisions, options);
}

}  // namespace

TEST_SUITE("actions") {
  TEST_CASE("decisions make a program, unless it is too large") {
    const auto tree = decided(first_that_fits);
    REQUIRE(tree);
    CHECK(validate(*tree) == "");
    CHECK(tree->target == &target());
    const u32 nodes = static_cast<u32>(tree->nodes.size());
    CHECK(decided(first_that_fits, {.max_nodes = nodes}));
    CHECK(!decided(first_that_fits, {.max_nodes = nodes - 1}));
    CHECK(!decided(first_that_fits, {.max_depth = 1}));
  }

  TEST_CASE("no program of decisions that are unknown, not listed, or do not fit") {
    auto instead = [](Action wrong) {
      return [wrong](const Spec& spec, const Limits& limits) -> std::optional<Action> {
        return spec == matmul() ? wrong : first_that_fits(spec, limits);
      };
    };
    CHECK(!decided([](const Spec&, const Limits&) { return std::nullopt; }));
    for (int kind : {0, 10, 255}) CHECK(!decided(instead({static_cast<ActionKind>(kind)})));
    CHECK(!decided(instead({ActionKind::kTile, 0, {}, {}, 0})));
    CHECK(!decided(instead({ActionKind::kTile, 9, {}, {}, 2})));
    CHECK(!decided(instead({ActionKind::kTile, 0, {}, {}, 6})));
    CHECK(decided(instead({ActionKind::kTile, 0, {}, {}, 3})));
    const ActionContext no_tiles{&target(), 1u << static_cast<int>(ActionKind::kTile)};
    ActionList scratch;
    const Action tile{ActionKind::kTile, 0, {}, {}, 3};
    CHECK(is_listed(matmul(), limits_of(target()), tile, {&target()}, scratch));
    CHECK(!is_listed(matmul(), limits_of(target()), tile, no_tiles, scratch));
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Programs from decisions that may be anything.
#include "actions/decide.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "spec/statement.hh"
#include "support/random_graph.hh"
#include "support/random_statement.hh"

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

  TEST_CASE("an action is listed if it is in the list") {
    constexpr u64 kSeed = 20261121;
    INFO("seed " << kSeed);
    std::mt19937_64 rng(kSeed);
    const Target several = with_machine(target(), 0, 0, 4);
    ActionList all, scratch;
    size_t listed = 0, others = 0;
    for (int round = 0; round < 300; round++) {
      const ActionContext context{round % 2 ? &target() : &several, 0,
                                  static_cast<u32>(round % 3 == 0 ? ~0u : 0)};
      const Limits limits = limits_of(target());
      testing::Random random(rng());
      Result<Lowered> lowered =
          lower(round % 4 == 3 ? testing::random_graph(random, 4) : testing::random_statement(rng));
      REQUIRE(lowered.ok());
      Spec spec = lowered->spec;
      for (int depth = 0; depth < 6; depth++) {
        list_actions(spec, limits, context, all);
        for (const Action& a : all) CHECK(is_listed(spec, limits, a, context, scratch));
        listed += all.size();
        const auto check = [&](const Action& a) {
          const bool in_list = std::find(all.begin(), all.end(), a) != all.end();
          CHECK(is_listed(spec, limits, a, context, scratch) == in_list);
          others += !in_list;
        };
        for (const ActionKind kind : {ActionKind::kTile, ActionKind::kParallelTile})
          for (u8 dim = 0; dim < 8; dim++)
            for (u32 size = 0; size < 70; size++) check({kind, dim, {}, {}, size});
        for (const ActionKind kind :
             {ActionKind::kSelect, ActionKind::kBufferize, ActionKind::kView})
          for (u8 arg = 0; arg < 16; arg++)
            for (Level level : {Level::kRegister, Level::kL1, Level::kL2, Level::kMemory})
              for (u32 size : {0u, 1u}) check({kind, arg, level, {}, size});
        Derivation d;
        if (all.size() == 0) break;  // a dead end: say, a buffer would have to be nearer than L1
        const Action a = *(all.begin() + static_cast<long>(rng() % all.size()));
        if (!preview(spec, limits, a, context, d) || d.count == 0) break;
        spec = d.child[rng() % static_cast<u64>(d.count)].spec;
      }
    }
    CHECK(listed > 1000);
    CHECK(others > 1000);
  }
}

}  // namespace morello

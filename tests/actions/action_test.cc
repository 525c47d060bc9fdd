// SPDX-License-Identifier: MIT
// Actions over many Specs: what preview() promises is what apply() builds and what the tree costs.
#include "actions/action.hh"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "../support/least.hh"
#include "../support/random_statement.hh"
#include "cost/overlap.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

/// Own cost of a node, from its kind alone: not from the action that made it.
i64 own_cost(const ImplTree& tree, const ImplNode& node) {
  const Target& t = *tree.target;
  if (const auto* loop = std::get_if<Loop>(&node.kind))
    return loop->parallel
               ? t.parallel_units
               : static_cast<i64>(loop->trips) * t.prices.loop - overlap_units(tree, node, t).all();
  if (const auto* move = std::get_if<Move>(&node.kind))
    return move->view ? step_units(node.spec, node.spec.operand[move->operand], t) : 0;
  return std::holds_alternative<Select>(node.kind) ? node.cost : 0;
}

i64 cost_of(const ImplTree& tree, NodeId id) {
  const ImplNode& node = tree.nodes[id];
  i64 cost = own_cost(tree, node);
  for (size_t i = 0; i < node.children.size(); i++) {
    const auto* loop = std::get_if<Loop>(&node.kind);
    u64 times = loop && i == 0 ? loop->trips : 1;
    cost = saturating_add(cost, saturating_mul(times, cost_of(tree, node.children[i].node)));
  }
  return cost;
}

}  // namespace

TEST_SUITE("actions") {
  TEST_CASE("apply builds what preview promised, for every action of random Specs") {
    u64 seed = 4711;
    std::mt19937_64 rng(seed);
    Target target = with_machine(*fixed_target(Isa::kAvx512), 0, 0, 4);
    ActionContext context{&target};
    const Bounds bounds(target);
    testing::RandomStatementOptions options;
    options.free_layouts = true;
    std::set<ActionKind> seen;
    int below_zero = 0;
    for (int round = 0; round < 400; round++) {
      options.other_dtypes = round % 4 == 0;
      Spec spec = lower(testing::random_statement(rng, options))->spec;
      if (round % 20 == 11)
        spec = lower(*parse("conv2d f32[1,7,8,20] f32[3,3,1,20] padding=1 groups=20 nhwc"))->spec;
      if (round % 20 == 3) spec = lower(*parse("max_pool f32[1,20,20,16] window=3 nhwc"))->spec;
      if (round % 20 == 2)
        spec = lower(*parse("gather f32[9,33] i32[7] axis=0 + f32[7,33] -> relu"))->spec;
      if (round % 20 == 1) spec = lower(*parse("conv2d f32[2,3,9,8] f32[4,3,3,2] padding=1"))->spec;
      Limits limits = limits_of(target);
      // Down a random path of the search space, checking every action of every Spec on the way.
      for (int depth = 0; depth < 12; depth++) {
        ActionList actions;
        list_actions(spec, limits, context, actions);
        std::vector<Child> next;
        std::set<u64> orders;
        for (const Action& action : actions) {
          INFO("seed " << seed << ", round " << round << ": action "
                       << static_cast<int>(action.kind) << " of " << describe(spec));
          CHECK(orders.insert(order_of(action)).second);  // no two alike, and a total order
          Derivation d, again;
          if (!preview(spec, limits, action, context, d)) continue;
          seen.insert(action.kind);
          REQUIRE(preview(spec, limits, action, context, again));
          CHECK(d.own == again.own);
          CHECK(testing::least_of(d, bounds) >= 0);
          if (d.own < 0) CHECK(action.kind == ActionKind::kTile);
          below_zero += d.own < 0;
          ImplNode node = apply(spec, action, context, d);
          REQUIRE(node.children.size() == static_cast<size_t>(d.count));
          for (int i = 0; i < d.count; i++) {
            const Child& child = d.child[i];
            CHECK(child.spec == again.child[i].spec);
            CHECK(child.limits.within(limits));
            CHECK(child.times >= 1);
            CHECK(!(child.spec == spec && child.limits == limits));
            for (int dim = 0; dim < child.spec.rank; dim++) CHECK(child.spec.size[dim] > 1);
            const bool moves =
                action.kind == ActionKind::kPack || action.kind == ActionKind::kWiden;
            // What fills or copies axes of windows has their sizes.
            const bool axes =
                action.kind == ActionKind::kPad || (moves && spec.operand[action.arg].windows != 0);
            if (!axes && moves && child.spec.operand_count == 2)  // may take dimensions as one
              CHECK(volume(child.spec) <= volume(spec));
            else if (!axes)
              for (int dim = 0; dim < child.spec.rank; dim++)
                CHECK(child.spec.size[dim] <= spec.size[child.binding.dim[dim]]);
            next.push_back(child);
          }
        }
        if (next.empty()) break;
        const Child& child = next[rng() % next.size()];
        spec = child.spec;
        limits = child.limits;
      }
    }
    // Of graphs: general_test.cc, and diagonal_test.cc and rescale_test.cc of tests/impl
    for (ActionKind kind : {ActionKind::kBufferizeFold, ActionKind::kMask, ActionKind::kRescale})
      CHECK(!seen.count(kind));
    CHECK(seen.size() + 3 == rewrites().size());
    CHECK(below_zero > 0);
  }

  TEST_CASE("the cost of a tree is the cost that the search found, and the tree is valid") {
    u64 seed = 42;
    std::mt19937_64 rng(seed);
    testing::RandomStatementOptions options;
    options.max_elements = 4000;
    options.max_flops = 20000;
    SearchOptions search;
    search.memory_budget_bytes = 8 << 20;  // the same on every machine, unlike a time
    int given_up = 0;
    options.free_layouts = true;
    for (int round = 0; round < 60; round++) {
      Statement statement = testing::random_statement(rng, options);
      Result<ImplTree> tree =
          synthesize(lower(statement)->spec, *fixed_target(round % 2 ? Isa::kAvx2 : Isa::kAvx512),
                     search, nullptr);
      INFO("seed " << seed << ", round " << round << ": " << print(statement));
      if (!tree.ok() && tree.error().status == MORELLO_BUDGET_EXCEEDED) {
        given_up++;
        continue;
      }
      REQUIRE(tree.ok());
      CHECK(validate(*tree) == "");
      CHECK(cost_of(*tree, 0) == tree->nodes[0].cost);
    }
    CHECK(given_up <= 3);
  }

  TEST_CASE("a register tile does not remember how far apart its rows were") {
    std::set<u64> bodies;
    for (const char* text :
         {"matmul f32[4,20] f32[20,8]", "matmul f32[4,20] f32[20,8] -> f32[4,8]{strides=9,1}",
          "matmul f32[4,20] f32[20,8] -> f32[4,8]{strides=1024,1}",
          "matmul f32[4,20] f32[20,8] -> f32[4,8]{strides=65536,1}"}) {
      const Target& target = *fixed_target(Isa::kAvx2);
      const Spec spec = lower(*parse(text))->spec;
      const Action registers{ActionKind::kRegisters, 2, Level::kRegister, {}, 0};
      Derivation d;
      REQUIRE(preview(spec, limits_of(target), registers, {&target}, d));
      bodies.insert(hash_of(d.child[0].spec));
    }
    CHECK(bodies.size() == 1);
  }

  TEST_CASE("limits: what is left after an allocation, and what a peak becomes, are adjoint") {
    for (u32 limit = 0; limit < 60; limit++)
      for (u32 peak = 0; peak < 60; peak++)
        for (u64 amount : {0ull, 1ull, 3ull, 4ull, 7ull, 31ull, 64ull, 1000ull, 16384ull}) {
          Limits have, used;
          have.at(Level::kL2) = static_cast<u8>(limit);
          used.at(Level::kL2) = static_cast<u8>(peak);
          bool fits_before = add(used, Level::kL2, amount).within(have);
          Limits rest = have;
          bool fits_after = subtract(rest, Level::kL2, amount) && used.within(rest);
          CHECK(fits_before == fits_after);
        }
    for (u64 lines = 0; lines < 5000; lines++) {
      CHECK(lines_of_code(code_at_most(lines)) <= lines);
      CHECK(lines_of_code(code_at_least(lines)) >= lines);
      CHECK(code_at_least(lines) - code_at_most(lines) <= 1);
    }
  }
}

}  // namespace morello

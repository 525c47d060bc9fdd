// SPDX-License-Identifier: MIT
// The loops that the plan makes over a microkernel's portions are those that its price counts.
#include <doctest/doctest.h>

#include "codegen/plan.hh"
#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

/// Trips of all loops in a list, nested and shared ones as often as they run.
i64 trips(const Plan& plan, const std::vector<PlanId>& list) {
  i64 sum = 0;
  for (PlanId id : list) {
    const PlanNode& node = plan.nodes[id];
    if (const auto* loop = std::get_if<PlanLoop>(&node))
      sum +=
          static_cast<i64>(loop->trips) * (1 + trips(plan, loop->body)) + trips(plan, loop->rest);
    else if (const auto* invoke = std::get_if<PlanInvoke>(&node))
      sum += trips(plan, plan.functions[invoke->function].body);
  }
  return sum;
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("every loop over portions has a price") {
    const Target& target = *fixed_target(Isa::kAvx2);
    int with_loops = 0;
    for (const char* text :
         {"transpose f32[60,100] -> f32[100,60]", "transpose f32[7,100] -> f32[100,7]",
          "neg f32[3,5,7]", "add f32[3,5,70]{2,0,1} f32[70] -> f32[3,5,70]", "fill 1 -> f32[9]",
          "reduce_sum f32[40,50] axis=1 -> f32[40]", "reduce_max f32[4,6,8] axis=1 -> f32[4,8]",
          "matmul f32[5,6] f32[6,7] -> f32[5,7]"}) {
      const Result<Lowered> lowered = lower(*parse(text));
      REQUIRE(lowered.ok());
      for (const Microkernel* kernel : microkernels()) {
        if (!kernel->applies(lowered->spec, target)) continue;
        INFO(std::string(text));
        CAPTURE(name_of(kernel->id));
        ImplTree tree;
        tree.target = &target;
        tree.nodes.push_back({lowered->spec, Select{static_cast<u16>(kernel->id)}, {}, 0, {}});
        const Result<Plan> plan = make_plan(tree, lowered->view);
        REQUIRE(plan.ok());
        const i64 loops = trips(*plan, plan->functions[0].body);
        CHECK(loop_units(lowered->spec, kernel->portions(lowered->spec), target) ==
              loops * target.prices.loop);
        with_loops += loops > 0;
      }
    }
    CHECK(with_loops >= 8);
  }

  TEST_CASE("the price of loops saturates") {
    Spec spec = lower(*parse("neg f32[3,5,7]"))->spec;
    spec.rank = 4;
    for (int d = 0; d < 4; d++) spec.size[d] = 1u << 30;
    CHECK(loop_units(spec, {1, 1, 1, 1}, *fixed_target(Isa::kAvx2)) == kInfinite);
    CHECK(loop_units(spec, {}, *fixed_target(Isa::kAvx2)) == 0);
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// What a program repeats is emitted once.
#include "codegen/routines.hh"

#include <doctest/doctest.h>

#include <map>

#include "codegen/emit.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

Plan plan_of(const char* text, const Target& target) {
  Result<Statement> statement = parse(text);
  REQUIRE(statement.ok());
  Result<Lowered> lowered = lower(*statement);
  REQUIRE(lowered.ok());
  Result<ImplTree> tree = synthesize(lowered->spec, target, {}, nullptr);
  REQUIRE(tree.ok());
  Result<Plan> plan = make_plan(*tree, lowered->view);
  REQUIRE(plan.ok());
  return std::move(*plan);
}

/// Calls of each routine, counted in the bodies of all functions.
void count(const Plan& plan, const std::vector<PlanId>& list, std::map<u32, u32>& calls) {
  for (PlanId id : list) {
    const PlanNode& node = plan.nodes[id];
    if (const auto* loop = std::get_if<PlanLoop>(&node)) {
      count(plan, loop->body, calls);
      count(plan, loop->rest, calls);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
      calls[invoke->function]++;
      const PlanFunction& routine = plan.functions[invoke->function];
      CHECK(routine.routine);
      CHECK(routine.cursors.size() == invoke->cursors.size());
    }
  }
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("a routine is called at two places or more, and its code is there once") {
    const Target& target = *fixed_target(Isa::kAvx2);
    size_t routines = 0;
    for (const char* text :
         {"matmul f32[127,129] f32[129,33]", "matmul f32[150,100] f32[100,90]",
          "matmul f32[64,64] f32[64,64]", "matmul f32[41,64]{0,1} f32[64,41] + f32[]"}) {
      const Plan plan = plan_of(text, target);
      std::map<u32, u32> calls;
      for (const PlanFunction& function : plan.functions) count(plan, function.body, calls);
      for (u32 f = 1; f < plan.functions.size(); f++) {
        const PlanFunction& function = plan.functions[f];
        CHECK_MESSAGE(function.body.empty() == (calls[f] == 0), text);
        CHECK_MESSAGE(calls[f] != 1, text);
        routines += calls[f] > 1;
      }
    }
    CHECK(routines > 0);
  }

  TEST_CASE("thousands of rows do not take hundreds of kilobytes of code") {
    const Target& target = *fixed_target(Isa::kAvx512);
    const Plan plan = plan_of("matmul f32[5504,80] f32[80,40]", target);
    Result<Code> code = emit(plan, target);
    REQUIRE(code.ok());
    CHECK(code->bytes.size() < 16384);  // it was 932,644
  }
}

}  // namespace morello

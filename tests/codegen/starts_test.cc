// SPDX-License-Identifier: MIT
// Reductions that begin with their first elements, and have no register tile filled for them.
#include <doctest/doctest.h>

#include <algorithm>

#include "harness.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using testing::plan_of;

struct Calls {
  u64 starting = 0, filling = 0;
};
Calls calls_of(const char* text, Isa isa) {
  const Plan plan = plan_of(text, *fixed_target(isa));
  Calls calls;
  const auto count = [&](const auto& self, const std::vector<PlanId>& list) -> void {
    for (const PlanId id : list) {
      if (const auto* loop = std::get_if<PlanLoop>(&plan.nodes[id])) {
        self(self, loop->body), self(self, loop->rest);
      } else if (const auto* call = std::get_if<PlanCall>(&plan.nodes[id])) {
        calls.starting += call->starts;
        calls.filling += head_of(call->spec).op == Op::kFill;
      }
    }
  };
  for (const PlanFunction& function : plan.functions) count(count, function.body);
  return calls;
}

TEST_SUITE("codegen") {
  TEST_CASE("maxima of windows start from their first elements, sums from zero") {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      for (const char* text : {"max_pool f32[1,14,14,32] window=2 stride=2 nhwc",
                               "max_pool f32[1,14,14,32] window=3 nhwc"}) {
        INFO(std::string(text), " on ", fixed_target(isa)->name);
        const Calls calls = calls_of(text, isa);
        CHECK(calls.starting > 0);
        CHECK(calls.filling == 0);
      }
      // -0 is not what a sum of -0 alone and 0 is; integers have one instruction for each.
      for (const char* text : {"avg_pool f32[1,14,14,32] window=2 stride=2 nhwc",
                               "max_pool i8[1,14,14,32] window=2 stride=2 nhwc"}) {
        INFO(std::string(text), " on ", fixed_target(isa)->name);
        const Calls calls = calls_of(text, isa);
        CHECK(calls.starting == 0);
        CHECK(calls.filling > 0);
      }
    }
  }
}

}  // namespace
}  // namespace morello

// SPDX-License-Identifier: MIT
// Steps on results of reductions: which there are, and who makes them.
#include "cost/steps.hh"

#include <doctest/doctest.h>

#include "../support/lowered.hh"
#include "cost/microkernel.hh"
#include "impl/microkernel_id.hh"
#include "search/synthesize.hh"

namespace morello {
namespace {

using testing::spec_of;

/// Microkernels of a program that make steps of results.
int stepping(const char* text, const Target& target) {
  const Result<ImplTree> tree = synthesize(spec_of(text), target, {}, nullptr);
  REQUIRE(tree.ok());
  int count = 0;
  for (const ImplNode& node : tree->nodes)
    if (const auto* select = std::get_if<Select>(&node.kind))
      if (has_result_steps(node.spec)) {
        CHECK(microkernel(static_cast<MicrokernelId>(select->microkernel))
                  .applies(without_steps(node.spec), target));
        count++;
      }
  return count;
}

}  // namespace

TEST_SUITE("cost") {
  TEST_CASE("steps read the value before and constants, and only the last one is written") {
    CHECK(has_result_steps(spec_of("reduce_max f32[4,60] axis=1 -> neg")));
    CHECK(has_result_steps(spec_of("mean f32[4,60] axis=1")));
    CHECK_FALSE(has_result_steps(spec_of("reduce_sum f32[4,60] axis=1")));
    CHECK_FALSE(has_result_steps(spec_of("reduce_sum f32[4,60] axis=1 + f32[4]")));
    CHECK_FALSE(has_result_steps(spec_of("softmax f32[4,60] axis=1")));
    // What is between is stored as well.
    CHECK_FALSE(
        has_result_steps(spec_of("m = reduce_max f32[4,60] axis=1 -> neg; n = exp m; m, n")));
    CHECK(has_result_steps(spec_of("mean f32[4,60] axis=1 -> silu -> bf16[4]")));
  }

  TEST_CASE("a Spec without its steps, and these alone") {
    const Spec mean = spec_of("mean f32[4,60] axis=1"), sum = without_steps(mean);
    CHECK(sum.stage_count == 1);
    CHECK(sum.stage[0].out == sum.out_index());
    CHECK(without_steps(sum) == sum);
    const Spec steps = steps_alone(mean);
    CHECK(steps.stage_count + sum.stage_count == mean.stage_count);
    CHECK(steps.rank == 0);
    CHECK(steps.stage[0].out == steps.out_index());
    for (const Target& target : fixed_targets()) {
      CHECK(step_units_of_result(sum, target) == 0);
      CHECK(step_units_of_result(mean, target) > 0);
    }
  }

  TEST_CASE("who combines few rows makes what they are scaled by") {
    for (const Target& target : fixed_targets()) {
      INFO(target.name);
      CHECK(stepping("layernorm f32[64,768] f32[768] f32[768] axis=1", target) >= 1);
      CHECK(stepping("mean f32[1,500] axis=1", target) == 1);
    }
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Values that an output holds until it is overwritten by what is made of them.
#include <doctest/doctest.h>

#include "../support/action_tree.hh"
#include "../support/lowered.hh"
#include "actions/part.hh"

namespace morello {
namespace {

using namespace testing;

/// Stages whose values an output may hold.
int held(std::string_view text) {
  const Spec spec = lowered(text).spec;
  int count = 0;
  for (int s = 0; s < spec.stage_count; s++) count += output_for_value(spec, s) >= 0;
  return count;
}

TEST_SUITE_BEGIN("impl");

TEST_CASE("what is listed for graphs whose outputs hold values is right") {
  const Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 4);
  const ActionContext context{&target};
  std::map<ActionKind, int> seen;
  int in_place = 0;
  for (std::string_view text :
       {"softmax f32[5,19] axis=1", "softmax f32[5,19] axis=0", "log_softmax f32[3,21] axis=1",
        "layernorm f32[6,20] f32[20] f32[20] axis=1",
        "x f32[9,20]; p = softmax x axis=1; l = logsumexp x axis=1; p, l",
        "x f32[6,11]; e = exp x; s = reduce_sum e axis=1 keep; t = reduce_max e axis=0 keep; p = "
        "mul e s; q = mul e t; p, q",
        "x f32[6,11]; e = exp x; s = reduce_sum e axis=1 keep; p = mul e s; q = mul e 2; q, p",
        "x f32[6,11]; e = exp x; s = reduce_sum e axis=1 keep; p = mul e s; q = mul p e; q -> "
        "bf16[6,11], p -> f32[6,11]"})
    for (u32 seed = 1; seed <= 120; seed++) {
      Random random(seed);
      const Lowered graph = lowered(text);
      const ImplTree tree = random_action_tree(graph.spec, context, random, 9, seen);
      INFO(text << ", seed " << seed << ":\n" << print(tree));
      REQUIRE(wrong_tree(tree, graph, random) == "");
      for (const ImplNode& node : tree.nodes) {
        const auto* block = std::get_if<Block>(&node.kind);
        if (!block || block->buffer_count > 1 || node.children.size() != 2) continue;
        // The second child reads what the first one left in an output of the whole.
        const Spec& rest = tree.nodes[node.children[1].node].spec;
        for (int o = 0; o < rest.operand_count; o++) {
          const u8 whole = node.children[1].binding.operand[o];
          in_place += rest.operand[o].access == Access::kInOut && whole < node.spec.operand_count &&
                      node.spec.operand[whole].access == Access::kOut;
        }
      }
    }
  CHECK(in_place > 100);
  CHECK(seen[ActionKind::kBufferizeFold] > 100);
}

TEST_CASE("which values an output may hold") {
  CHECK(held("softmax f32[5,19] axis=1") == 1);      // the exponentials
  CHECK(held("log_softmax f32[5,19] axis=1") == 1);  // the differences
  CHECK(held("layernorm f32[6,20] f32[20] axis=1") == 1);
  CHECK(held("softmax f32[5,19] axis=1 -> bf16[5,19]") == 0);  // it would round them
  CHECK(held("softmax f32[5,19] axis=1 += f32[5,19]") == 0);   // it has to be kept
  CHECK(held("attention f32[9,8] f32[9,8] f32[9,8]") == 0);    // it has other dimensions
  CHECK(held("exp f32[40] -> mul 2") == 0);                    // no stage needs the value again
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

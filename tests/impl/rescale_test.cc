// SPDX-License-Identifier: MIT
// Rows by blocks whose exponentials are rescaled: which graphs have such, and that what is listed
// for them is valid and computes them, against evaluate().
#include "spec/rescale.hh"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../support/action_tree.hh"
#include "../support/lowered.hh"
#include "../support/scale.hh"
#include "actions/clamp.hh"
#include "impl/evaluate.hh"
#include "impl/interpret.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using namespace testing;

/// Every size of blocks, of rows of any length.
ActionContext all_blocks(const Target& target) {
  ActionContext context{&target};
  context.disabled_restrictions = 1u << static_cast<int>(Restriction::kFewBlocks);
  return context;
}

int rescalable_stages(const std::string& text) {
  const Spec spec = lowered(text).spec;
  int count = 0;
  for (int s = 0; s < spec.stage_count; s++) count += rescaled_exponentials(spec, s) >= 0;
  return count;
}

TEST_SUITE_BEGIN("impl");

TEST_CASE("which rows may be cut into blocks") {
  for (const char* text :
       {"softmax f32[3,256] axis=1", "softmax f32[256,3] axis=0", "log_softmax f32[3,256] axis=1",
        "logsumexp f32[3,256] axis=1", "softmax bf16[3,256] axis=1 -> bf16[3,256]",
        "attention f32[4,8] f32[256,8] f32[256,8]",
        "attention f32[4,8] f32[256,8] f32[256,8] f32[4,256]",
        "m = reduce_max x f32[3,256] axis=1 keep; e = sub x m -> exp; s = reduce_sum e axis=1 keep;"
        " y = div e s; y, m",
        "m = reduce_max x f32[3,256] axis=1 keep; e = sub x m -> exp; s = reduce_sum e axis=1; s"})
    CHECK_MESSAGE(rescalable_stages(text) == 1, std::string(text));
  for (const char* text :
       {// The exponentials are a result, nothing is summed, or what is summed is no multiple of
        // them.
        "m = reduce_max x f32[3,256] axis=1 keep; e = sub x m -> exp; s = reduce_sum e axis=1; s, "
        "e",
        "m = reduce_max x f32[3,256] axis=1 keep; sub x m -> exp",
        "m = reduce_max x f32[3,256] axis=1 keep; sub x m -> exp -> square -> reduce_sum axis=1",
        // Below what is not the greatest.
        "m = reduce_max f32[3,256] axis=1 keep; sub f32[3,256] m -> exp -> reduce_sum axis=1",
        "m = reduce_min x f32[3,256] axis=1 keep; sub x m -> exp -> reduce_sum axis=1",
        // What is summed needs whole rows, or is causal.
        "c = mean x f32[3,256] axis=1 keep; z = sub x c; softmax z axis=1",
        "attention f32[200,8] f32[256,8] f32[256,8] causal", "matmul f32[3,4] f32[4,5]"})
    CHECK_MESSAGE(rescalable_stages(text) == 0, std::string(text));
}

TEST_CASE("what is listed for rows by blocks is right") {
  const Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 4);
  const ActionContext context = all_blocks(target);
  std::map<ActionKind, int> seen;
  for (const std::string text :
       {"softmax f32[2,128] axis=1", "softmax f32[192,3] axis=0", "log_softmax f32[2,130] axis=1",
        "logsumexp f32[3,256] axis=1", "softmax bf16[2,128] axis=1 -> bf16[2,128]",
        "attention f32[2,3,4] f32[2,128,4] f32[2,128,2]",
        "attention f32[3,4] f32[192,4] f32[192,2] f32[3,192]",
        "attention f32[20,2] f32[140,2] f32[140,2] causal offset=120",
        "m = reduce_max x f32[2,256] axis=1 keep; e = sub x m -> exp; s = reduce_sum e axis=1 keep;"
        " y = div e s; m, y",
        "m = reduce_max x f32[2,256] axis=1 keep; d = sub x m; e = exp d; s = reduce_sum e axis=1;"
        " t = matmul e f32[256,3]; w = mul d e -> reduce_sum axis=1; s, t, w"})
    for (u32 seed = 1, last = static_cast<u32>(rounds(60)); seed <= last; seed++) {
      Random random(seed);
      const Lowered graph = lowered(text);
      const ImplTree tree = random_action_tree(graph.spec, context, random, 8, seen);
      INFO(text << ", seed " << seed << ":\n" << print(tree));
      REQUIRE(wrong_tree(tree, graph, random) == "");
    }
  CHECK(seen[ActionKind::kRescale] > rounds(40));
}

TEST_CASE("parts of rows by blocks are canonical, and no farther from it than blocks") {
  const Target& target = *fixed_target(Isa::kAvx512);
  const ActionContext context = all_blocks(target);
  for (const char* text :
       {"softmax f32[3,512] axis=1", "attention f32[4,8] f32[512,8] f32[512,8]"}) {
    const Spec spec = lowered(text).spec;
    ActionList list;
    list_actions(spec, limits_of(target), context, list);
    int found = 0;
    for (const Action& a : list) {
      if (a.kind != ActionKind::kRescale) continue;
      Derivation d;
      REQUIRE(preview(spec, limits_of(target), a, context, d));
      REQUIRE(d.count == 2);
      for (int c = 0; c < 2; c++) CHECK(not_canonical(d.child[c].spec) == "");
      const u8 blocks = dim_of_blocks(d.child[0].spec);
      REQUIRE(blocks != kNoDim);
      CHECK(d.child[0].spec.size[blocks] == 512 / a.size);
      const Spec one = tile(d.child[0].spec, blocks, 1, nullptr);
      CHECK(volume(one) * (512 / a.size) == volume(spec));
      found++;
    }
    CHECK(found >= 3);
  }
}

/// As leaves, so by evaluate().
std::vector<float> interpreted(const Lowered& graph, const Action* action, std::vector<float> in) {
  const Target& target = *fixed_target(Isa::kAvx2);
  const ActionContext context = all_blocks(target);
  const Spec& spec = graph.spec;
  std::vector<float> out(graph.bytes[static_cast<size_t>(spec.out_index())] / sizeof(float));
  ImplTree tree;
  tree.target = &target;
  const Select leaf{static_cast<u16>(MicrokernelId::kScalarMap)};
  tree.nodes.push_back({spec, leaf, {}, 0, {}});
  if (action != nullptr) {
    Derivation d;
    REQUIRE(preview(spec, limits_of(target), *action, context, d));
    tree.nodes[0] = apply(spec, *action, context, d);
    for (u32 c = 0; c < 2; c++) {
      tree.nodes.push_back({d.child[c].spec, leaf, {}, 0, {}});
      tree.nodes[0].children[c].node = c + 1;
    }
  }
  const OperandMemory memory[] = {{in.data(), in.size()}, {out.data(), out.size()}};
  const auto stats = interpret(tree, graph.view, memory);
  REQUIRE_MESSAGE(stats.ok(), stats.error().message);
  return out;
}

TEST_CASE("infinities and NaN are what they are in whole rows") {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr u32 kRow = 256, kRows = 8;
  std::vector<float> in(kRow * kRows);
  for (u32 i = 0; i < kRow; i++) {
    in[i] = -kInfinite;
    in[kRow + i] = i < 128 ? -kInfinite : static_cast<float>(i % 5);  // a block of nothing
    in[2 * kRow + i] = i == 70 ? kNan : 1;
    in[3 * kRow + i] = i == 200 ? kInfinite : -static_cast<float>(i);
    in[4 * kRow + i] = i < 64 ? -kMost : -kInfinite;
    in[5 * kRow + i] = i % 100 == 0 ? kMost : -kMost;
    in[6 * kRow + i] = -static_cast<float>(i) * 0.6f;  // to denormals
    in[7 * kRow + i] = i == 3 ? -87 : -kInfinite;
  }
  for (const char* text : {"softmax f32[8,256] axis=1", "log_softmax f32[8,256] axis=1",
                           "logsumexp f32[8,256] axis=1"}) {
    const Lowered graph = lowered(text);
    const std::vector<float> expected = interpreted(graph, nullptr, in);
    const ActionContext context = all_blocks(*fixed_target(Isa::kAvx2));
    ActionList list;
    list_actions(graph.spec, limits_of(*context.target), context, list);
    int found = 0;
    for (const Action& a : list) {
      if (a.kind != ActionKind::kRescale) continue;
      found++;
      const std::vector<float> out = interpreted(graph, &a, in);
      for (size_t i = 0; i < out.size(); i++) {
        INFO(std::string(text) << " by " << a.size << " at " << i << ": " << out[i] << ", not "
                               << expected[i]);
        REQUIRE(std::isnan(out[i]) == std::isnan(expected[i]));
        if (std::isnan(out[i]) || out[i] == expected[i]) continue;
        REQUIRE(std::fabs(out[i] - expected[i]) <= 2e-6f * std::fabs(expected[i]) + 1e-44f);
      }
    }
    CHECK(found > 0);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

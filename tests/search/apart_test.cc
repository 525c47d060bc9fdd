// SPDX-License-Identifier: MIT
// Quick searches of graphs of several products beside those of their parts.
#include "search/apart.hh"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "../support/costs.hh"
#include "../support/scale.hh"

namespace morello {
namespace {

i64 quick_cost(const std::string& text, Isa isa) {
  return testing::cost_of(text, isa, kQuickEffort);
}

/// A graph, and what it is made of: each reads the results of others from memory.
struct Whole {
  std::string text;
  std::vector<std::string> parts;
};

/// No more than so many times its parts: layouts are chosen before all else, and what a search of a
/// part alone improves is more.
void costs_no_more_than_parts(const Whole& whole, Isa isa, double times) {
  INFO(whole.text);
  i64 parts = 0;
  for (const std::string& part : whole.parts) parts += quick_cost(part, isa);
  CHECK(static_cast<double>(quick_cost(whole.text, isa)) <= times * static_cast<double>(parts));
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("a graph of several products costs no more than its parts") {
    // The first two cost 6 and 11 times as much as their parts, when all that comes near, and when,
    // was found for the whole graph at once.
    const Whole wholes[] = {
        {"v = layernorm x f32[128,768] axis=1 * f32[768] + f32[768] -> "
         "matmul f32[768,3072]{*} + f32[3072] -> gelu -> matmul f32[3072,768]{*} + f32[768]; add x "
         "v",
         {"layernorm f32[128,768] axis=1 * f32[768] + f32[768]",
          "matmul f32[128,768] f32[768,3072]{*} + f32[3072] -> gelu",
          "x f32[128,768]; v = matmul f32[128,3072] f32[3072,768]{*} + f32[768]; add x v"}},
        {"q = matmul f32[128,768] f32[768,768]{*} + f32[768] -> reshape shape=128,12,64 -> "
         "transpose perm=1,0,2; "
         "k = matmul f32[128,768] f32[768,768]{*} + f32[768] -> reshape shape=128,12,64 -> "
         "transpose perm=1,2,0; matmul q k * 0.125 -> softmax axis=2 -> matmul f32[12,128,64]",
         {"matmul f32[128,768] f32[768,768]{*} + f32[768]",
          "matmul f32[128,768] f32[768,768]{*} + f32[768]",
          "attention f32[12,128,64] f32[12,128,64] f32[12,128,64]"}},
        {"rmsnorm f32[3,672] axis=1 * f32[672] -> matmul f32[672,976]{*} + f32[976] -> silu -> "
         "matmul f32[976,672]{*}",
         {"rmsnorm f32[3,672] axis=1 * f32[672]",
          "matmul f32[3,672] f32[672,976]{*} + f32[976] -> silu",
          "matmul f32[3,976] f32[976,672]{*}"}}};
    for (const Whole& whole : wholes)
      for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) costs_no_more_than_parts(whole, isa, 1.2);
  }

  TEST_CASE("random layers with a norm cost no more than their parts") {
    for (int seed = 1; seed <= testing::rounds(12); seed++) {
      INFO("seed " << seed);
      std::mt19937 random(static_cast<u32>(seed));
      const auto size = [&](u32 least, u32 most) {
        const u32 n = least + random() % (most - least + 1);
        return std::to_string(random() % 2 ? n : (n + 15) / 16 * 16);
      };
      const std::string m = size(1, 160), k = size(48, 600), n = size(48, 1200);
      const std::string norm = "rmsnorm f32[" + m + "," + k + "] axis=1 * f32[" + k + "]";
      const std::string wide = " f32[" + k + "," + n + "] + f32[" + n + "] -> silu";
      const std::string narrow = " f32[" + n + "," + k + "]";
      costs_no_more_than_parts({norm + " -> matmul" + wide + " -> matmul" + narrow,
                                {norm, "matmul f32[" + m + "," + k + "]" + wide,
                                 "matmul f32[" + m + "," + n + "]" + narrow}},
                               random() % 2 ? Isa::kAvx2 : Isa::kAvx512, 1.7);
    }
  }

  TEST_CASE("what products make is computed apart, norms and chains are not") {
    CHECK(Apart::serves(testing::spec_of("matmul f32[4,8] f32[8,8] -> matmul f32[8,4]")));
    CHECK(Apart::serves(testing::spec_of("matmul f32[4,8] f32[8,8] -> softmax axis=1")));
    CHECK(Apart::serves(testing::spec_of("rmsnorm f32[4,8] axis=1 -> matmul f32[8,4]")));
    CHECK_FALSE(Apart::serves(testing::spec_of("layernorm f32[4,8] axis=1")));
    CHECK_FALSE(Apart::serves(testing::spec_of("relu f32[4,8] -> matmul f32[8,4] -> relu")));
    CHECK_FALSE(Apart::serves(testing::spec_of("matmul f32[4,8] f32[8,4]")));
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Graphs of windows with padding, in which something else is computed that has no places.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "../support/lowered.hh"
#include "../support/scale.hh"
#include "search/synthesize.hh"

namespace morello {
namespace {

Result<ImplTree> quick(const std::string& text, Isa isa) {
  SearchOptions options;
  options.effort = kQuickEffort;
  return synthesize(testing::spec_of(text), *fixed_target(isa), options, nullptr);
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("what has no places is computed before windows are divided") {
    // There was no program: the image, which is too large for L1 with its borders, waited for loops
    // over bands of places, and these for all that each of them would have computed again.
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const std::string image =
          "x f32[1,3,160,160]; w f32[24,3,3,3]; c f32[24,1,1]; "
          "v = conv2d x w stride=2 padding=1; ";
      const Result<ImplTree> graph = quick(image + "d = sqrt c; mul v d", isa);
      const Result<ImplTree> chain = quick(image + "mul v c", isa);
      REQUIRE((graph.ok() && chain.ok()));
      CHECK(static_cast<double>(graph->nodes[0].cost) <
            1.1 * static_cast<double>(chain->nodes[0].cost));
    }
  }

  TEST_CASE("graphs of windows with padding have programs") {
    for (int seed = 1; seed <= testing::rounds(16); seed++) {
      INFO("seed " << seed);
      std::mt19937 random(static_cast<u32>(seed));
      const auto one_of = [&](auto... values) {
        const int all[] = {values...};
        return std::to_string(all[random() % std::size(all)]);
      };
      const std::string c = one_of(1, 3, 8, 24, 64), n = one_of(1, 8, 24, 64);
      const std::string size = one_of(7, 28, 56, 100, 160), stride = one_of(1, 2);
      const std::string window = one_of(3, 5);
      const std::string image = "f32[1," + c + "," + size + "," + size + "]";
      const std::string places = " stride=" + stride + " padding=1";
      const std::string of = "f32[" + n + ",1,1]", of_image = "f32[" + c + ",1,1]";
      const std::string beside = "; s = add " + of + " 1 -> rsqrt; mul v s + " + of + " -> relu";
      const std::string texts[] = {
          "v = conv2d " + image + " f32[" + n + "," + c + "," + window + "," + window + "]" +
              places + beside,
          "v = conv2d " + image + " f32[" + c + ",1," + window + "," + window + "] groups=" + c +
              places + "; s = sqrt " + of_image + "; mul v s",
          "v = max_pool " + image + " window=" + window + places + "; s = exp " + of_image +
              "; mul v s",
          "v = conv2d " + image + " f32[" + n + "," + c + "," + window + "," + window + "]" +
              places + "; s = mean v axis=2,3 keep -> sigmoid; mul v s"};
      const std::string& text = texts[random() % std::size(texts)];
      INFO(text);
      const Result<ImplTree> tree = quick(text, random() % 2 ? Isa::kAvx2 : Isa::kAvx512);
      CHECK_MESSAGE(tree.ok(), (tree.ok() ? "" : tree.error().message));
    }
  }
}

}  // namespace morello

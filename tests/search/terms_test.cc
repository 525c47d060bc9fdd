// SPDX-License-Identifier: MIT
// Quick searches of convolutions with borders, of which terms are computed by themselves.
#include "search/terms.hh"

#include <doctest/doctest.h>

#include "../support/costs.hh"

namespace morello {
TEST_SUITE("search") {
  TEST_CASE("convolutions with much padding cost little more than the cheapest") {
    // Quick searches found 1.32, 1.22 and 1.47 times that, with all of the padding multiplied.
    const struct {
      const char* text;
      Isa isa;
    } cases[] = {{"conv2d f32[1,256,13,13]{1,3,2,0} f32[256,256,3,3]{*} dilation=2,2 "
                  "padding=2,2,2,2 -> relu -> f32[1,256,13,13]{1,3,2,0}",
                  Isa::kAvx512},
                 {"conv2d f32[1,2048,16,16]{1,3,2,0} f32[256,2048,3,3]{*} dilation=6,6 "
                  "padding=6,6,6,6 -> relu -> f32[1,256,16,16]{1,3,2,0}",
                  Isa::kAvx512},
                 {"conv2d f32[1,256,56,33]{1,3,2,0} f32[96,256,3,3] padding=1,1,1,1 -> relu -> "
                  "f32[1,96,56,33]{1,3,2,0}",
                  Isa::kAvx2}};
    for (const auto& one : cases) {
      INFO(one.text);
      const i64 quick = testing::cost_of(one.text, one.isa, kQuickEffort);
      const i64 exact = testing::cost_of(one.text, one.isa, kExactEffort);
      CHECK(static_cast<double>(quick) <= 1.1 * static_cast<double>(exact));
    }
  }

  TEST_CASE("terms are deep products whose windows have borders, in vectors along others") {
    const auto serves = [](const char* text) { return Terms::serves(testing::spec_of(text)); };
    CHECK(
        serves("conv2d f32[1,128,9,9]{1,3,2,0} f32[16,128,3,3] padding=1,1,1,1 -> relu -> "
               "f32[1,16,9,9]{1,3,2,0}"));
    CHECK(serves("conv2d f32[1,9,9,128] f32[3,3,128,16] nhwc padding=1,1,1,1"));
    CHECK_FALSE(serves("conv2d f32[1,9,9,64] f32[3,3,64,16] nhwc padding=1,1,1,1"));
    CHECK_FALSE(serves("conv2d f32[1,9,9,128] f32[3,3,128,16] nhwc"));
    CHECK_FALSE(serves("conv2d f32[1,128,9,9] f32[16,128,3,3] padding=1,1,1,1"));  // along places
    CHECK_FALSE(serves("max_pool f32[1,9,9,8] window=3,3 nhwc padding=1,1,1,1"));
    CHECK_FALSE(serves("matmul f32[4,8] f32[8,4]"));
  }
}

}  // namespace morello

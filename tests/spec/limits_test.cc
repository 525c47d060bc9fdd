// SPDX-License-Identifier: MIT
#include "spec/limits.hh"

#include <doctest/doctest.h>

namespace morello {

TEST_SUITE("spec") {
  TEST_CASE("limits are within others if each entry is") {
    constexpr u8 kValues[] = {0, 1, 2, 126, 127, 128, 129, 254, 255};
    size_t within = 0;
    for (u8 a : kValues)
      for (u8 b : kValues)
        for (size_t i = 0; i < Limits{}.use.size(); i++)
          for (u8 rest : {u8{0}, u8{127}, u8{128}, u8{255}}) {
            Limits x, y;
            x.use.fill(rest);
            y.use.fill(rest);
            x.use[i] = a;
            y.use[i] = b;
            CAPTURE(a);
            CAPTURE(b);
            REQUIRE(x.within(y) == (a <= b));
            x.use[(i + 1) % 4] = 200;
            y.use[(i + 1) % 4] = 199;
            REQUIRE(!x.within(y));
            within += a <= b;
          }
    CHECK(within > 500);
  }
}

}  // namespace morello

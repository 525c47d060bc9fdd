// SPDX-License-Identifier: MIT
// What is said about measurements.
#include "rounds.hh"

#include <doctest/doctest.h>

namespace morello::tools {
namespace {

TEST_CASE("a spread is that of the slow rounds, however few there are") {
  CHECK(Timing{{8}, 1}.spread() == 0);
  CHECK(Timing{{8, 12}, 1}.spread() == 0.5);
  CHECK(Timing{{8, 9, 12}, 1}.spread() == 0.5);
  CHECK(Timing{{8, 8, 8, 8, 8, 8, 8, 8, 8, 10, 80}, 1}.spread() == 0.25);  // one in ten may be off
}

TEST_CASE("figures that spread too far are called noise") {
  CHECK(noise(0).empty());
  CHECK(noise(0.5).empty());
  CHECK(noise(0.51).find("rounds differ by 51%") == 0);
  CHECK(noise(6.29).find("629%") != std::string::npos);
  CHECK(noise(0.51).find("noise") != std::string::npos);
}

}  // namespace
}  // namespace morello::tools

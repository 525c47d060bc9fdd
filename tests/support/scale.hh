// SPDX-License-Identifier: MIT
// MORELLO_TEST_ROUNDS=10: ten times as many random cases (0.1: a tenth), where a test asks.
#ifndef MORELLO_TESTS_SUPPORT_SCALE_HH
#define MORELLO_TESTS_SUPPORT_SCALE_HH

#include <algorithm>
#include <cstdlib>

namespace morello::testing {

/// So many of `usual` cases are tried, or have to be met; `least` at least.
inline int rounds(int usual, int least = 1) {
  const char* scale = std::getenv("MORELLO_TEST_ROUNDS");
  return std::max(
      least, static_cast<int>(usual * (scale ? std::max(0.0, std::strtod(scale, nullptr)) : 1)));
}

}  // namespace morello::testing

#endif

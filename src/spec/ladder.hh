// SPDX-License-Identifier: MIT
// The ladder of tile sizes: small integers, then 2^a and 3 * 2^a.
#ifndef MORELLO_SPEC_LADDER_HH
#define MORELLO_SPEC_LADDER_HH

#include <algorithm>
#include <array>

#include "support/types.hh"

namespace morello {

/// Ascending. The last entries are no size, but larger than all.
inline constexpr auto kLadder = [] {
  std::array<u32, 16 + 2 * 27> ladder{};
  size_t n = 0;
  for (u32 i = 1; i <= 16; i++) ladder[n++] = i;
  for (u32 i = 16; i < (1u << 30); i *= 2) {
    ladder[n++] = i + i / 2;
    ladder[n++] = i * 2;
  }
  for (size_t i = n; i < ladder.size(); i++) ladder[i] = ~0u;
  return ladder;
}();

/// The next larger size on the ladder; ~0 past its end.
constexpr u32 next_on_ladder(u32 size) {
  auto it = std::upper_bound(kLadder.begin(), kLadder.end(), size);
  return it == kLadder.end() ? ~0u : *it;
}
constexpr bool on_ladder(u32 size) {
  return size != ~0u && std::binary_search(kLadder.begin(), kLadder.end(), size);
}

}  // namespace morello

#endif

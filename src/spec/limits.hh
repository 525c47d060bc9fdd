// SPDX-License-Identifier: MIT
// Memory limits: what a program may use of each level. Registers are counted one by one,
// those of each bank apart; caches on
// a logarithmic scale of four steps per doubling, so that a small allocation does not halve a
// budget.
#ifndef MORELLO_SPEC_LIMITS_HH
#define MORELLO_SPEC_LIMITS_HH

#include <array>
#include <bit>

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Codes 0..3 are that many lines; code 4q+r (q >= 1) is (4+r) << (q-1) lines.
constexpr u64 lines_of_code(u32 code) {
  return code < 4 ? code : static_cast<u64>(4 + code % 4) << (code / 4 - 1);
}
/// Largest code of at most `lines`, and smallest code of at least `lines`.
u8 code_at_most(u64 lines);
u8 code_at_least(u64 lines);

/// Both what may be used (limits) and what is used (peaks): vector registers and tile registers by
/// count, L1 and L2 by code.
struct Limits {
  static constexpr int kTiles = 3;
  std::array<u8, 4> use{};  // indexed by Level, of which memory has no limit; then kTiles
  u8& at(Level l) { return use[static_cast<int>(l)]; }
  u8 at(Level l) const { return use[static_cast<int>(l)]; }
  u8& at(Bank b) { return use[b == Bank::kTile ? kTiles : 0]; }
  u8 at(Bank b) const { return use[b == Bank::kTile ? kTiles : 0]; }
  /// Every entry at most that of `other`.
  bool within(const Limits& other) const {
    // All four at once: with the highest bit of each byte apart, none borrows from the next.
    constexpr u32 kHigh = 0x80808080;
    const u32 a = std::bit_cast<u32>(use), b = std::bit_cast<u32>(other.use);
    const u32 low = (b | kHigh) - (a & ~kHigh);
    return (((b & ~a) | (~(a ^ b) & low)) & kHigh) == kHigh;
  }
  friend bool operator==(const Limits&, const Limits&) = default;
};

Limits limits_of(const Target& target);
Limits max_of(const Limits& a, const Limits& b);

/// What is left of `limits` after `amount` (vector registers, or lines) of `level`, rounded down.
/// False if it does not fit. With may_use = subtract(limits), used(peak) fits limits iff peak fits
/// may_use: the two roundings are adjoint.
bool subtract(Limits& limits, Level level, u64 amount);
/// Peaks of a node that allocates `amount` on top of its body's peaks, rounded up.
Limits add(const Limits& peaks, Level level, u64 amount);

}  // namespace morello

#endif

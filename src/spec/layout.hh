// SPDX-License-Identifier: MIT
// How the elements of an operand are ordered in memory, in terms of the dimensions of its Spec.
#ifndef MORELLO_SPEC_LAYOUT_HH
#define MORELLO_SPEC_LAYOUT_HH

#include <array>
#include <bit>

#include "support/types.hh"

namespace morello {

inline constexpr u8 kNoDim = 0xff;

/// Physical dimensions from slow to fast. Entry i counts along dimension `dim[i]`: `block[i]`
/// elements of what the faster entries of the same dimension leave, or all of it (0). Each
/// dimension has one entry with block 0, its slowest. The last block of a dimension is padded.
///
///     row-major A[m,k]                       (m)(k)
///     B[k,n] in panels of 16 columns         (n)(k)(n,16)
///     pairs along k inside these panels      (n)(k)(n,16)(k,2)
///
/// Unused entries are kNoDim, 0.
struct Layout {
  static constexpr std::array<u8, kMaxPhysical> kNoDims = {kNoDim, kNoDim, kNoDim, kNoDim,
                                                           kNoDim, kNoDim, kNoDim, kNoDim};
  std::array<u8, kMaxPhysical> dim = kNoDims;
  std::array<u8, kMaxPhysical> block{};

  /// Entries.
  int count() const {
    static_assert(kMaxPhysical == 8 && std::endian::native == std::endian::little);
    return 8 - std::countl_one(std::bit_cast<u64>(dim)) / 8;
  }
  /// Is a dimension in several entries?
  bool packed() const { return std::bit_cast<u64>(block) != 0; }
  /// Entries that are not the slowest of their dimension.
  int blocks() const {
    int n = 0;
    for (u8 b : block) n += b != 0;
    return n;
  }
  /// REQUIRES: there is one.
  u8 fastest() const { return dim[count() - 1]; }
  void append(u8 d, u8 b = 0) {
    const int at = count();
    dim[at] = d;
    block[at] = b;
  }
  /// REQUIRES: there is room.
  void insert(int index, u8 d) {
    for (int i = kMaxPhysical - 1; i > index; i--) {
      dim[i] = dim[i - 1];
      block[i] = block[i - 1];
    }
    dim[index] = d;
    block[index] = 0;
  }
  void erase(int index) {
    for (int i = index; i + 1 < kMaxPhysical; i++) {
      dim[i] = dim[i + 1];
      block[i] = block[i + 1];
    }
    dim[kMaxPhysical - 1] = kNoDim;
    block[kMaxPhysical - 1] = 0;
  }
  /// Elements of dimension `d` that its entries but the slowest count: 1 if it has no other.
  u32 block_of(int d) const {
    u32 n = 1;
    if (packed())
      for (int i = 0; i < kMaxPhysical; i++)
        if (block[i] != 0 && dim[i] == d) n *= block[i];
    return n;
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Of these dimensions, from slow to fast, in whole.
template <class Dims>
Layout layout_in_order(const Dims& slow_to_fast) {
  Layout l;
  for (auto d : slow_to_fast) l.append(static_cast<u8>(d));
  return l;
}

}  // namespace morello

#endif

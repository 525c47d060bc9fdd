// SPDX-License-Identifier: MIT
// How the elements of an operand are ordered in memory, in terms of the dimensions of its Spec.
#ifndef MORELLO_SPEC_LAYOUT_HH
#define MORELLO_SPEC_LAYOUT_HH

#include <array>

#include "support/types.hh"

namespace morello {

inline constexpr u8 kNoDim = 0xff;

/// Dimensions from slow to fast. With `pack` > 1, dimension `pack_dim` is split: `order` places its
/// index / pack, and index % pack is the fastest physical dimension of all ("panels"). Unused
/// entries of `order` are kNoDim. A panel at the end is padded to `pack` elements. Example: B[k,n]
/// in panels of 16 columns is order (n,k), pack_dim n, pack 16.
struct Layout {
  std::array<u8, kMaxDims> order = {kNoDim, kNoDim, kNoDim, kNoDim, kNoDim, kNoDim};
  u8 pack_dim = kNoDim;
  u8 reserved = 0;  // keeps the bytes of equal layouts equal
  u16 pack = 0;

  int rank() const {
    int n = 0;
    while (n < kMaxDims && order[n] != kNoDim) n++;
    return n;
  }
  bool packed() const { return pack_dim != kNoDim; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace morello

#endif

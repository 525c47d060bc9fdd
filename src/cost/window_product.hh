// SPDX-License-Identifier: MIT
#ifndef MORELLO_COST_WINDOW_PRODUCT_HH
#define MORELLO_COST_WINDOW_PRODUCT_HH

#include <optional>

#include "cost/microkernel.hh"

namespace morello {

/// Sums of windows times one number for each of their terms, for all places of a register tile.
struct WindowRoles {
  Ref image = kNoRef, weights = kNoRef;
  u8 v = kNoDim;       // results' vectors run along it
  u8 terms = kNoDim;   // reduced: of one row of a window
  u8 across = kNoDim;  // reduced as well, if any: of one column
  /// Places are two elements apart, terms one: vectors are made of every second element of two.
  bool apart = false;
  bool pairs = false;      // two of these are made of vectors that are read once
  u64 rows = 1, vecs = 1;  // of the tile
  u32 column = 1;          // terms of one column, whose weights are in registers together
  u64 read_rows = 1;       // of the image, each once for all rows of the tile that have it
};
std::optional<WindowRoles> window_roles(const Spec& spec, const Target& target);

/// Registers besides the results' and one for a mask: a vector of the image, or two as they are
/// read and one that is made of them while they are needed again; and weights of a column, or two.
u32 window_registers(const WindowRoles& roles);

}  // namespace morello

#endif

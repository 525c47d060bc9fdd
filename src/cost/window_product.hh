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
  /// Not 0: rows of the tile read rows of the image so many apart, and have some in common. Each
  /// vector is read once for all of them, beside the weights of a column.
  u32 shared = 0;
  u64 rows = 1, vecs = 1;  // of the tile
  u64 read_rows = 0;       // of the image, all rows of the tile together
};
std::optional<WindowRoles> window_roles(const Spec& spec, const Target& target);

/// Registers besides the results' and one for a mask. Apart: two vectors as they are read, one of
/// every second element, and two terms' weights; otherwise one vector and one weight, or those of a
/// column.
u32 window_registers(const Spec& spec, const WindowRoles& roles);

}  // namespace morello

#endif

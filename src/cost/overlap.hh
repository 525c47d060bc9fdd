// SPDX-License-Identifier: MIT
// Windows that overlap: what neighbouring tiles of places have in common of the input.
#ifndef MORELLO_COST_OVERLAP_HH
#define MORELLO_COST_OVERLAP_HH

#include <span>

#include "cost/model.hh"
#include "impl/impl.hh"

namespace morello {

/// A tile of a loop, run so many times, as a child of its Spec.
struct LoopTile {
  const Spec& spec;
  const Binding& binding;
  u64 times;
};

/// Units that a loop costs less than its tiles alone, of lines from each level.
struct OverlapUnits {
  int operand = -1;  // of the whole, -1: no lines
  i64 l2 = 0, memory = 0;

  i64 all() const { return l2 + memory; }
};

/// Bytes that a tile may have there for the next one to find what both have in common.
inline u64 room_for_overlap(Level level, const Target& target) {
  return target.at(level).bytes / 4 * 3;
}

/// Of a loop over `dim` whose tiles come one after the other. Each tile pays for all lines of the
/// input with windows; those that it has in common with the tile before have not left the nearer
/// level, if a tile leaves room there. Only of inputs that nothing but windows reads again: beside
/// more products their lines take no time (33 convolutions, 1.00 in the mean; expansions 1.06).
OverlapUnits overlap_units(const Spec& whole, u8 dim, std::span<const LoopTile> tiles,
                           const Target& target);
/// The same of a node of a tree; none unless it is such a loop.
OverlapUnits overlap_units(const ImplTree& tree, const ImplNode& node, const Target& target);

}  // namespace morello

#endif

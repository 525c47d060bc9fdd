// SPDX-License-Identifier: MIT
// Specs as points of a grid: what the memo table will compress. What does not order (operation,
// element types, layouts, rank) is the key of a table; what does becomes coordinates in Z>=0,
// oriented so that the Specs a Spec depends on have no larger ones.
#ifndef MORELLO_TABLE_COORDINATES_HH
#define MORELLO_TABLE_COORDINATES_HH

#include <array>

#include "spec/limits.hh"
#include "spec/spec.hh"

namespace morello {

/// On disk: never renumber. Axes past those of a key's rank and operands are 0.
enum Axis : int {
  kAxisOverwrites = 0,                     // 1: the output is overwritten; 0: it is read as well
  kAxisParallel = 1,                       // 1: may start parallel loops
  kAxisSize = 2,                           // + dimension: its size - 2
  kAxisLevel = kAxisSize + kMaxDims,       // + operand: its level, registers first
  kAxisLimit = kAxisLevel + kMaxOperands,  // + entry of Limits: the limit
  kAxes = kAxisLimit + 4,
};

struct GridPoint {
  Spec key;  // a Spec with everything that is a coordinate set to zero: no Spec by itself
  std::array<u32, kAxes> at{};
  friend bool operator==(const GridPoint&, const GridPoint&) = default;
};

/// REQUIRES: canonical. from_grid(to_grid(s, l)) gives s and l back.
GridPoint to_grid(const Spec& spec, const Limits& limits);
void from_grid(const GridPoint& point, Spec& spec, Limits& limits);

}  // namespace morello

#endif

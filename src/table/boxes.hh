// SPDX-License-Identifier: MIT
// Boxes of decided points: how a table becomes small. Each box decides every point inside, and no
// point that was decided lies in a box that says otherwise; points that nobody decided may lie in
// any.
#ifndef MORELLO_TABLE_BOXES_HH
#define MORELLO_TABLE_BOXES_HH

#include <vector>

#include "actions/action.hh"
#include "table/coordinates.hh"

namespace morello {

using Coordinates = std::array<u32, kAxes>;

struct DecidedPoint {
  Coordinates at{};
  Action action;
  friend bool operator==(const DecidedPoint&, const DecidedPoint&) = default;
};

/// lo..hi of every axis, both included.
struct GridBox {
  Coordinates lo{}, hi{};
  Action action;
  bool contains(const Coordinates& at) const {
    for (size_t a = 0; a < kAxes; a++)
      if (at[a] < lo[a] || at[a] > hi[a]) return false;
    return true;
  }
  friend bool operator==(const GridBox&, const GridBox&) = default;
};

/// What boxes may grow along.
struct BoxForm {
  static constexpr int kAllAxes = -1;   // boxes
  static constexpr int kBestAxis = -2;  // runs, along the axis that gives the fewest
  int axis = kAllAxes;                  // or runs along this one
};

/// Covers the points of one key, ascending by lo. The result depends on the set of points only.
/// REQUIRES: equal coordinates, equal action.
std::vector<GridBox> boxes_of(std::vector<DecidedPoint> points, const BoxForm& form = {});

}  // namespace morello

#endif

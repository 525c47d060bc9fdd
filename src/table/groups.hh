// SPDX-License-Identifier: MIT
// Boxes as a table's content has them, and back.
#ifndef MORELLO_TABLE_GROUPS_HH
#define MORELLO_TABLE_GROUPS_HH

#include <vector>

#include "table/boxes.hh"
#include "table/content.hh"

namespace morello {

/// Bit a: not all boxes are at the same place of axis a, which is one coordinate wide.
u32 varying_axes(const std::vector<GridBox>& boxes);

/// The boxes ascending by lo, then hi. REQUIRES: !boxes.empty().
TableGroup group_of(const Spec& key, std::vector<GridBox> boxes);
std::vector<GridBox> boxes_in(const TableGroup& group);

}  // namespace morello

#endif

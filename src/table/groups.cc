// SPDX-License-Identifier: MIT
#include "table/groups.hh"

#include <algorithm>
#include <tuple>

namespace morello {

u32 varying_axes(const std::vector<GridBox>& boxes) {
  u32 axes = 0;
  for (const GridBox& box : boxes)
    for (size_t a = 0; a < kAxes; a++)
      if (box.lo[a] != box.hi[a] || box.lo[a] != boxes[0].lo[a]) axes |= 1u << a;
  return axes;
}

TableGroup group_of(const Spec& key, std::vector<GridBox> boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const GridBox& a, const GridBox& b) {
    return std::tie(a.lo, a.hi) < std::tie(b.lo, b.hi);
  });
  TableGroup group;
  group.key = key;
  group.axes = varying_axes(boxes);
  for (size_t a = 0; a < kAxes; a++)
    if (!(group.axes >> a & 1)) group.base[a] = boxes[0].lo[a];
  for (const GridBox& box : boxes) {
    for (const Coordinates* end : {&box.lo, &box.hi})
      for (size_t a = 0; a < kAxes; a++)
        if (group.axes >> a & 1) group.bounds.push_back((*end)[a]);
    group.actions.push_back(box.action);
  }
  return group;
}

std::vector<GridBox> boxes_in(const TableGroup& group) {
  std::vector<GridBox> boxes;
  boxes.reserve(group.actions.size());
  auto bound = group.bounds.begin();
  for (const Action& action : group.actions) {
    GridBox box{group.base, group.base, action};
    for (Coordinates* end : {&box.lo, &box.hi})
      for (size_t a = 0; a < kAxes; a++)
        if (group.axes >> a & 1) (*end)[a] = *bound++;
    boxes.push_back(box);
  }
  return boxes;
}

}  // namespace morello

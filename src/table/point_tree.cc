// SPDX-License-Identifier: MIT
#include "table/point_tree.hh"

#include <algorithm>
#include <numeric>

namespace morello {

namespace {
constexpr u32 kLeafPoints = 4;
}

PointTree::PointTree(const std::vector<DecidedPoint>& points)
    : points_(points), order_(points.size()), covered_(points.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  if (points.empty()) return;
  for (int a = 0; a < kAxes; a++)
    if (std::any_of(points.begin(), points.end(),
                    [&](const DecidedPoint& p) { return p.at[a] != points[0].at[a]; }))
      axes_.push_back(a);
  build(0, static_cast<u32>(points.size()));
  uncover();
}

u32 PointTree::build(u32 begin, u32 end) {
  u32 id = static_cast<u32>(nodes_.size());
  nodes_.emplace_back();
  Node node;
  node.begin = begin;
  node.end = end;
  node.lo = node.hi = points_[order_[begin]].at;
  node.action = points_[order_[begin]].action;
  for (u32 i = begin; i < end; i++) {
    const DecidedPoint& p = points_[order_[i]];
    for (int a : axes_) {
      node.lo[a] = std::min(node.lo[a], p.at[a]);
      node.hi[a] = std::max(node.hi[a], p.at[a]);
    }
    if (p.action != node.action) node.same = false;
  }
  if (end - begin > kLeafPoints) {
    int axis = widest_axis(node);
    u32 middle = begin + (end - begin) / 2;
    std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                     [&](u32 x, u32 y) {
                       u32 a = points_[x].at[axis], b = points_[y].at[axis];
                       return a != b ? a < b : x < y;
                     });
    build(begin, middle);
    node.right = build(middle, end);
  }
  nodes_[id] = node;
  return id;
}

int PointTree::widest_axis(const Node& node) const {
  // Sizes double where levels and limits go up by one.
  int best = axes_.empty() ? 0 : axes_[0];
  double most = -1;
  for (int a : axes_) {
    bool size = a >= kAxisSize && a < kAxisLevel;
    double lo = node.lo[a] + 2, hi = node.hi[a] + 2;
    double width = size ? 4 * (hi / lo - 1) : hi - lo;
    if (width <= most) continue;
    most = width;
    best = a;
  }
  return best;
}

PointTree::Overlap PointTree::overlap(const Node& node, const GridBox& box) const {
  bool inside = true;
  for (int a : axes_) {
    if (node.lo[a] > box.hi[a] || node.hi[a] < box.lo[a]) return Overlap::kApart;
    if (node.lo[a] < box.lo[a] || node.hi[a] > box.hi[a]) inside = false;
  }
  return inside ? Overlap::kInside : Overlap::kSome;
}

bool PointTree::contains(const GridBox& box, const Coordinates& at) const {
  return std::all_of(axes_.begin(), axes_.end(),
                     [&](int a) { return at[a] >= box.lo[a] && at[a] <= box.hi[a]; });
}

void PointTree::cut(u32 id, GridBox& slab, int axis, bool upper_end) const {
  steps_++;
  const Node& node = nodes_[id];
  if (slab.lo[axis] > slab.hi[axis] || (node.same && node.action == slab.action)) return;
  if (overlap(node, slab) == Overlap::kApart) return;
  if (node.right) {
    // The child that is nearer to the box first: what it cuts, the other need not look at.
    u32 first = id + 1, second = node.right;
    const bool swap = upper_end ? nodes_[second].lo[axis] < nodes_[first].lo[axis]
                                : nodes_[second].hi[axis] > nodes_[first].hi[axis];
    if (swap) std::swap(first, second);
    cut(first, slab, axis, upper_end);
    cut(second, slab, axis, upper_end);
    return;
  }
  for (u32 i = node.begin; i < node.end; i++) {
    const DecidedPoint& p = points_[order_[i]];
    if (p.action == slab.action || !contains(slab, p.at)) continue;
    if (upper_end)
      slab.hi[axis] = p.at[axis] - 1;
    else
      slab.lo[axis] = p.at[axis] + 1;
  }
}

u32 PointTree::free_above(const GridBox& box, int axis, u32 end) const {
  GridBox slab = box;
  slab.lo[axis] = box.hi[axis] + 1;
  slab.hi[axis] = end;
  cut(0, slab, axis, true);
  return slab.hi[axis];
}

u32 PointTree::free_below(const GridBox& box, int axis, u32 end) const {
  GridBox slab = box;
  slab.lo[axis] = end;
  slab.hi[axis] = box.lo[axis] - 1;
  cut(0, slab, axis, false);
  return slab.lo[axis];
}

u32 PointTree::count_uncovered(u32 id, const GridBox& box) const {
  steps_++;
  const Node& node = nodes_[id];
  if (node.uncovered == 0) return 0;
  Overlap how = overlap(node, box);
  if (how == Overlap::kApart) return 0;
  if (how == Overlap::kInside) return node.uncovered;
  if (node.right) return count_uncovered(id + 1, box) + count_uncovered(node.right, box);
  u32 count = 0;
  for (u32 i = node.begin; i < node.end; i++)
    if (!covered_[order_[i]] && contains(box, points_[order_[i]].at)) count++;
  return count;
}

u32 PointTree::cover(u32 id, const GridBox& box) {
  steps_++;
  Node& node = nodes_[id];
  if (node.uncovered == 0 || overlap(node, box) == Overlap::kApart) return 0;
  u32 count = 0;
  if (node.right) {
    count = cover(id + 1, box) + cover(node.right, box);
  } else {
    for (u32 i = node.begin; i < node.end; i++) {
      u32 point = order_[i];
      if (covered_[point] || !contains(box, points_[point].at)) continue;
      covered_[point] = true;
      count++;
    }
  }
  node.uncovered -= count;
  return count;
}

void PointTree::uncover() {
  covered_.assign(points_.size(), false);
  for (Node& node : nodes_) node.uncovered = node.end - node.begin;
}

}  // namespace morello

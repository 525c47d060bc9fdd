// SPDX-License-Identifier: MIT
// PointTree: a k-d tree over decided points that knows where all decisions are the same, so that
// "how far may this box grow" takes few steps.
#ifndef MORELLO_TABLE_POINT_TREE_HH
#define MORELLO_TABLE_POINT_TREE_HH

#include <vector>

#include "table/boxes.hh"

namespace morello {

/// The points outlive it. One thread at a time.
class PointTree {
 public:
  explicit PointTree(const std::vector<DecidedPoint>& points);

  /// How far box.hi[axis] can go up before a point with another action is in the box, at most
  /// `end`.
  u32 free_above(const GridBox& box, int axis, u32 end) const;
  /// How far box.lo[axis] can go down, at least `end`.
  u32 free_below(const GridBox& box, int axis, u32 end) const;

  bool is_covered(size_t point) const { return covered_[point]; }
  u32 count_uncovered(const GridBox& box) const { return count_uncovered(0, box); }
  void cover(const GridBox& box) { cover(0, box); }
  void uncover();  // all

  /// Nodes that were looked at so far. Depends on the points and the calls alone.
  u64 steps() const { return steps_; }

  /// Along which points differ.
  const std::vector<int>& axes() const { return axes_; }

 private:
  struct Node {
    Coordinates lo{}, hi{};
    u32 begin = 0, end = 0;  // of order_
    u32 right = 0;           // the left child is the next node; 0: a leaf
    u32 uncovered = 0;
    bool same = true;  // all of them have `action`
    Action action;
  };
  enum class Overlap { kApart, kSome, kInside };

  u32 build(u32 begin, u32 end);
  int widest_axis(const Node& node) const;
  Overlap overlap(const Node& node, const GridBox& box) const;
  bool contains(const GridBox& box, const Coordinates& at) const;
  /// Cuts from `slab`, at the upper end of `axis` or the lower, until no conflict is left.
  void cut(u32 node, GridBox& slab, int axis, bool upper_end) const;
  u32 count_uncovered(u32 node, const GridBox& box) const;
  u32 cover(u32 node, const GridBox& box);

  const std::vector<DecidedPoint>& points_;
  std::vector<int> axes_;
  std::vector<u32> order_;
  std::vector<Node> nodes_;
  std::vector<bool> covered_;
  mutable u64 steps_ = 0;
};

}  // namespace morello

#endif

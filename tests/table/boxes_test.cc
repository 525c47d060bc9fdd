// SPDX-License-Identifier: MIT
// Boxes of random points: they say what the points say, cannot grow, and depend on no order.
#include "table/boxes.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "table/box_index.hh"
#include "table/point_tree.hh"

namespace morello {
namespace {

using Rng = std::mt19937_64;

Action action_of(u64 n) { return {ActionKind::kTile, static_cast<u8>(n), {}, {}, 1}; }

/// Points over some axes, with decisions that neighbours tend to share.
std::vector<DecidedPoint> random_points(Rng& rng) {
  const u64 axes = 1 + rng() % 6, count = 1 + rng() % 300, actions = 1 + rng() % 4;
  std::vector<size_t> axis;
  for (u64 i = 0; i < axes; i++) axis.push_back(rng() % kAxes);
  std::map<Coordinates, Action> points;
  for (u64 i = 0; i < count; i++) {
    Coordinates at{};
    at[kAxisLevel] = 2;  // the same everywhere, unless it is one of the axes
    u64 sum = 0;
    for (size_t a : axis) sum += at[a] = static_cast<u32>(rng() % 8 * (a % 3 + 1));
    u64 noise = rng() % 20 == 0;
    points[at] = action_of((sum / 12 + noise) % actions);
  }
  std::vector<DecidedPoint> list;
  for (const auto& [at, action] : points) list.push_back({at, action});
  return list;
}

bool disagrees(const GridBox& box, const std::vector<DecidedPoint>& points) {
  return std::any_of(points.begin(), points.end(), [&](const DecidedPoint& p) {
    return box.contains(p.at) && p.action != box.action;
  });
}

void check_cover(const std::vector<GridBox>& boxes, const std::vector<DecidedPoint>& points) {
  for (const GridBox& box : boxes) CHECK(!disagrees(box, points));
  for (const DecidedPoint& p : points)
    CHECK(std::any_of(boxes.begin(), boxes.end(),
                      [&](const GridBox& box) { return box.contains(p.at); }));
}

/// No box could reach the next coordinate of a point along any axis.
void check_maximal(const std::vector<GridBox>& boxes, const std::vector<DecidedPoint>& points) {
  for (size_t a = 0; a < kAxes; a++) {
    std::set<u32> values;
    for (const DecidedPoint& p : points) values.insert(p.at[a]);
    for (const GridBox& box : boxes) {
      GridBox larger = box;
      auto above = values.upper_bound(box.hi[a]), first = values.lower_bound(box.lo[a]);
      if (above != values.end()) {
        larger.hi[a] = *above;
        CHECK(disagrees(larger, points));
      }
      if (first != values.begin()) {
        larger = box;
        larger.lo[a] = *std::prev(first);
        CHECK(disagrees(larger, points));
      }
    }
  }
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("boxes and runs of random points") {
    const u64 seed = 7;
    Rng rng(seed);
    for (int round = 0; round < 150; round++) {
      INFO("seed " << seed << ", round " << round);
      std::vector<DecidedPoint> points = random_points(rng);
      const std::vector<GridBox> boxes = boxes_of(points);
      const std::vector<GridBox> runs = boxes_of(points, {BoxForm::kBestAxis});
      check_cover(boxes, points);
      check_maximal(boxes, points);
      check_cover(runs, points);
      CHECK(boxes.size() <= runs.size());
      for (int axis = 0; axis < kAxes; axis++)
        CHECK(runs.size() <= boxes_of(points, {axis}).size());
      for (const GridBox& run : runs) {
        int long_axes = 0;
        for (size_t a = 0; a < kAxes; a++) long_axes += run.lo[a] != run.hi[a];
        CHECK(long_axes <= 1);
      }
      const std::vector<DecidedPoint> once = points;  // some of them come twice
      points.insert(points.end(), once.begin(), once.begin() + once.size() / 2);
      std::shuffle(points.begin(), points.end(), rng);
      CHECK(boxes_of(points) == boxes);
      CHECK(boxes_of(points, {BoxForm::kBestAxis}) == runs);
    }
  }

  TEST_CASE("one decision is one box") {
    std::vector<DecidedPoint> points;
    for (u32 i = 0; i < 1000; i++) {
      Coordinates at{};
      at[kAxisSize] = i % 10;
      at[kAxisSize + 1] = i / 10 % 10;
      at[kAxisLimit] = i / 100;
      points.push_back({at, action_of(1)});
    }
    CHECK(boxes_of(points).size() == 1);
    CHECK(boxes_of(points, {BoxForm::kBestAxis}).size() == 100);
    CHECK(boxes_of({}).empty());
  }

  TEST_CASE("a tree of points counts the nodes that it looks at, whatever it is asked") {
    std::vector<DecidedPoint> points;
    for (u32 i = 0; i < 400; i++) {
      Coordinates at{};
      at[kAxisSize] = i % 20;
      at[kAxisLimit] = i / 20;
      points.push_back({at, action_of(i % 3)});
    }
    PointTree tree(points);
    GridBox box{points[0].at, points[399].at, action_of(0)};
    box.lo[kAxisSize] = 3;
    auto steps_of = [&](auto&& ask) {
      const u64 before = tree.steps();
      ask();
      return tree.steps() - before;
    };
    const u64 steps[] = {steps_of([&] { tree.count_uncovered(box); }),
                         steps_of([&] { tree.free_below(box, kAxisSize, 0); }),
                         steps_of([&] { tree.cover(box); })};
    for (u64 n : steps) {
      CHECK(n > 10);
      CHECK(n < 2 * points.size());
    }
  }

  TEST_CASE("the index finds the boxes that contain a point, all of them, in a fixed order") {
    const u64 seed = 8;
    Rng rng(seed);
    for (int round = 0; round < 200; round++) {
      INFO("seed " << seed << ", round " << round);
      const size_t count = 1 + rng() % 200, axes = rng() % (kAxes + 1);
      const u32 places = rng() % 3 == 0 ? 150 : 8;  // many are found in another way
      const u32 scale = rng() % 4 == 0 ? ~0u / (2 * places) : 3;
      std::vector<GridBox> boxes(count);
      std::vector<u32> values(count);
      for (size_t i = 0; i < count; i++) {
        values[i] = static_cast<u32>(i * 5);
        for (size_t a = 0; a < axes; a++) {
          boxes[i].lo[a] = static_cast<u32>(rng() % places) * scale;
          u64 hi = boxes[i].lo[a] + (places / 2 + rng() % places) * u64{scale};
          boxes[i].hi[a] = rng() % 8 == 0 ? ~0u : static_cast<u32>(std::min<u64>(hi, ~0u));
        }
      }
      const std::optional<BoxIndex> index = BoxIndex::make(boxes, values);
      REQUIRE(index);
      REQUIRE(index->size() == count);
      for (size_t i = 0; i < count; i++) {
        const GridBox box = index->box(i), &original = boxes[index->value(i) / 5];
        CHECK(box == original);
      }
      for (int i = 0; i < 100; i++) {
        Coordinates at{};
        for (size_t a = 0; a < axes; a++)
          at[a] = static_cast<u32>(rng() % (2 * places)) * scale + static_cast<u32>(rng() % 2);
        std::set<u32> found, wanted;
        index->each_at(at, [&](size_t box) { return found.insert(index->value(box)).second; });
        for (size_t b = 0; b < count; b++)
          if (boxes[b].contains(at)) wanted.insert(values[b]);
        CHECK(found == wanted);
        size_t seen = 0;
        index->each_at(at, [&](size_t) { return ++seen < 2; });
        CHECK(seen == std::min<size_t>(2, wanted.size()));
      }
    }
  }

  TEST_CASE("a look-up compares with few of many boxes, whatever their order") {
    // Sorted along any axis but the one with most places, more than kMostCompared would be left.
    Rng rng(9);
    std::vector<GridBox> boxes(30000);
    std::vector<u32> values(boxes.size());
    std::iota(values.begin(), values.end(), 0u);
    std::shuffle(values.begin(), values.end(), rng);
    for (size_t i = 0; i < boxes.size(); i++) {
      for (size_t a = 2; a < 6; a++) boxes[i].lo[a] = static_cast<u32>(rng() % 2);
      boxes[i].lo[4] = values[i];
      boxes[i].hi = boxes[i].lo;
    }
    const std::optional<BoxIndex> index = BoxIndex::make(boxes, values);
    REQUIRE(index);
    for (const GridBox& box : boxes) {
      u32 found = ~0u;
      index->each_at(box.lo, [&](size_t i) {
        found = index->value(i);
        return false;
      });
      REQUIRE(found == box.lo[4]);
    }
  }

  TEST_CASE("an index does not count past 16 bits") {
    std::vector<GridBox> boxes(40000);
    for (u32 i = 0; i < boxes.size(); i++) boxes[i].lo[3] = boxes[i].hi[3] = 2 * i;
    CHECK(!BoxIndex::make(boxes, std::vector<u32>(boxes.size())));
  }
}

}  // namespace morello

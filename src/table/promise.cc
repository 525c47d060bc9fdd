// SPDX-License-Identifier: MIT
#include "table/promise.hh"

#include <algorithm>
#include <tuple>

#include "spec/ladder.hh"

namespace morello {
namespace {

bool is_size(size_t axis) { return axis >= kAxisSize && axis < kAxisLevel; }
u32 size_at(u32 coordinate) { return coordinate + 2; }

/// The coordinate after `at` that a range along the axis has as well: its sizes are on the ladder.
u32 next_along(size_t axis, u32 at) {
  return is_size(axis) ? next_on_ladder(size_at(at)) - 2 : at + 1;
}

/// May a range along the axis begin or go on at this coordinate?
bool ranges_over(size_t axis, u32 at) { return !is_size(axis) || on_ladder(size_at(at)); }

/// Everything but the range along `axis`.
bool same_elsewhere(const Promise& a, const Promise& b, size_t axis) {
  for (size_t i = 0; i < kAxes; i++)
    if (i != axis && (a.lo[i] != b.lo[i] || a.hi[i] != b.hi[i])) return false;
  return a.key == b.key;
}

/// Joins what follows each other along `axis`.
void join_along(size_t axis, std::vector<Promise>& promises) {
  auto without = [axis](std::array<u32, kAxes> at) {
    at[axis] = 0;
    return at;
  };
  std::sort(promises.begin(), promises.end(), [&](const Promise& a, const Promise& b) {
    if (int c = std::memcmp(&a.key, &b.key, sizeof(Spec))) return c < 0;
    return std::tuple(without(a.lo), without(a.hi), ranges_over(axis, a.lo[axis]), a.lo[axis]) <
           std::tuple(without(b.lo), without(b.hi), ranges_over(axis, b.lo[axis]), b.lo[axis]);
  });
  auto joined = promises.begin();
  for (const Promise& next : promises) {
    if (&next == &*joined) continue;
    if (same_elsewhere(*joined, next, axis) && ranges_over(axis, joined->lo[axis]) &&
        next.lo[axis] == next_along(axis, joined->hi[axis]))
      joined->hi[axis] = next.hi[axis];
    else
      *++joined = next;
  }
  if (joined != promises.end()) promises.erase(joined + 1, promises.end());
}

}  // namespace

std::vector<Promise> promises_of(const std::vector<GridPoint>& members) {
  std::vector<Promise> promises;
  for (const GridPoint& p : members) promises.push_back({p.key, p.at, p.at});
  auto sort = [&] {
    std::sort(promises.begin(), promises.end(),
              [](const Promise& a, const Promise& b) { return compare(a, b) < 0; });
  };
  sort();
  promises.erase(std::unique(promises.begin(), promises.end()), promises.end());
  for (size_t axis = 0; axis < kAxes; axis++) join_along(axis, promises);
  sort();
  return promises;
}

bool is_member(const Promise& p, const std::array<u32, kAxes>& at) {
  for (size_t a = 0; a < kAxes; a++) {
    if (at[a] < p.lo[a] || at[a] > p.hi[a]) return false;
    if (p.lo[a] < p.hi[a] && !ranges_over(a, at[a])) return false;
  }
  return true;
}

u64 member_count(const Promise& p) {
  unsigned __int128 count = 1;
  for (size_t a = 0; a < kAxes; a++) {
    if (p.lo[a] == p.hi[a]) continue;
    u64 along = 0;
    if (is_size(a))
      along = static_cast<u64>(std::count_if(kLadder.begin(), kLadder.end(), [&](u32 size) {
        return on_ladder(size) && size >= size_at(0) && size - 2 >= p.lo[a] && size - 2 <= p.hi[a];
      }));
    else
      along = u64{p.hi[a]} - p.lo[a] + 1;
    count = std::min<unsigned __int128>(count * along, ~u64{0});
  }
  return static_cast<u64>(count);
}

void each_member(const Promise& p, const std::function<bool(const Spec&, const Limits&)>& visit) {
  GridPoint point{p.key, p.lo};
  auto first_along = [&](size_t a) {
    return p.lo[a] == p.hi[a] || ranges_over(a, p.lo[a]) ? p.lo[a] : next_along(a, p.lo[a]);
  };
  for (size_t a = 0; a < kAxes; a++) {
    point.at[a] = first_along(a);
    if (point.at[a] > p.hi[a]) return;  // no size on the ladder
  }
  for (;;) {
    Spec spec;
    Limits limits;
    from_grid(point, spec, limits);
    if (!visit(spec, limits)) return;
    size_t a = kAxes;
    while (a-- > 0) {
      if (point.at[a] < p.hi[a] && next_along(a, point.at[a]) <= p.hi[a]) {
        point.at[a] = next_along(a, point.at[a]);
        break;
      }
      point.at[a] = first_along(a);
    }
    if (a >= kAxes) return;  // all axes wrapped around
  }
}

}  // namespace morello

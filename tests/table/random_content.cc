// SPDX-License-Identifier: MIT
#include "random_content.hh"

#include <algorithm>
#include <set>

#include "../support/random_statement.hh"
#include "actions/action.hh"
#include "actions/clamp.hh"
#include "table/identity.hh"

namespace morello::testing {
namespace {

u32 below(std::mt19937_64& rng, size_t n) { return static_cast<u32>(rng() % n); }

/// True where coordinates other than 0 exist.
bool exists(const Spec& key, int axis) {
  if (axis >= kAxisSize && axis < kAxisLevel) return axis - kAxisSize < key.rank;
  if (axis >= kAxisLevel && axis < kAxisLimit) return axis - kAxisLevel < key.operand_count;
  return true;
}

/// Some coordinates at and above `from`, mostly small steps.
u32 at_least(std::mt19937_64& rng, int axis, u32 from) {
  if (axis < kAxisSize) return from;
  if (axis < kAxisLevel) return from + below(rng, below(rng, 4) ? 8 : 100000);
  return axis < kAxisLimit ? std::min(3u, from + below(rng, 2))
                           : std::min(255u, from + below(rng, 9));
}

Action random_action(std::mt19937_64& rng) {
  return {static_cast<ActionKind>(1 + below(rng, rewrites().size())),
          static_cast<u8>(below(rng, 6)), static_cast<Level>(below(rng, 4)),
          static_cast<LayoutOption>(below(rng, 4)), below(rng, 100)};
}

TableGroup random_group(std::mt19937_64& rng, const GridPoint& point, size_t boxes) {
  TableGroup g;
  g.key = point.key;
  for (int axis = 0; axis < kAxes; axis++) {
    if (exists(g.key, axis) && below(rng, 2))
      g.axes |= 1u << axis;
    else
      g.base[axis] = point.at[axis];
  }
  std::set<std::vector<u32>> all;  // lo, then hi of the varying axes
  for (size_t box = 0, n = 1 + below(rng, boxes); box < n; box++) {
    std::array<u32, kAxes> lo{};
    std::vector<u32> bounds;
    for (int axis = 0; axis < kAxes; axis++) {
      if (!(g.axes >> axis & 1)) continue;
      lo[axis] = at_least(rng, axis, below(rng, point.at[axis] + size_t{1}));
      bounds.push_back(lo[axis]);
    }
    for (int axis = 0; axis < kAxes; axis++)
      if (g.axes >> axis & 1) bounds.push_back(at_least(rng, axis, lo[axis]));
    all.insert(bounds);
  }
  for (const std::vector<u32>& bounds : all) {
    g.bounds.insert(g.bounds.end(), bounds.begin(), bounds.end());
    g.actions.push_back(random_action(rng));
  }
  return g;
}

template <class T>
void make_canonical(std::vector<T>& all) {
  auto before = [](const T& a, const T& b) { return compare(a, b) < 0; };
  auto same = [](const T& a, const T& b) { return compare(a, b) == 0; };
  std::sort(all.begin(), all.end(), before);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

}  // namespace

std::vector<GridPoint> random_points(std::mt19937_64& rng, size_t count) {
  Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 2);
  ActionContext context{&target};
  RandomStatementOptions options;
  options.free_layouts = true;
  std::vector<GridPoint> points;
  while (points.size() < count) {
    Spec spec = lower(random_statement(rng, options))->spec;
    Limits limits = limits_of(target);
    for (int step = 0; step < 8 && points.size() < count; step++) {
      clamp_limits(spec, limits);
      points.push_back(to_grid(spec, limits));
      ActionList actions;
      list_actions(spec, limits, context, actions);
      if (actions.size() == 0) break;
      Derivation d;
      const Action& action = actions.begin()[below(rng, actions.size())];
      if (!preview(spec, limits, action, context, d) || d.count == 0) continue;
      const Child& child = d.child[below(rng, static_cast<size_t>(d.count))];
      spec = child.spec;
      limits = child.limits;
    }
  }
  return points;
}

TableContent random_content(std::mt19937_64& rng, size_t groups, size_t boxes) {
  TableContent content;
  content.identity = identity_of(*fixed_target(below(rng, 2) ? Isa::kAvx2 : Isa::kAvx512));
  content.identity.processors = 1 + below(rng, 300);
  for (u32 i = below(rng, 4); i > 0; i--)
    content.families.insert(content.families.begin(), "family " + std::to_string(i));
  for (const GridPoint& point : random_points(rng, groups)) {
    content.groups.push_back(random_group(rng, point, boxes));
    if (below(rng, 4) != 0) continue;
    Promise promise{point.key, point.at, point.at};
    for (int d = 0; d < point.key.rank; d++) promise.lo[kAxisSize + d] /= 2;
    for (int axis = kAxisLimit; axis < kAxes; axis++) promise.lo[axis] = promise.hi[axis] = 200;
    content.promises.push_back(promise);
  }
  make_canonical(content.promises);
  make_canonical(content.groups);
  return content;
}

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
#include "table/table_builder.hh"

#include <algorithm>

#include "actions/clamp.hh"
#include "table/check.hh"
#include "table/groups.hh"
#include "table/promise.hh"

namespace morello {
namespace {

/// Is a point there twice, with two actions? Sorts the points.
bool contradict(std::vector<DecidedPoint>& points) {
  std::sort(points.begin(), points.end(),
            [](const DecidedPoint& a, const DecidedPoint& b) { return a.at < b.at; });
  for (size_t i = 1; i < points.size(); i++)
    if (points[i].at == points[i - 1].at && points[i].action != points[i - 1].action) return true;
  return false;
}

bool agrees(const Table& table, const Spec& key, const std::vector<DecidedPoint>& points) {
  return std::all_of(points.begin(), points.end(), [&](const DecidedPoint& p) {
    Spec spec;
    Limits limits;
    from_grid({key, p.at}, spec, limits);
    return table.agrees(spec, limits, p.action);
  });
}

}  // namespace

void TableBuilder::add_family(const std::string& family) {
  std::lock_guard lock(mutex_);
  content_.families.push_back(family);
}

void TableBuilder::promise(const Spec& spec, const Limits& limits) {
  GridPoint point = to_grid(spec, limits);
  std::lock_guard lock(mutex_);
  promised_.push_back(point);
}

void TableBuilder::add(const Spec& spec, Limits limits, const Action& action) {
  clamp_limits(spec, limits);
  GridPoint point = to_grid(spec, limits);
  std::lock_guard lock(mutex_);
  std::vector<DecidedPoint>* points = points_.find(point.key);
  if (!points) points = &points_.add(point.key, {});
  points->push_back({point.at, action});
}

Result<Table> TableBuilder::build(const BoxForm& form) {
  std::lock_guard lock(mutex_);
  TableContent content = content_;
  std::sort(content.families.begin(), content.families.end());
  content.families.erase(std::unique(content.families.begin(), content.families.end()),
                         content.families.end());
  content.promises = promises_of(promised_);
  for (const auto& [key, added] : points_) {
    std::vector<DecidedPoint> points = added;
    if (contradict(points))
      return Error{MORELLO_CORRUPT_TABLE, "two decisions contradict each other for one Spec"};
    content.groups.push_back(group_of(key, boxes_of(std::move(points), form)));
  }
  std::sort(content.groups.begin(), content.groups.end(),
            [](const TableGroup& a, const TableGroup& b) { return compare(a, b) < 0; });
  if (std::string bad = check(content); !bad.empty())
    return Error{MORELLO_CORRUPT_TABLE, std::move(bad)};
  Result<Table> table = Table::make(content);
  if (table)
    for (const auto& [key, points] : points_)
      if (!agrees(*table, key, points))
        return Error{MORELLO_INTERNAL, "a new table does not find what was put into it"};
  return table;
}

}  // namespace morello

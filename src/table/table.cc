// SPDX-License-Identifier: MIT
#include "table/table.hh"

#include <algorithm>

#include "actions/clamp.hh"
#include "table/groups.hh"
#include "table/promise.hh"

namespace morello {

static u64 hash_of(const Action& action) {
  constexpr u64 kOdd = 0x9e3779b97f4a7c15u;
  const u64 h = order_of(action) * kOdd;
  return (h ^ h >> 32) * kOdd;
}

namespace {

/// Elements from `begin` on that have the key of the first one.
template <class T>
size_t end_of_key(const std::vector<T>& sorted, size_t begin) {
  size_t end = begin + 1;
  while (end < sorted.size() && sorted[end].key == sorted[begin].key) end++;
  return end;
}

bool add_index(InsertionMap<Spec, BoxIndex>& indices, const Spec& key,
               const std::vector<GridBox>& boxes, const std::vector<u32>& values) {
  std::optional<BoxIndex> index = BoxIndex::make(boxes, values);
  if (index) indices.add(key, std::move(*index));
  return index.has_value();
}

Limits limits_at(const Coordinates& at) {
  Limits limits;
  for (size_t l = 0; l < limits.use.size(); l++)
    limits.use[l] = static_cast<u8>(at[kAxisLimit + l]);
  return limits;
}
void set_limits(Coordinates& at, const Limits& limits) {
  for (size_t l = 0; l < limits.use.size(); l++) at[kAxisLimit + l] = limits.use[l];
}

size_t bytes_of(const InsertionMap<Spec, BoxIndex>& indices) {
  size_t bytes = indices.bytes();
  for (const auto& entry : indices) bytes += entry.value.bytes();
  return bytes;
}

}  // namespace

Result<Table> Table::make(const TableContent& content) {
  Table table;
  table.identity_ = content.identity;
  table.families_ = content.families;
  if (!table.add_groups(content.groups) || !table.add_promises(content.promises))
    return Error{MORELLO_CORRUPT_TABLE,
                 "a key of the table has boxes with more than 65535 different ends along an axis"};
  return table;
}

bool Table::add_groups(const std::vector<TableGroup>& groups) {
  InsertionMap<Action, u32> numbers;
  for (size_t i = 0, end; i < groups.size(); i = end) {
    end = end_of_key(groups, i);
    std::vector<GridBox> boxes = boxes_in(groups[i]);
    for (size_t g = i + 1; g < end; g++) {
      const std::vector<GridBox> more = boxes_in(groups[g]);
      boxes.insert(boxes.end(), more.begin(), more.end());
    }
    std::vector<u32> values;
    values.reserve(boxes.size());
    for (const GridBox& box : boxes) {
      const u32* number = numbers.find(box.action);
      values.push_back(number ? *number
                              : numbers.add(box.action, static_cast<u32>(actions_.size())));
      if (!number) actions_.push_back(box.action);
    }
    if (!add_index(decisions_, groups[i].key, boxes, values)) return false;
    box_count_ += boxes.size();
  }
  actions_.shrink_to_fit();
  decisions_.shrink_to_fit();
  return true;
}

bool Table::add_promises(const std::vector<Promise>& promises) {
  for (size_t i = 0, end; i < promises.size(); i = end) {
    end = end_of_key(promises, i);
    std::vector<GridBox> boxes;
    std::vector<u32> values;
    for (size_t p = i; p < end; p++) {
      const Limits limits = limits_at(promises[p].lo);
      auto known = std::find(limits_.begin(), limits_.end(), limits);
      values.push_back(static_cast<u32>(known - limits_.begin()));
      if (known == limits_.end()) limits_.push_back(limits);
      boxes.push_back({promises[p].lo, promises[p].hi, {}});
      set_limits(boxes.back().lo, {});
      set_limits(boxes.back().hi, {});
    }
    if (!add_index(promised_, promises[i].key, boxes, values)) return false;
  }
  promised_.shrink_to_fit();
  return true;
}

std::vector<Promise> Table::promises() const {
  std::vector<Promise> promises;
  for (const auto& [key, index] : promised_)
    for (size_t i = 0; i < index.size(); i++) {
      GridBox box = index.box(i);
      set_limits(box.lo, limits_[index.value(i)]);
      set_limits(box.hi, limits_[index.value(i)]);
      promises.push_back({key, box.lo, box.hi});
    }
  std::sort(promises.begin(), promises.end(),
            [](const Promise& a, const Promise& b) { return compare(a, b) < 0; });
  return promises;
}

bool Table::promises(const Spec& spec, const Limits& limits) const {
  const GridPoint point = to_grid(spec, {});
  const BoxIndex* index = promised_.find(point.key);
  if (!index) return false;
  Limits asked = limits;
  clamp_limits(spec, asked);
  bool found = false;
  index->each_at(point.at, [&](size_t number) {
    const GridBox box = index->box(number);
    Limits full = limits_[index->value(number)];
    clamp_limits(spec, full);
    found = full == asked && is_member({point.key, box.lo, box.hi}, point.at);
    return !found;
  });
  return found;
}

std::optional<Action> Table::find(const Spec& spec, const Limits& limits) const {
  GridPoint point = to_grid(spec, limits);
  const BoxIndex* index = decisions_.find(point.key);
  std::optional<Action> action;
  if (index)
    index->each_at(point.at, [&](size_t box) {
      action = actions_[index->value(box)];
      return false;
    });
  return action;
}

bool Table::agrees(const Spec& spec, const Limits& limits, const Action& action) const {
  GridPoint point = to_grid(spec, limits);
  const BoxIndex* index = decisions_.find(point.key);
  bool found = false, agree = true;
  if (index)
    index->each_at(point.at, [&](size_t box) {
      found = true;
      agree = actions_[index->value(box)] == action;
      return agree;
    });
  return found && agree;
}

TableContent Table::content() const {
  TableContent content{identity_, families_, promises(), {}};
  for (const auto& [key, index] : decisions_) {
    std::vector<GridBox> boxes;
    for (size_t i = 0; i < index.size(); i++)
      boxes.emplace_back(index.box(i)).action = actions_[index.value(i)];
    content.groups.push_back(group_of(key, std::move(boxes)));
  }
  std::sort(content.groups.begin(), content.groups.end(),
            [](const TableGroup& a, const TableGroup& b) { return compare(a, b) < 0; });
  return content;
}

size_t Table::bytes() const {
  size_t bytes = sizeof(Table) + bytes_of(promised_) + bytes_of(decisions_) +
                 limits_.capacity() * sizeof(Limits) + actions_.capacity() * sizeof(Action) +
                 families_.capacity() * sizeof(std::string);
  for (const std::string& family : families_) bytes += family.capacity();
  return bytes;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "table/table.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "actions/clamp.hh"
#include "table/allowance.hh"
#include "table/groups.hh"
#include "table/promise.hh"

namespace morello {

static u64 hash_of(const Action& action, u64 seed) {
  static_assert(std::has_unique_object_representations_v<Action>);
  return XXH3_64bits_withSeed(&action, sizeof action, seed);
}

namespace {

using Numbers = InsertionMap<Action, u32>;

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

u64 Table::bytes_to_make(const TableContent& content) {
  u64 kept = 0, temporary = 0;
  auto add = [&](u64 boxes, u64 axes) {
    const BoxIndex::Memory index = BoxIndex::memory_to_make(boxes, axes);
    // The entry of a map, and its slots while they grow.
    kept += index.kept + sizeof(Indices::Entry) + 6 * 2 * sizeof(u32);
    temporary = std::max(temporary, index.temporary + boxes * (sizeof(GridBox) + sizeof(u32)));
  };
  for (const std::string& family : content.families)
    kept += sizeof(std::string) + family.size() + kBlockBytes;
  for (const TableGroup& group : content.groups) {
    add(group.actions.size(), static_cast<u64>(std::popcount(group.axes)));
    // Actions and their numbers: lists that grow up to three times their length, and slots.
    constexpr u64 kAction = 3 * (sizeof(Action) + sizeof(Numbers::Entry)) + 6 * 2 * sizeof(u32);
    kept += group.actions.size() * kAction;
  }
  for (size_t i = 0, end; i < content.promises.size(); i = end) {
    end = end_of_key(content.promises, i);
    add(end - i, kAxisLimit);
  }
  return kept + temporary;
}

bool Table::add_groups(const std::vector<TableGroup>& groups) {
  Numbers numbers;
  decisions_.reserve(groups.size());
  for (const TableGroup& group : groups) {
    const std::vector<GridBox> boxes = boxes_in(group);
    std::vector<u32> values;
    values.reserve(boxes.size());
    for (const GridBox& box : boxes) {
      const u32* number = numbers.find(box.action);
      values.push_back(number ? *number
                              : numbers.add(box.action, static_cast<u32>(actions_.size())));
      if (!number) actions_.push_back(box.action);
    }
    if (!add_index(decisions_, group.key, boxes, values)) return false;
    box_count_ += boxes.size();
  }
  actions_.shrink_to_fit();
  return true;
}

bool Table::add_promises(const std::vector<Promise>& promises) {
  if (!promises.empty()) limits_ = limits_at(promises[0].lo);
  size_t keys = 0;
  for (size_t i = 0; i < promises.size(); i = end_of_key(promises, i)) keys++;
  promised_.reserve(keys);
  for (size_t i = 0, end; i < promises.size(); i = end) {
    end = end_of_key(promises, i);
    std::vector<GridBox> boxes;
    boxes.reserve(end - i);
    for (size_t p = i; p < end; p++) {
      boxes.push_back({promises[p].lo, promises[p].hi, {}});
      set_limits(boxes.back().lo, {});
      set_limits(boxes.back().hi, {});
    }
    const std::vector<u32> values(boxes.size());
    if (!add_index(promised_, promises[i].key, boxes, values)) return false;
  }
  return true;
}

std::vector<Promise> Table::promises() const {
  std::vector<Promise> promises;
  for (const auto& [key, index] : promised_)
    for (size_t i = 0; i < index.size(); i++) {
      GridBox box = index.box(i);
      set_limits(box.lo, limits_);
      set_limits(box.hi, limits_);
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
  Limits asked = limits, promised = limits_;
  clamp_limits(spec, asked);
  clamp_limits(spec, promised);
  if (asked != promised) return false;
  bool found = false;
  index->each_at(point.at, [&](size_t number) {
    const GridBox box = index->box(number);
    found = is_member({point.key, box.lo, box.hi}, point.at);
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
                 actions_.capacity() * sizeof(Action) + families_.capacity() * sizeof(std::string);
  for (const std::string& family : families_) bytes += family.capacity();
  return bytes;
}

}  // namespace morello

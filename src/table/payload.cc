// SPDX-License-Identifier: MIT
#include "table/payload.hh"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cassert>
#include <numeric>
#include <optional>

#include "table/cells.hh"
#include "table/check.hh"

namespace morello {
namespace {

// ---- keys

template <class T>
u32 to_cell(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<u32>(value);
  else
    return static_cast<u32>(value);
}
/// False if the cell is no value of a T.
template <class T>
bool from_cell(u32 cell, T& value) {
  if constexpr (std::is_same_v<T, float>)
    value = std::bit_cast<float>(cell);
  else if constexpr (std::is_same_v<T, bool>)
    value = cell == 1;
  else
    value = static_cast<T>(cell);
  return to_cell(value) == cell;
}

/// What of a Spec is 0 in every key is no column: sizes, levels, and whether it may be parallel.
/// The others are columns in the order of each_field().
template <class Key, class F>
void each_column(Key& key, F&& f) {
  each_field(key, [&](auto& field) {
    const char* at = reinterpret_cast<const char*>(&field);
    auto within = [&](const auto& part) {
      const char* begin = reinterpret_cast<const char*>(&part);
      return at >= begin && at < begin + sizeof part;
    };
    bool fixed = within(key.size) || within(key.serial);
    for (auto& x : key.operand) fixed |= within(x.level);
    if (!fixed) f(field);
  });
}
constexpr size_t kKeyColumns = [] {
  size_t fields = 0;
  Spec spec;
  each_field(spec, [&](auto&) { fields++; });
  return fields - kMaxDims - kMaxOperands - 1;
}();

bool comes_before(const Spec& a, const Spec& b) { return std::memcmp(&a, &b, sizeof(Spec)) < 0; }

/// Those of promises and groups, sorted, each once.
std::vector<Spec> keys_of(const TableContent& content) {
  std::vector<Spec> keys;
  for (const Promise& p : content.promises) keys.push_back(p.key);
  for (const TableGroup& g : content.groups) keys.push_back(g.key);
  std::sort(keys.begin(), keys.end(), comes_before);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Bytes write_keys(const std::vector<Spec>& keys) {
  std::vector<u32> cells(keys.size() * kKeyColumns);
  for (size_t k = 0; k < keys.size(); k++) {
    size_t cell = k;
    each_column(keys[k], [&](const auto& field) {
      cells[cell] = to_cell(field);
      cell += keys.size();
    });
  }
  return write_cells(cells, keys.size(), kKeyColumns);
}

Result<std::vector<Spec>> read_keys(const SectionSource& source, Allowance& allowance) {
  Result<Cells> cells = Cells::read(source, Section::kKeys, kKeyColumns);
  if (!cells) return cells.error();
  if (!allowance.take(cells->rows(), sizeof(Spec))) return too_large(Section::kKeys, allowance);
  std::vector<Spec> keys(cells->rows());
  for (size_t k = 0; k < keys.size(); k++) {
    size_t column = 0;
    bool fits = true;
    each_column(keys[k], [&](auto& field) { fits &= from_cell(cells->at(k, column++), field); });
    for (int o = 0; o < std::min<int>(keys[k].operand_count, kMaxOperands); o++)
      keys[k].operand[o].level = Level::kRegister;  // as in every key
    std::string bad = fits ? check_key(keys[k]) : "a number is out of range";
    if (bad.empty() && k > 0 && !comes_before(keys[k - 1], keys[k])) bad = "it is out of order";
    if (!bad.empty()) return corrupt(Section::kKeys, "key " + std::to_string(k) + ": " + bad);
  }
  return keys;
}

// ---- promises and groups: which key, then numbers

/// Numbers of keys, of parts that are sorted by key: as differences.
class KeyNumbers {
 public:
  explicit KeyNumbers(const std::vector<Spec>& keys) : keys_(keys) {}
  u32 write(const Spec& key) {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key, comes_before);
    return advance(static_cast<u32>(at - keys_.begin()) - last_);
  }
  /// nullptr: there is no such key.
  const Spec* read(u32 difference) {
    if (difference >= keys_.size() - last_) return nullptr;
    advance(difference);
    return &keys_[last_];
  }

 private:
  u32 advance(u32 difference) {
    last_ += difference;
    return difference;
  }
  const std::vector<Spec>& keys_;
  u32 last_ = 0;
};

Error no_such_key(Section section, size_t row) {
  return corrupt(section, "row " + std::to_string(row) + " has a key that is not there");
}

using MaybeError = std::optional<Error>;

constexpr size_t kPromiseColumns = 1 + 2 * kAxes;  // key, lo, hi - lo
constexpr size_t kGroupColumns = 3 + kAxes;        // key, axes, boxes, base

Bytes write_promises(const std::vector<Promise>& promises, const std::vector<Spec>& keys) {
  const size_t rows = promises.size();
  std::vector<u32> cells(rows * kPromiseColumns);
  KeyNumbers numbers(keys);
  for (size_t i = 0; i < rows; i++) {
    const Promise& p = promises[i];
    cells[i] = numbers.write(p.key);
    for (size_t axis = 0; axis < kAxes; axis++) {
      cells[(1 + axis) * rows + i] = p.lo[axis];
      cells[(1 + kAxes + axis) * rows + i] = p.hi[axis] - p.lo[axis];
    }
  }
  return write_cells(cells, rows, kPromiseColumns);
}

Result<std::vector<Promise>> read_promises(const SectionSource& source,
                                           const std::vector<Spec>& keys, Allowance& allowance) {
  Result<Cells> cells = Cells::read(source, Section::kPromises, kPromiseColumns);
  if (!cells) return cells.error();
  if (!allowance.take(cells->rows(), sizeof(Promise)))
    return too_large(Section::kPromises, allowance);
  std::vector<Promise> promises(cells->rows());
  KeyNumbers numbers(keys);
  for (size_t i = 0; i < promises.size(); i++) {
    const Spec* key = numbers.read(cells->at(i, 0));
    if (key == nullptr) return no_such_key(Section::kPromises, i);
    promises[i].key = *key;
    for (size_t axis = 0; axis < kAxes; axis++) {
      promises[i].lo[axis] = cells->at(i, 1 + axis);
      promises[i].hi[axis] = promises[i].lo[axis] + cells->at(i, 1 + kAxes + axis);
    }
  }
  return promises;
}

Bytes write_groups(const std::vector<TableGroup>& groups, const std::vector<Spec>& keys) {
  const size_t rows = groups.size();
  std::vector<u32> cells(rows * kGroupColumns);
  KeyNumbers numbers(keys);
  for (size_t i = 0; i < rows; i++) {
    const TableGroup& g = groups[i];
    cells[i] = numbers.write(g.key);
    cells[rows + i] = g.axes;
    cells[2 * rows + i] = static_cast<u32>(g.actions.size());
    for (size_t axis = 0; axis < kAxes; axis++) cells[(3 + axis) * rows + i] = g.base[axis];
  }
  return write_cells(cells, rows, kGroupColumns);
}

size_t varying(const TableGroup& g) { return std::bitset<32>(g.axes).count(); }

/// The groups, without their boxes; `boxes` gets how many these are.
Result<std::vector<TableGroup>> read_groups(const SectionSource& source,
                                            const std::vector<Spec>& keys, Allowance& allowance,
                                            std::vector<u32>& boxes) {
  Result<Cells> cells = Cells::read(source, Section::kGroups, kGroupColumns);
  if (!cells) return cells.error();
  // Of each group: itself, how many boxes, two blocks for these, and a counter when they are read.
  if (!allowance.take(cells->rows(),
                      sizeof(TableGroup) + sizeof(u32) + 2 * kBlockBytes + sizeof(size_t)))
    return too_large(Section::kGroups, allowance);
  std::vector<TableGroup> groups(cells->rows());
  boxes.resize(groups.size());
  KeyNumbers numbers(keys);
  for (size_t i = 0; i < groups.size(); i++) {
    const Spec* key = numbers.read(cells->at(i, 0));
    if (key == nullptr) return no_such_key(Section::kGroups, i);
    groups[i].key = *key;
    groups[i].axes = cells->at(i, 1);
    boxes[i] = cells->at(i, 2);
    for (size_t axis = 0; axis < kAxes; axis++) groups[i].base[axis] = cells->at(i, 3 + axis);
    // Equal boxes would be many in few bytes.
    if (boxes[i] > 1 && groups[i].axes == 0)
      return corrupt(Section::kGroups,
                     "row " + std::to_string(i) + " has boxes that differ along no axis");
  }
  return groups;
}

// ---- boxes

/// Calls f(lo, hi) for the bounds of every box along every axis, axis by axis.
template <class Groups, class F>
void each_bound(Groups& groups, F&& f) {
  std::vector<size_t> done(groups.size());  // varying axes
  for (int axis = 0; axis < kAxes; axis++)
    for (size_t i = 0; i < groups.size(); i++) {
      auto& g = groups[i];
      if (!(g.axes >> axis & 1)) continue;
      const size_t n = varying(g), at = done[i]++;
      for (size_t box = 0; box < g.bounds.size(); box += 2 * n) {
        auto* lo = g.bounds.data() + box + at;
        f(*lo, lo[n]);
      }
    }
}

constexpr size_t kBoundColumns = 2;   // lo, hi - lo
constexpr size_t kActionColumns = 5;  // kind, arg, level, option, size

Bytes write_bounds(const std::vector<TableGroup>& groups) {
  std::vector<u32> cells, extents;
  each_bound(groups, [&](u32 lo, u32 hi) {
    cells.push_back(lo);
    extents.push_back(hi - lo);
  });
  cells.insert(cells.end(), extents.begin(), extents.end());
  return write_cells(cells, extents.size(), kBoundColumns);
}

MaybeError read_bounds(const SectionSource& source, const std::vector<u32>& boxes,
                       Allowance& allowance, std::vector<TableGroup>& groups) {
  Result<Cells> cells = Cells::read(source, Section::kBounds, kBoundColumns);
  if (!cells) return cells.error();
  u64 rows = 0;
  for (size_t i = 0; i < groups.size(); i++) rows += boxes[i] * varying(groups[i]);
  if (rows != cells->rows())
    return corrupt(Section::kBounds, std::to_string(cells->rows()) + " rows, but the groups have " +
                                         std::to_string(rows));
  if (!allowance.take(rows, 2 * sizeof(u32))) return too_large(Section::kBounds, allowance);
  for (size_t i = 0; i < groups.size(); i++)
    groups[i].bounds.resize(boxes[i] * 2 * varying(groups[i]));
  size_t row = 0;
  each_bound(groups, [&](u32& lo, u32& hi) {
    lo = cells->at(row, 0);
    hi = lo + cells->at(row, 1);
    row++;
  });
  return std::nullopt;
}

Bytes write_actions(const std::vector<TableGroup>& groups) {
  size_t rows = 0, row = 0;
  for (const TableGroup& g : groups) rows += g.actions.size();
  std::vector<u32> cells(rows * kActionColumns);
  for (const TableGroup& g : groups)
    for (const Action& a : g.actions) {
      u32* cell = cells.data() + row++;
      for (u32 number : {to_cell(a.kind), to_cell(a.arg), to_cell(a.level), to_cell(a.option),
                         to_cell(a.size)}) {
        *cell = number;
        cell += rows;
      }
    }
  return write_cells(cells, rows, kActionColumns);
}

MaybeError read_actions(const SectionSource& source, const std::vector<u32>& boxes,
                        Allowance& allowance, std::vector<TableGroup>& groups) {
  Result<Cells> cells = Cells::read(source, Section::kActions, kActionColumns);
  if (!cells) return cells.error();
  const u64 rows = std::accumulate(boxes.begin(), boxes.end(), u64{0});
  if (rows != cells->rows())
    return corrupt(Section::kActions, std::to_string(cells->rows()) +
                                          " rows, but the groups have " + std::to_string(rows));
  if (!allowance.take(rows, sizeof(Action))) return too_large(Section::kActions, allowance);
  size_t row = 0;
  for (size_t i = 0; i < groups.size(); i++) {
    groups[i].actions.resize(boxes[i]);
    for (Action& a : groups[i].actions) {
      if (!from_cell(cells->at(row, 0), a.kind) || !from_cell(cells->at(row, 1), a.arg) ||
          !from_cell(cells->at(row, 2), a.level) || !from_cell(cells->at(row, 3), a.option) ||
          !from_cell(cells->at(row, 4), a.size))
        return corrupt(Section::kActions,
                       "row " + std::to_string(row) + " has a number that is out of range");
      row++;
    }
  }
  return std::nullopt;
}

}  // namespace

Sections write_payload(const TableContent& content) {
  assert(check(content).empty());
  const std::vector<Spec> keys = keys_of(content);
  return {write_texts(content.families),          write_keys(keys),
          write_promises(content.promises, keys), write_groups(content.groups, keys),
          write_bounds(content.groups),           write_actions(content.groups)};
}

Result<TableContent> read_payload(const SectionSource& source, Allowance& allowance) {
  TableContent content;
  std::vector<u32> boxes;
  MaybeError error;
  auto take = [&](auto result, auto& into) {
    if (result)
      into = std::move(*result);
    else
      error = std::move(result.error());
    return !error;
  };
  std::vector<Spec> keys;
  if (!take(read_texts(source, Section::kFamilies, allowance), content.families) ||
      !take(read_keys(source, allowance), keys) ||
      !take(read_promises(source, keys, allowance), content.promises) ||
      !take(read_groups(source, keys, allowance, boxes), content.groups))
    return std::move(*error);
  if ((error = read_bounds(source, boxes, allowance, content.groups))) return std::move(*error);
  if ((error = read_actions(source, boxes, allowance, content.groups))) return std::move(*error);
  if (std::string bad = check(content); !bad.empty())
    return Error{MORELLO_CORRUPT_TABLE, std::move(bad)};
  return content;
}

}  // namespace morello

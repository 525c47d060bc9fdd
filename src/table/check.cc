// SPDX-License-Identifier: MIT
#include "table/check.hh"

#include <algorithm>
#include <limits>

#include "spec/canonical.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

constexpr u64 kMaxElements = std::numeric_limits<i32>::max();  // of one tensor, and along one axis

u32 largest_coordinate(const Spec& key, int axis) {
  if (axis == kAxisOverwrites || axis == kAxisParallel) return 1;
  if (axis < kAxisLevel)
    return axis - kAxisSize < key.rank ? static_cast<u32>(kMaxElements) - 2 : 0;
  if (axis < kAxisLimit)
    return axis - kAxisLevel < key.operand_count ? static_cast<u32>(kLevels) - 1 : 0;
  return std::numeric_limits<u8>::max();
}

/// All tensors have sizes that a Statement could have, if dimension d has `at[kAxisSize + d]` + 2.
bool has_tensors(const Spec& key, const std::array<u32, kAxes>& at) {
  auto size = [&](int d) { return u64{at[kAxisSize + d]} + 2; };
  for (int o = 0; o < key.operand_count; o++) {
    const Operand& x = key.operand[o];
    u64 elements = 1;
    DimMask plain = x.dims;
    auto add = [&](u64 along) { return (elements *= along) <= kMaxElements; };
    for (int w = 0; w < kMaxWindows; w++) {
      if (!x.has_window(w)) continue;
      const Window& window = key.window[w];
      plain = static_cast<DimMask>(plain & ~(1u << window.outer | 1u << window.inner));
      if (!add(window.step * (size(window.outer) - 1) + window.dilation * (size(window.inner) - 1) +
               1))
        return false;
    }
    for (int d = 0; d < key.rank; d++)
      if (has_dim(plain, d) && !add(size(d))) return false;
  }
  return true;
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_action(const Action& a) {
  constexpr u32 kLastKind = 0
#define MORELLO_ACTION(number, name) +1
#include "actions/actions.def"
#undef MORELLO_ACTION
      ;
  const u32 kind = static_cast<u32>(a.kind);
  return kind >= 1 && kind <= kLastKind && a.level <= Level::kMemory &&
         a.option <= LayoutOption::kChannelsLast;
}

std::string check(const Promise& p) {
  if (std::string bad = check_key(p.key); !bad.empty()) return bad;
  for (int axis = 0; axis < kAxes; axis++)
    if (p.lo[axis] > p.hi[axis] || p.hi[axis] > largest_coordinate(p.key, axis) ||
        (axis >= kAxisLimit && p.lo[axis] != p.hi[axis]))
      return "axis " + std::to_string(axis) + " is out of range";
  const Diagonal& diagonal = p.key.diagonal;
  if (diagonal.used() && diagonal.kept >= u64{p.lo[kAxisSize + diagonal.column]} + 2)
    return "a diagonal keeps everything";
  return has_tensors(p.key, p.hi) ? "" : "a tensor has more than 2^31-1 elements";
}

std::string check_boxes(const TableGroup& g) {
  std::array<u32, kAxes> largest{};  // of the varying axes
  size_t n = 0;
  for (int axis = 0; axis < kAxes; axis++)
    if (g.axes >> axis & 1) largest[n++] = largest_coordinate(g.key, axis);
  if (g.actions.empty() || g.bounds.size() != g.actions.size() * 2 * n) return "wrong box count";
  for (size_t box = 0; box < g.actions.size(); box++) {
    const u32* lo = g.bounds.data() + box * 2 * n;
    for (size_t i = 0; i < n; i++)
      if (lo[i] > lo[n + i] || lo[n + i] > largest[i])
        return "box " + std::to_string(box) + " is out of range";
    if (!is_action(g.actions[box])) return "box " + std::to_string(box) + " has no known action";
    // Lowest and highest coordinates are beside each other: the order is that of the numbers.
    if (box > 0 && !std::lexicographical_compare(lo - 2 * n, lo, lo, lo + 2 * n))
      return "box " + std::to_string(box) + " is out of order";
  }
  return "";
}

std::string check(const TableGroup& g) {
  if (std::string bad = check_key(g.key); !bad.empty()) return bad;
  if (g.axes >> kAxes != 0) return "there are no such axes";
  for (int axis = 0; axis < kAxes; axis++)
    if (g.base[axis] > (g.axes >> axis & 1 ? 0 : largest_coordinate(g.key, axis)))
      return "axis " + std::to_string(axis) + " is out of range";
  return check_boxes(g);
}

std::string check_families(const std::vector<std::string>& families) {
  for (size_t i = 0; i < families.size(); i++) {
    if (!is_printable(families[i])) return "family " + std::to_string(i) + " is not printable";
    if (i > 0 && families[i - 1] >= families[i])
      return "family " + std::to_string(i) + " is out of order";
  }
  return "";
}

/// Promises or groups.
template <class T>
std::string check_all(const std::vector<T>& all, const char* what) {
  for (size_t i = 0; i < all.size(); i++) {
    std::string bad = check(all[i]);
    if (bad.empty() && i > 0 && compare(all[i - 1], all[i]) >= 0) bad = "it is out of order";
    if (!bad.empty()) return what + std::to_string(i) + ": " + bad;
  }
  return "";
}

}  // namespace

std::string check_key(const Spec& key) {
  if (key.operand_count < 1 || key.operand_count > kMaxOperands)
    return "the key has no such number of operands";
  if (key.stage_count > kMaxStages) return "the key has no such number of stages";
  bool malformed =
      key.size != decltype(key.size){} || key.serial || key.out().access != Access::kIn;
  for (int o = 0; o < key.operand_count; o++) malformed |= key.operand[o].level != Level::kRegister;
  if (malformed) return "the key is malformed";
  Spec spec = key;
  spec.out().access =
      is_read(spec, static_cast<Ref>(spec.out_index())) ? Access::kInOut : Access::kOut;
  const std::string bad = not_canonical_form(spec);
  return bad.empty() ? bad : "the key is malformed: " + bad;
}

std::string check(const TableContent& content) {
  if (std::string bad = check_families(content.families); !bad.empty()) return bad;
  if (std::string bad = check_all(content.promises, "promise "); !bad.empty()) return bad;
  for (size_t i = 1; i < content.promises.size(); i++)
    if (!std::equal(content.promises[i].lo.begin() + kAxisLimit, content.promises[i].lo.end(),
                    content.promises[0].lo.begin() + kAxisLimit))
      return "promise " + std::to_string(i) + ": its limits are others than those of promise 0";
  return check_all(content.groups, "group ");
}

}  // namespace morello

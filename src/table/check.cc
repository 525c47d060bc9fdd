// SPDX-License-Identifier: MIT
#include "table/check.hh"

#include <algorithm>
#include <limits>

namespace morello {
namespace {

constexpr u64 kMaxElements = std::numeric_limits<i32>::max();  // of one tensor, and along one axis

bool is_subset(DimMask mask, DimMask of) { return (mask & ~of) == 0; }

bool is_known(Dtype dtype) {
  return std::find(std::begin(kAllDtypes), std::end(kAllDtypes), dtype) != std::end(kAllDtypes);
}

/// A permutation of `dims`, then kNoDim.
bool is_order_of(const Layout& layout, DimMask dims) {
  DimMask seen = 0;
  const int rank = layout.rank();
  for (int i = 0; i < kMaxDims; i++) {
    const u8 d = layout.order[i];
    if (i >= rank ? d != kNoDim : !has_dim(static_cast<DimMask>(dims & ~seen), d)) return false;
    if (i < rank) seen = static_cast<DimMask>(seen | 1u << d);
  }
  return seen == dims;
}

bool is_layout_of(const Layout& layout, DimMask dims) {
  if (layout.reserved != 0 || !is_order_of(layout, dims)) return false;
  return layout.packed() ? has_dim(dims, layout.pack_dim) && layout.pack >= 2 : layout.pack == 0;
}

bool is_operand(const Operand& x, DimMask all) {
  return is_known(x.dtype) && x.level == Level::kRegister && x.access == Access::kIn &&
         is_subset(x.dims, all) && is_layout_of(x.layout, x.dims) &&
         x.contig <= x.layout.rank() + x.layout.packed() && x.alias <= kMaxAlias;
}

/// A stage that combines in0 with the value so far: over reduced dimensions, or over what tiles of
/// size 1 have left of them.
bool may_reduce(const Stage& stage) { return can_reduce(stage.op) && stage.in1 == kNone; }

/// Inputs of an operation; -1: there is no such stage.
int inputs_of(const Stage& stage) {
  if (stage.op == Op::kMulAdd) return 2;
  if (may_reduce(stage)) return 1;
  if (stage.reduce != 0) return -1;
  if (stage.op == Op::kFill) return 0;
  if (stage.op == Op::kCopy) return 1;
  const int inputs = elementwise_inputs(stage.op);
  return inputs == 0 ? -1 : inputs;
}

bool is_stage(const Stage& stage, int index, const Spec& key) {
  const int inputs = inputs_of(stage);
  const bool combines = stage.op == Op::kMulAdd || stage.reduce != 0 || may_reduce(stage);
  if (inputs < 0 || (combines && index > 0)) return false;
  auto reads = [&](i8 in, bool wanted) {
    if (!wanted) return in == kNone;
    return in == kPrevious ? index > 0 : in >= 0 && in < key.operand_count;
  };
  return reads(stage.in0, inputs >= 1) && reads(stage.in1, inputs == 2);
}

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
  for (int o = 0; o < key.operand_count; o++) {
    u64 elements = 1;
    for (int d = 0; d < key.rank; d++) {
      if (has_dim(key.operand[o].dims, d)) elements *= u64{at[kAxisSize + d]} + 2;
      if (elements > kMaxElements) return false;
    }
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
         a.option <= LayoutOption::kPanels;
}

std::string check(const Promise& p) {
  if (std::string bad = check_key(p.key); !bad.empty()) return bad;
  for (int axis = 0; axis < kAxes; axis++)
    if (p.lo[axis] > p.hi[axis] || p.hi[axis] > largest_coordinate(p.key, axis) ||
        (axis >= kAxisLimit && p.lo[axis] != p.hi[axis]))
      return "axis " + std::to_string(axis) + " is out of range";
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
  if (key.rank > kMaxDims || key.operand_count < 1 || key.operand_count > kMaxOperands ||
      key.stage_count < 1 || key.stage_count > kMaxStages)
    return "the key has no such rank, or number of operands or stages";
  const DimMask all = key.all_dims();
  if (key.size != decltype(key.size){} || key.serial) return "the key is malformed";
  for (int o = 0; o < kMaxOperands; o++)
    if (o < key.operand_count ? !is_operand(key.operand[o], all) : key.operand[o] != Operand{})
      return "operand " + std::to_string(o) + " of the key is malformed";
  for (int s = 0; s < kMaxStages; s++)
    if (s < key.stage_count ? !is_stage(key.stage[s], s, key) : key.stage[s] != Stage{})
      return "stage " + std::to_string(s) + " of the key is malformed";
  if ((key.reduced() ^ key.out().dims) != all)
    return "the key's dimensions are not those of its output and the reduced ones";
  return "";
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

// SPDX-License-Identifier: MIT
#include "codegen/asks.hh"

#include <algorithm>
#include <bit>

#include "cost/model.hh"
#include "cost/shared.hh"
#include "cost/tiles.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Of one call.
constexpr u64 kMostLines = 96;
/// Of computing for each line. With less, lines come no faster than copies ask for them.
constexpr u64 kLeastCycles = 6;
/// Parts are rounded up, so lines behind the tile are asked for as well: of a hundred so many.
constexpr u64 kMostPercent = 150;

struct Axis {
  i64 stride = 0;  // elements
  u64 size = 1;
};

}  // namespace

std::optional<AskedTile> asked_tile(const Spec& spec, int operand, const View& view) {
  const Operand& x = spec.operand[operand];
  std::array<Axis, kMaxDims * kMaxPieces> axes;
  int count = 0;
  const auto add = [&](Axis axis) {  // sorted
    if (axis.size == 1) return;
    int at = count++;
    for (; at > 0 && axes[at - 1].stride > axis.stride; at--) axes[at] = axes[at - 1];
    axes[at] = axis;
  };
  for (int d = 0; d < spec.rank; d++) {
    if (!has_dim(x.dims, d)) continue;
    const DimView& dim = view.dim[d];
    if (!dim.plain() && !x.layout.packed()) return std::nullopt;
    u64 left = spec.size[d];
    for (int piece = 0; left > 1; piece++) {
      const bool last = piece + 1 == kMaxPieces || dim.block[piece] == 0;
      const u64 block = last ? left : dim.block[piece] / (piece > 0 ? dim.block[piece - 1] : 1);
      add({dim.stride[piece], std::min(left, block)});
      left = last ? 1 : ceil_div(left, block);
    }
  }
  // Axes that continue one another are one.
  int last = -1;
  for (int i = 0; i < count; i++) {
    if (last >= 0 && axes[i].stride == axes[last].stride * static_cast<i64>(axes[last].size))
      axes[last].size *= axes[i].size;
    else
      axes[++last] = axes[i];
  }
  if (last < 0 || last > 1 || axes[0].stride != 1) return std::nullopt;
  const u64 bytes = size_of(x.dtype);
  AskedTile tile{1, ceil_div(axes[0].size * bytes, u64{kLineBytes}), 0};
  if (last == 1) {
    tile.rows = axes[1].size;
    tile.pitch = axes[1].stride * static_cast<i64>(bytes);
  }
  return tile;
}

namespace {

/// Products of a cycle.
u64 fmas(const Target& target) { return u64{target.lanes(kElementBytes)} * target.fma_per_cycle; }

/// Panels that tile registers read several times: all reads but the first have time to ask for what
/// comes next, which the first would wait for. Of half as much again L2 loses a part before it
/// is read.
bool is_read_again(const Spec& spec, const Move& move, const AskedTile& tile,
                   const Target& target) {
  constexpr u64 kRowsOfRead = 48;
  const Operand& x = spec.operand[move.operand];
  const u8 v = unit_dim(spec.out());
  return move.view && move.placed.level == Level::kL2 && takes_tiles(spec, target) &&
         is_chain(spec) && tile.rows == 1 && v != kNoDim && has_dim(x.dims, v) &&
         std::popcount(spec.reduced()) == 1 && volume(spec) > kRowsOfRead * elements(spec, x) &&
         tile.lines * kLineBytes <= target.at(Level::kL2).bytes / 8;
}

/// Rows, or pieces of them, of a few pages at most, that are read in turns, and little else takes
/// time: they come half as fast as in the order of memory. Rows of more pages are streams.
bool has_short_rows(const Spec& spec, int operand, const AskedTile& tile, const Target& target) {
  constexpr u64 kShortBytes = 16384, kMostUses = 16;
  const Operand& x = spec.operand[operand];
  const u8 v = unit_dim(x);
  return contraction_of(spec) && v != kNoDim && !has_dim(spec.reduced(), v) &&
         u64{spec.size[v]} * size_of(x.dtype) <= kShortBytes &&
         spec.size[v] > u64{target.vector_registers} * target.lanes(kElementBytes) &&
         volume(spec) <= kMostUses * elements(spec, x) &&
         tile.rows * tile.lines * kLineBytes < target.at(Level::kL2).bytes / 2;
}

/// Is an operand of a node copied nearer anywhere below it?
bool is_copied(const ImplTree& tree, NodeId id, int operand, std::vector<bool>& met) {
  if (met[id]) return false;
  met[id] = true;
  const ImplNode& node = tree.nodes[id];
  const auto* move = std::get_if<Move>(&node.kind);
  if (move != nullptr && !move->view && move->operand == operand) return true;
  for (const Edge& edge : node.children)
    for (int o = 0; o < tree.nodes[edge.node].spec.operand_count; o++)
      if (edge.binding.operand[o] == operand && is_copied(tree, edge.node, o, met)) return true;
  return false;
}

}  // namespace

Asked how_asked(const ImplTree& tree, NodeId node, const AskedTile& tile, bool comes_by_itself) {
  const Spec& spec = tree.nodes[node].spec;
  const auto& move = std::get<Move>(tree.nodes[node].kind);
  if (spec.operand[move.operand].layout.packed())
    return is_read_again(spec, move, tile, *tree.target) ? Asked::kBeforeReads : Asked::kNot;
  if (move.view && move.placed.level == Level::kL2) {
    // Where a cache holds it, only what is widened gains: f32 takes up to 1.08 times as long.
    if (comes_by_itself && size_of(move.placed.dtype) >= kElementBytes) return Asked::kNot;
    if (!has_short_rows(spec, move.operand, tile, *tree.target)) return Asked::kNot;
    // A copy of a part of it is better asked for, if there is time; and asks, if there is none.
    constexpr u64 kTooFew = 2;
    const u64 cycle = fmas(*tree.target) * most_products(spec, *tree.target);
    const u64 cycles = volume(spec) / (tile.rows * tile.lines * cycle);
    if (cycles >= kTooFew && cycles < kLeastCycles) return Asked::kInOrder;
    std::vector<bool> met(tree.nodes.size());
    return is_copied(tree, node, move.operand, met) ? Asked::kNot : Asked::kInOrder;
  }
  return comes_by_itself || (move.view && tile.rows == 1) ? Asked::kNot : Asked::kMeanwhile;
}

std::optional<PlanAsk> result_lines(const Spec& spec, const Move& move, const Place& to,
                                    const std::vector<Cursor>& cursors, const Target& target) {
  if (move.placed.level != Level::kRegister || move.placed.access != Access::kOut ||
      to.in_registers || cursors[to.cursor].base == Cursor::Base::kScratch)
    return std::nullopt;
  const auto tile = asked_tile(spec, move.operand, to.view);
  if (!tile || volume(spec) < tile->rows * tile->lines * kLeastCycles * fmas(target))
    return std::nullopt;
  return PlanAsk{to.cursor, static_cast<u32>(tile->rows), static_cast<u32>(tile->lines),
                 tile->pitch, 0};
}

bool comes_late(const Spec& spec, int operand, MicrokernelId id) {
  constexpr u64 kShortBytes = 4096;
  const Operand& x = spec.operand[operand];
  const u8 v = unit_dim(x);
  if (v == kNoDim || size_of(x.dtype) >= kElementBytes) return false;
  return id == MicrokernelId::kDotProduct ? u64{spec.size[v]} * size_of(x.dtype) <= kShortBytes
                                          : footprint(spec, x).runs > 1;
}

bool can_ask_next(MicrokernelId id) {
  return id == MicrokernelId::kReduceLanes || id == MicrokernelId::kFoldLanes ||
         id == MicrokernelId::kMap;
}

bool BodyAsks::asks(const ImplNode& node) const {
  const auto* select = std::get_if<Select>(&node.kind);
  return select != nullptr && may_be_by(static_cast<MicrokernelId>(select->microkernel));
}

BodyAsks::BodyAsks(const ImplTree& tree, NodeId body, const AskedTile& tile, Asked asked)
    : tree_(tree), tile_(tile), asked_(asked), known_(tree.nodes.size(), kUnknown) {
  body_work_ = work(body);
  if (body_work_ == 0) return;
  const u64 least = tile.rows * tile.lines * kLeastCycles * fmas(*tree.target);
  if (asked == Asked::kMeanwhile && body_work_ < least) return;
  const auto deal = [&](bool by_rows) {
    by_rows_ = by_rows;
    most_ = 0;
    known_.assign(tree.nodes.size(), kUnknown);
    return parts(body);
  };
  const u64 rows = deal(true), lines = deal(false);
  const bool fewer = rows * tile.lines <= lines * tile.rows;
  const u64 dealt = fewer ? deal(true) : lines;
  worth_it_ =
      dealt * 100 <= whole() * kMostPercent &&
      (asked != Asked::kMeanwhile || most_ * (by_rows_ ? tile.lines : tile.rows) <= kMostLines);
}

template <class F>
void BodyAsks::each_child(NodeId node, F f) const {
  const ImplNode& n = tree_.nodes[node];
  const auto* loop = std::get_if<Loop>(&n.kind);
  for (size_t c = 0; c < n.children.size(); c++)
    f(n.children[c].node, loop != nullptr && c == 0 ? loop->trips : 1);
}

/// Products.
u64 BodyAsks::work(NodeId node) {
  if (known_[node] != kUnknown) return known_[node];
  u64 sum = asks(tree_.nodes[node]) ? volume(tree_.nodes[node].spec) : 0;
  each_child(node, [&](NodeId child, u64 times) { sum += times * work(child); });
  return known_[node] = sum;
}

u64 BodyAsks::parts_of(NodeId call) const {
  return ceil_div(whole() * volume(tree_.nodes[call].spec), body_work_);
}

u64 BodyAsks::parts(NodeId node) {
  if (known_[node] != kUnknown) return known_[node];
  u64 sum = asks(tree_.nodes[node]) ? parts_of(node) : 0;
  most_ = std::max(most_, sum);
  each_child(node, [&](NodeId child, u64 times) { sum += times * parts(child); });
  return known_[node] = sum;
}

PlanAsk BodyAsks::of(NodeId call) const {
  PlanAsk ask;
  ask.rows = static_cast<u32>(by_rows_ ? parts_of(call) : tile_.rows);
  ask.lines = static_cast<u32>(by_rows_ ? tile_.lines : parts_of(call));
  ask.pitch = tile_.pitch;
  return ask;
}

}  // namespace morello

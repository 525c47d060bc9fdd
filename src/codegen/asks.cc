// SPDX-License-Identifier: MIT
#include "codegen/asks.hh"

#include <algorithm>

namespace morello {
namespace {

/// Of one call.
constexpr u64 kMostLines = 48;
/// Parts are rounded up, so lines behind the tile are asked for as well: this many of a hundred.
constexpr u64 kMostPercent = 150;

struct Axis {
  i64 stride = 0;  // elements
  u64 size = 1;
};

}  // namespace

std::optional<AskedTile> asked_tile(const Spec& spec, int operand, const View& view) {
  const Operand& x = spec.operand[operand];
  std::array<Axis, kMaxDims> axes;
  int count = 0;
  for (int d = 0; d < spec.rank; d++) {
    if (!has_dim(x.dims, d) || spec.size[d] == 1) continue;
    if (!view.dim[d].plain()) return std::nullopt;
    int at = count++;  // sorted
    for (; at > 0 && axes[at - 1].stride > view.dim[d].stride[0]; at--) axes[at] = axes[at - 1];
    axes[at] = {view.dim[d].stride[0], spec.size[d]};
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

std::optional<AskShare> share_of(const AskedTile& tile, u64 calls) {
  if (calls == 0) return std::nullopt;
  const u64 rows = ceil_div(tile.rows, calls), lines = ceil_div(tile.lines, calls);
  // Some rows, or of all rows some lines: what asks for least behind the tile.
  const bool by_rows = rows * tile.lines <= tile.rows * lines;
  const u64 part = by_rows ? rows : lines, whole = by_rows ? tile.rows : tile.lines;
  AskShare share;
  share.ask.rows = static_cast<u32>(by_rows ? rows : tile.rows);
  share.ask.lines = static_cast<u32>(by_rows ? tile.lines : lines);
  share.ask.pitch = tile.pitch;
  share.step = static_cast<i64>(part) * (by_rows ? tile.pitch : i64{kLineBytes});
  if (u64{share.ask.rows} * share.ask.lines > kMostLines) return std::nullopt;
  if (part * calls * 100 > whole * kMostPercent) return std::nullopt;
  return share;
}

bool can_ask(MicrokernelId id) { return id == MicrokernelId::kOuterProduct; }

u64 Askers::below(NodeId id) {
  if (known_[id] != kUnknown) return known_[id];
  const ImplNode& node = tree_.nodes[id];
  u64 sum = 0;
  if (const auto* select = std::get_if<Select>(&node.kind))
    sum = can_ask(static_cast<MicrokernelId>(select->microkernel));
  const auto* loop = std::get_if<Loop>(&node.kind);
  for (size_t c = 0; c < node.children.size(); c++) {
    const u64 times = loop != nullptr && c == 0 ? loop->trips : 1;
    sum = std::min(kMany, sum + std::min(kMany, times) * below(node.children[c].node));
  }
  return known_[id] = sum;
}

}  // namespace morello

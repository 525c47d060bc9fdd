// SPDX-License-Identifier: MIT
#include "cost/overlap.hh"

#include <algorithm>
#include <vector>

#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Do neighbours along a dimension of an input lie at the same place of windows, or the terms of
/// these whole lines apart, as in an image that has channels as its fastest dimension?
bool is_within_places(const Spec& spec, const Operand& x, u8 dim) {
  for (const Window& w : spec.window)
    if (w.used() && (w.outer == dim || w.inner == dim) &&
        u64{std::max(w.step, w.dilation)} * size_of(x.dtype) < kLineBytes)
      return false;
  return true;
}

/// The input that a window along `dim` is of, if nothing else reads its elements again, and vectors
/// run within places; else -1.
int slid_operand(const Spec& spec, u8 dim) {
  const u8 v = unit_dim(spec.out());
  if (v == kNoDim || (contraction_of(spec) && !both_have_vectors(spec))) return -1;
  const DimMask places = parallel_dims(spec);
  if (!has_dim(places, dim) || !is_chain(spec) || spec.diagonal.used()) return -1;
  if (bordered_operand(spec) >= 0) return -1;
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& window = spec.window[w];
    if (!window.used() || (window.outer != dim && window.inner != dim)) continue;
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& x = spec.operand[o];
      if (!x.has_window(w) || x.level < Level::kL2 || x.layout.packed()) continue;
      const bool alone = unit_dim(x) == v && (places & ~x.dims) == 0;
      return alone && is_within_places(spec, x, v) ? o : -1;
    }
  }
  return -1;
}

int operand_of(const Binding& binding, int parent, int count) {
  for (int o = 0; o < count; o++)
    if (binding.operand[static_cast<size_t>(o)] == parent) return o;
  return -1;
}

}  // namespace

OverlapUnits overlap_units(const Spec& whole, u8 dim, std::span<const LoopTile> tiles,
                           const Target& target) {
  const int o = slid_operand(whole, dim);
  if (o < 0) return {};
  const Operand& x = whole.operand[o];
  if (!has_all_places(whole, x)) return {};  // its footprint has lines that nobody reads
  u64 lines = 0;
  for (const LoopTile& tile : tiles) {
    const int of_tile = operand_of(tile.binding, o, tile.spec.operand_count);
    if (of_tile < 0 || !has_all_places(tile.spec, tile.spec.operand[of_tile])) return {};
    lines += tile.times * footprint(tile.spec, tile.spec.operand[of_tile]).lines;
  }
  const u64 once = footprint(whole, x).lines;
  if (lines <= once) return {};
  u64 bytes = 0;
  const Spec& first = tiles[0].spec;
  for (int i = 0; i < first.operand_count; i++)
    bytes = saturating_add(bytes, footprint(first, first.operand[i]).bytes);
  const auto saved = [&](Level from) -> i64 {
    const Level to = static_cast<Level>(static_cast<int>(from) - 1);
    if (x.level < from || bytes > room_for_overlap(to, target)) return 0;
    const i64 units = saturating_mul(lines - once, target.at(from).line_units);
    return units < kInfinite / 8 ? units : 0;  // and two of them less than half of what is none
  };
  return {o, saved(Level::kL2), saved(Level::kMemory)};
}

OverlapUnits overlap_units(const ImplTree& tree, const ImplNode& node, const Target& target) {
  const auto* loop = std::get_if<Loop>(&node.kind);
  if (loop == nullptr || loop->parallel) return {};
  std::vector<LoopTile> tiles;
  for (size_t c = 0; c < node.children.size(); c++) {
    const Edge& edge = node.children[c];
    tiles.push_back({tree.nodes[edge.node].spec, edge.binding, c == 0 ? loop->trips : 1});
  }
  return overlap_units(node.spec, loop->dim, tiles, target);
}

}  // namespace morello

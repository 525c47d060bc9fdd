// SPDX-License-Identifier: MIT
// Products of matrices in tile registers, with results in memory.
#include "cost/tiles.hh"

#include <algorithm>
#include <bit>
#include <utility>

#include "cost/model.hh"
#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {

bool takes_tiles(const Spec& spec, const Target& target) {
  if (target.tiles.count == 0 || !contraction_of(spec)) return false;
  const auto [a, b] = factors_of(spec);
  if (!is_operand(a) || !is_operand(b)) return false;
  return tiles_take(target, spec.operand[a].dtype, spec.operand[b].dtype, computed_dtype(spec));
}

bool begins_at_lines(const Spec& spec, const Operand& x) {
  if (x.layout.packed()) return true;
  const u8 d = unit_dim(x);
  if (x.contig <= 1 || d == kNoDim) return run_alias(x) != 0 && !is_ragged(x);
  return u64{spec.size[d]} * size_of(x.dtype) % kLineBytes == 0;
}

std::optional<TileUse> TileUse::of(const ContractionRoles& r, u32 bytes, const TileUnit& unit) {
  const u32 lanes = unit.row_bytes / kElementBytes;
  TileUse use;
  use.unit_ = unit;
  if (r.rows > kMostTiles * unit.rows || r.columns > kMostTiles * lanes) return std::nullopt;
  use.row_tiles_ = static_cast<u32>(ceil_div(r.rows, unit.rows));
  use.column_tiles_ = static_cast<u32>(ceil_div(r.columns, lanes));
  use.last_rows_ = r.rows - (use.row_tiles_ - 1) * unit.rows;
  use.last_row_bytes_ = (r.columns - (use.column_tiles_ - 1) * lanes) * kElementBytes;
  const u64 depth_bytes = u64{r.depth} * bytes;
  use.steps_ = static_cast<u32>(depth_bytes / unit.row_bytes);
  use.rest_bytes_ = static_cast<u32>(round_up(depth_bytes % unit.row_bytes, kElementBytes));
  use.lacking_ = static_cast<u32>((round_up(depth_bytes, kElementBytes) - depth_bytes) / bytes);
  use.first_a_ = use.row_tiles_ * use.column_tiles_;
  const u32 along_k = use.rest_bytes_ != 0 && use.both(true) ? 2 : 1;
  const u32 sizes_of_a = use.row_tiles_ > 1 && use.last_rows_ != unit.rows ? 2 : 1;
  const u32 sizes_of_b = use.column_tiles_ > 1 && use.last_row_bytes_ != unit.row_bytes ? 2 : 1;
  // As many as there is room for, of the factor first that has fewer.
  const bool a_first = use.row_tiles_ <= use.column_tiles_;
  for (const auto& [a_each, b_each] : {std::pair{true, true}, std::pair{a_first, !a_first},
                                       std::pair{!a_first, a_first}, std::pair{false, false}}) {
    use.a_each_ = a_each, use.b_each_ = b_each;
    use.a_kinds_ = a_each ? use.row_tiles_ : sizes_of_a;
    use.b_kinds_ = b_each ? use.column_tiles_ : sizes_of_b;
    use.first_b_ = use.first_a_ + along_k * use.a_kinds_;
    if (use.first_b_ + along_k * use.b_kinds_ <= unit.count) return use;
  }
  return std::nullopt;
}

TileSizes TileUse::sizes() const {
  TileSizes sizes;
  sizes.rows.fill(static_cast<u8>(unit_.rows));
  sizes.row_bytes.fill(static_cast<u8>(unit_.row_bytes));
  for (u32 i = 0; i < row_tiles_; i++)
    for (u32 j = 0; j < column_tiles_; j++) {
      const u8 row_bytes =
          static_cast<u8>(j + 1 == column_tiles_ ? last_row_bytes_ : unit_.row_bytes);
      sizes.rows[result(i, j)] = sizes.rows[a(i, false)] = static_cast<u8>(rows(i));
      sizes.row_bytes[result(i, j)] = sizes.row_bytes[b(j, false)] = row_bytes;
      if (rest_bytes_ == 0) continue;
      sizes.rows[a(i, true)] = static_cast<u8>(rows(i));
      sizes.row_bytes[a(i, true)] = static_cast<u8>(rest_bytes_);
      sizes.rows[b(j, true)] = static_cast<u8>(rest_bytes_ / kElementBytes);
      sizes.row_bytes[b(j, true)] = row_bytes;
    }
  return sizes;
}

namespace {

bool is_plain(const Operand& x) { return x.level != Level::kRegister && !x.free_layout; }

/// Is it plain, or in panels as deep as a row of a tile register, rows inside?
bool has_rows_of_tiles(const Operand& a, u8 k, const Target& t) {
  if (!a.layout.packed()) return true;
  return a.layout.count() == std::popcount(a.dims) + 1 && a.layout.dim[0] == k &&
         a.layout.fastest() == k && fast_block(a) * size_of(a.dtype) == t.tiles.row_bytes;
}

/// Nothing if the Spec is no product of matrices in such registers.
std::optional<ContractionRoles> roles_of(const Spec& spec, const Target& t) {
  if (t.tiles.count == 0 || !contraction_of(spec)) return std::nullopt;
  const DimMask around = around_of(spec);
  if (points_of(spec, around) > kMostAround) return std::nullopt;
  const auto r = contraction_roles(spec, around);
  if (!r || r->k == kNoDim || r->v == kNoDim) return std::nullopt;
  const Operand &a = spec.operand[r->a], &b = spec.operand[r->b], &out = spec.out();
  if (!is_plain(a) || !is_plain(b) || !is_plain(out)) return std::nullopt;
  if (around != 0 && (a.layout.packed() || is_bordered(spec, a))) return std::nullopt;
  if (!has_rows_of_tiles(a, r->k, t) || out.layout.packed() || out.dtype != computed_dtype(spec))
    return std::nullopt;
  if (!tile_dot_of(t, a.dtype, b.dtype, out.dtype)) return std::nullopt;
  if (r->group == 1 || lane_dim(b) != r->v || unit_dim(a) != r->k) return std::nullopt;
  if (b.layout.count() != std::popcount(b.dims) + 1) return std::nullopt;
  return r;
}

std::optional<TileUse> use_of(const Spec& spec, const ContractionRoles& r, const Target& t) {
  return TileUse::of(r, size_of(spec.operand[r.a].dtype), t.tiles);
}

bool applies(const Spec& spec, const Target& t) {
  const auto r = roles_of(spec, t);
  return r && use_of(spec, *r, t);
}

/// What is copied goes through a vector register.
u32 registers(const Spec& spec, const Target& t) {
  return use_of(spec, *roles_of(spec, t), t)->lacking() != 0;
}

i64 cost(const Spec& spec, const Target& t) {
  const ContractionRoles r = *roles_of(spec, t);
  const TileUse use = *use_of(spec, r, t);
  const TileUnit& unit = t.tiles;
  const Operand& a = spec.operand[r.a];
  const Operand& b = spec.operand[r.b];
  const bool splits = r.rows > 1 && !begins_at_lines(spec, a);
  // Rows of groups are parts of panels, which begin at lines, unless they are all there is.
  const bool splits_b = is_dense(b) && r.columns * kElementBytes % kLineBytes != 0;
  // Parts of rows: prefetchers follow them less well.
  const bool apart_b = b.level != Level::kL1 && !is_dense(b);
  // Rows that are copied with zeros behind them; they wait to be read again.
  const bool copies_b = spec.operand[r.b].dtype == Dtype::kBf16;
  const i64 copied_row = unit.store_row + unit.split_row;
  i64 loads = 0, products = 0, copies = 0, waits = 0;
  use.each_of_step(
      [&](u32 i) {
        loads += use.rows(i) * (unit.load_row + (splits ? unit.split_row : 0));
        copies += use.rows(i) * copied_row;
      },
      [&](u32) {
        loads += unit.rows * (unit.load_row + (splits_b ? unit.split_row : 0));
        waits += apart_b ? unit.rows * unit.apart_row : 0;
        copies += copies_b ? use.rest_bytes() / kElementBytes * copied_row : 0;
      },
      [&](u32 i, u32) {
        products += std::max(use.rows(i) * unit.product_row, unit.least_product);
      });
  const u64 steps = use.steps() + (use.rest_bytes() != 0), times = points_of(spec, around_of(spec));
  i64 c = saturating_mul(steps, std::max(loads, products) + waits);
  if (use.lacking() != 0) c = saturating_add(c, copies);
  c = saturating_mul(times, c);
  const bool adds = spec.out().access == Access::kInOut;
  const u64 result_rows = u64{r.rows} * use.column_tiles();
  c = saturating_add(c, saturating_mul(result_rows, unit.store_row + (adds ? unit.load_row : 0)));
  c = saturating_add(c, t.prices.call);
  // Others around have whole tiles: sizes are set before and after.
  if (r.rows % unit.rows != 0 || r.columns * kElementBytes % unit.row_bytes != 0)
    c = saturating_add(c, 2 * unit.configure);
  for (int o = 0; o < spec.operand_count; o++)
    c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

/// Results in one register, or as many as one has.
BlockPrice block(u64 rows, u64 columns, const Target& t) {
  const TileUnit& unit = t.tiles;
  const u64 lanes = unit.row_bytes / kElementBytes;
  const u64 of_rows = std::min<u64>(rows, unit.rows), of_columns = std::min(columns, lanes);
  const i64 product = std::max(static_cast<i64>(of_rows) * unit.product_row, unit.least_product);
  return {.group = product / static_cast<i64>(of_rows * of_columns),
          .result = unit.store_row / static_cast<i64>(of_columns),
          .odd_run = 2 * unit.configure,
          .whole = rows / unit.rows * unit.rows * (columns / lanes * lanes),
          .most = (unit.count - 2) * unit.rows * lanes};  // one register for each factor
}

Rate rate(Duty duty, const Target& t) {
  const TileUnit& unit = t.tiles;
  if (duty != Duty::kContract || unit.count == 0) return kNever;
  const u32 lanes = unit.row_bytes / kElementBytes;
  return {.call = t.prices.call,
          .group = lanes,
          .group_units = unit.product_row / lanes,
          .block = block,
          .along_reduced = true,
          .tiles = true,
          .stages = 1};
}

}  // namespace

DimMask around_of(const Spec& spec) {
  DimMask around = spec.reduced();
  for (Ref factor : factors_of(spec)) {  // k is the fastest dimension of the first one
    if (!is_operand(factor) || has_dim(spec.operand[factor].dims, unit_dim(spec.out()))) continue;
    const u8 k = unit_dim(spec.operand[factor]);
    if (k != kNoDim) around = static_cast<DimMask>(around & ~(1u << k));
  }
  return around;
}

TileUse tile_use_of(const Spec& spec, const Target& t) {
  return *use_of(spec, *roles_of(spec, t), t);
}

extern const Microkernel kTileProduct = {
    MicrokernelId::kTileProduct, applies, registers, cost, whole, rate};

}  // namespace morello

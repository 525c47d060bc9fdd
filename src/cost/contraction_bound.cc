// SPDX-License-Identifier: MIT
#include "cost/contraction_bound.hh"

#include <algorithm>

#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

constexpr int kFraction = TileRates::kFraction;
constexpr i64 fixed(i64 units) {
  return units >= kInfinite >> kFraction ? kInfinite : units << kFraction;
}

/// n times a fixed-point price, in units, rounded down.
i64 scaled(u64 n, i64 price) {
  __int128 units = static_cast<__int128>(n) * price >> kFraction;
  return units < kInfinite ? static_cast<i64>(units) : kInfinite;
}

i64 share(i64 price, u64 n) { return price >= kInfinite ? kInfinite : price / static_cast<i64>(n); }

}  // namespace

TileRates::TileRates(const Target& target) : registers_(target.vector_registers) {
  rate_.assign(static_cast<size_t>((registers_ + 1) * (registers_ + 1)), kInfinite);
  largest_.assign(rate_.size(), 1);
  for (u64 rows = 1; rows <= registers_; rows++)
    for (u64 vecs = 1; vecs <= registers_; vecs++) {
      i64 best = std::min(rate(rows - 1, vecs), rate(rows, vecs - 1));
      u32 most = std::max(largest(rows - 1, vecs), largest(rows, vecs - 1));
      if (rows * vecs + outer_product_registers(rows, vecs, false, target) <= registers_) {
        i64 step = outer_product_step(rows, vecs, target);
        best = std::min(best, fixed(step) / static_cast<i64>(rows * vecs));
        most = std::max(most, static_cast<u32>(rows * vecs));
      }
      rate_[index(rows, vecs)] = best;
      largest_[index(rows, vecs)] = most;
    }
}

ContractionBound::ContractionBound(const Spec& spec, const Target& target, const TileRates& rates)
    : spec_(spec),
      target_(target),
      rates_(rates),
      out_(spec.out()),
      lanes_(computed_lanes(spec, target)),
      v_(unit_dim(spec.out())),
      in_registers_(spec.out().level == Level::kRegister),
      chain_(!is_single(spec)),
      store_(kUnitsPerCycle / static_cast<i64>(target.stores_per_cycle)) {
  for (int d = 0; d < spec.rank; d++)
    (has_dim(spec.reduced(), d) ? depth_ : results_) *= spec.size[d];
  if (v_ != kNoDim) columns_ = spec.size[v_];
  rows_ = results_ / columns_;
  work_ = stage_units(spec, 1, target);
  scalar_work_ = scalar_stage_units(spec, 1, target);
  if (v_ != kNoDim) repack_ = repack(v_);
  if (!in_registers_) per_other_ = per_other_result();
}

i64 ContractionBound::units() const {
  if (in_registers_ && v_ == kNoDim)
    return saturating_add(
        scaled(results_, saturating_mul(depth_, rates_.rate(results_, 1)) + fixed(work_)),
        target_.prices.call);
  i64 c = 0;
  if (v_ == kNoDim) {
    c = scaled(results_, per_other_);
  } else {
    u64 full = columns_ / lanes_, rest = columns_ % lanes_;
    if (full) c = part(full, full * lanes_, true);
    if (rest) c = saturating_add(c, part(1, rest, full == 0));
  }
  return in_registers_ ? saturating_add(c, target_.prices.call) : std::max(c, target_.prices.call);
}

i64 ContractionBound::step_units() const {
  return chain_ ? saturating_mul(results_ / lanes_, work_) : 0;
}

/// `columns` columns, `vecs` vectors of each row, in all rows.
i64 ContractionBound::part(u64 vecs, u64 columns, bool first) const {
  i64 in_vectors = vectors(vecs, columns, first);
  return in_registers_ ? in_vectors : std::min(in_vectors, scaled(rows_ * columns, per_other_));
}

i64 ContractionBound::vectors(u64 vecs, u64 columns, bool first) const {
  u64 row = ceil_div(columns_, lanes_), all = rows_ * vecs, size = rates_.largest(rows_, row);
  i64 per_vector = saturating_mul(depth_, rates_.rate(rows_, row));
  i64 loop = 0, per_tile = 0, odd = 0;
  if (!in_registers_) {
    bool loads = out_.access == Access::kInOut && !chain_;
    per_vector += fixed(store_ + (loads ? kUnitsPerCycle / 2 : kUnitsPerCycle / 4));
    loop = target_.prices.loop;
    per_tile =
        target_.prices.loop + target_.prices.call + (loads ? 2 : 1) * target_.prices.tile_call;
    // A last vector that is not full is stored in parts where there are no masks, or is no vector.
    if (columns < lanes_ && !target_.has_masks)
      odd = std::min<i64>(target_.prices.odd_store,
                          static_cast<i64>(columns) * target_.prices.scalar_element - store_);
  }
  // A tile more or less: other ways for one vector may cost less than a tile of its own.
  bool whole = scaled(columns / vecs, per_other_) >= (per_vector >> kFraction) + per_tile;
  u64 tiles = first && whole ? ceil_div(all, size) : all / size;
  i64 c = saturating_add(scaled(all, per_vector), saturating_mul(tiles, per_tile));
  if (first) c = std::max<i64>(0, c - loop);
  c = saturating_add(c, saturating_mul(rows_, odd));
  c = saturating_add(c, share_of(repack_, columns));
  return saturating_add(c, steps_of_vectors(vecs, columns));
}

/// What `columns` of all columns have of these units.
i64 ContractionBound::share_of(i64 units, u64 columns) const {
  if (units == 0 || units >= kInfinite) return units;
  return scaled(columns, fixed(units) / static_cast<i64>(columns_));
}

/// The steps, at best on the register tile, or along rows in memory; one by one where an operand
/// runs another way.
i64 ContractionBound::steps_of_vectors(u64 vecs, u64 columns) const {
  if (!chain_) return 0;
  u64 all = rows_ * vecs, row = ceil_div(columns_, lanes_);
  i64 in_tile = fixed(target_.prices.tile_call) / rates_.largest(rows_, row);
  i64 in_memory = fixed(std::max(work_, store_) - work_) +
                  fixed(target_.prices.map_row) / static_cast<i64>(row);
  i64 c = scaled(all, fixed(work_) + std::min(in_tile, in_memory));
  c = saturating_add(c, share_of(repack_of_steps(), columns));
  return in_registers_ ? c : std::min(c, saturating_mul(rows_ * columns, scalar_work_));
}

/// The cheapest of the ways that cost so much per result. Fixed point.
i64 ContractionBound::per_other_result() const {
  i64 scalar = saturating_add(saturating_mul(depth_, fixed(target_.prices.scalar_step)),
                              per_step_in_memory());
  return std::min({scalar, per_lone_result(), per_dot_product(), per_buffered_result()});
}

/// A lane of its own in an outer product, which asks nothing of layouts.
i64 ContractionBound::per_lone_result() const {
  bool loads = out_.access == Access::kInOut && !chain_;
  i64 c = saturating_mul(depth_, rates_.rate(results_, 1));
  c = saturating_add(
      c, fixed(target_.prices.scalar_element + (loads ? kUnitsPerCycle / 2 : kUnitsPerCycle / 4)));
  i64 per_tile = 2 * target_.prices.call + (loads ? target_.prices.tile_call : 0);
  c = saturating_add(c, fixed(per_tile) / rates_.largest(results_, 1));
  return chain_ ? saturating_add(c, fixed(std::min(work_, scalar_work_))) : c;
}

i64 ContractionBound::per_dot_product() const {
  i64 packs = 0;
  for (Ref in : factors_of(spec_)) {
    const Operand& x = spec_.operand[in];
    if (x.free_layout || (x.dims & spec_.reduced()) == 0 || v_ == kNoDim || !has_dim(x.dims, v_))
      continue;
    if (has_dim(spec_.reduced(), unit_dim(x))) continue;
    if (x.level <= Level::kL1) return kInfinite;
    packs += static_cast<i64>(elements(spec_, x)) * (target_.prices.transpose_block / 64);
  }
  i64 steps = static_cast<i64>(ceil_div(depth_, lanes_)) * kUnitsPerCycle / target_.fma_per_cycle;
  i64 c = saturating_add(fixed(steps + target_.prices.dot_result), share(fixed(packs), results_));
  return saturating_add(c, per_step_in_memory());
}

/// A chain may keep its results in a buffer, which is dense whatever the output is: vectors may run
/// along any of its dimensions, and the steps go to the output one by one.
i64 ContractionBound::per_buffered_result() const {
  if (!chain_ || out_.level <= Level::kL1) return kInfinite;
  i64 best = kInfinite;
  for (u8 d = 0; d < spec_.rank; d++) {
    if (d == v_ || has_dim(spec_.reduced(), d)) continue;
    u64 size = spec_.size[d], row = ceil_div(size, lanes_);
    i64 c = saturating_mul(depth_, rates_.rate(results_ / size, row));
    c = saturating_add(c, fixed(store_ + kUnitsPerCycle / 4)) / static_cast<i64>(width(d));
    best = std::min(best, saturating_add(c, share(fixed(repack(d)), results_)));
  }
  return saturating_add(best, fixed(scalar_work_));
}

/// The steps on one result in memory. Fixed point.
i64 ContractionBound::per_step_in_memory() const {
  if (!chain_) return 0;
  i64 scalar = fixed(scalar_work_);
  if (v_ == kNoDim) return scalar;
  return std::min(scalar, fixed(std::max(work_, store_)) / static_cast<i64>(width(v_)));
}

/// Units of bringing factors into a layout that vectors along a dimension are read from, if they
/// have another one.
i64 ContractionBound::repack(u8 along) const {
  i64 c = 0;
  for (Ref in : factors_of(spec_)) {
    const Operand& x = spec_.operand[in];
    if (x.free_layout || !has_dim(x.dims, along) || unit_dim(x) == along) continue;
    if (x.level <= Level::kL1) return kInfinite;
    c = saturating_add(c, saturating_mul(elements(spec_, x), target_.prices.transpose_block / 64));
  }
  return c;
}

/// The same of what the steps read, along the output's vectors.
i64 ContractionBound::repack_of_steps() const {
  i64 c = 0;
  for (int s = 1; s < spec_.stage_count; s++)
    for (Ref in : spec_.stage[s].in) {
      if (!is_operand(in)) continue;
      const Operand& x = spec_.operand[in];
      if (x.free_layout || !has_dim(x.dims, v_) || unit_dim(x) == v_) continue;
      if (x.level <= Level::kL1) return kInfinite;
      c = saturating_add(c,
                         saturating_mul(elements(spec_, x), target_.prices.transpose_block / 64));
    }
  return c;
}

}  // namespace morello

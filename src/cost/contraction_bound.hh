// SPDX-License-Identifier: MIT
// The least work of a contraction and the steps behind it, wherever its operands come from: part of
// the lower bounds of bounds.hh.
#ifndef MORELLO_COST_CONTRACTION_BOUND_HH
#define MORELLO_COST_CONTRACTION_BOUND_HH

#include <algorithm>
#include <span>

#include "cost/rates.hh"

namespace morello {

/// At most so many places of windows have an element of the operand.
double most_meetings(const Spec& spec, const Operand& x);

/// Every result is computed in one of a few ways: in a vector of a register tile; as a lane of its
/// own in one; in memory; or, where a chain has its results in a buffer of another layout, in a
/// vector along another dimension. All but the first cost so much per result. A row of results is
/// dealt out to whole vectors and a remainder; each part takes its cheapest way, for mixtures cost
/// no less. Prices are the least that microkernels declare.
/// REQUIRES: stage 0 of the Spec is a contraction.
class ContractionBound {
 public:
  /// @param stays  whoever reads results finds them in registers: nobody clears or stores them.
  ContractionBound(const Spec& spec, const Target& target, const Rates& rates, bool stays = false);

  /// Units of the contraction and the steps behind it, without any cache line.
  i64 units() const;
  /// Of the steps alone: at most what units() has of them.
  i64 step_units() const;
  /// Of copies of factors without which no groups of neighbours are summed.
  i64 grouping_units() const { return sums_groups() ? regroup_ : kInfinite; }
  /// Of copies of factors without which no tile registers take them, whatever columns run along.
  i64 tile_grouping_units() const { return regroup_for_tiles_; }
  /// Of one product of a vector, where they are summed in groups, or not. Fixed point.
  /// @param narrow  the factor that is read by broadcasts is widened whenever it is read.
  i64 product(i64 rate, bool grouped, bool narrow) const;
  /// Of a copy of that factor in which it is widened.
  i64 widening_units() const { return widening_; }
  /// Of visiting one result: storing it, and loading it where it had a value, in tiles as large as
  /// any with so many vectors in a row. Not where microkernels write to memory.
  double visit(u64 row) const;
  /// Of copies of factors without which none is read along reduced dimensions.
  i64 packing_units() const { return packs_along_reduced_; }
  bool stays() const { return stays_; }

 private:
  /// Fixed-point units of summing all products of a vector in steps that cost so much at least.
  i64 sums(i64 rate, const ProductPrice& least) const {
    if (by_fma_) return saturating_mul(depth_, rate);
    return std::max(saturating_mul(ceil_div(depth_, least.products), rate),
                    saturating_mul(depth_, least.units));
  }
  /// Is a product another one where groups of neighbours are summed, of tiles of any shape or of
  /// those of vectors along v_?
  bool sums_groups() const { return grouped_ != plain_ || along_[true] != along_[false]; }
  i64 part(u64 vecs, u64 columns, bool first) const;
  i64 vectors(u64 vecs, u64 columns, bool first) const;
  ProductPrice product_of_vectors() const;
  void find_widening();
  i64 steps_of_vectors(u64 vecs, u64 columns) const;
  i64 share_of(i64 units, u64 columns) const;
  i64 others(u64 results, u64 whole, i64 in_vectors) const;
  i64 per_other_result(bool whole) const;
  i64 per_lone_result(i64 products) const;
  i64 per_result_in_memory(const MemoryWay& way, bool whole) const;
  i64 per_buffered_result() const;
  void find_steps();
  i64 repack(u8 along, bool grouped = false) const;
  i64 repack_of_steps() const;
  i64 packs_along_reduced() const;
  /// Of a square both are one, which is copied, and widened, once.
  std::span<const Ref> each_factor() const {
    return {factor_.data(), factor_[0] == factor_[1] ? size_t{1} : factor_.size()};
  }
  u64 width(u8 along) const { return std::min<u64>(lanes_, spec_.size[along]); }

  const Spec& spec_;
  const Target& target_;
  const Rates& rates_;
  const Operand& out_;
  const std::array<Ref, 2> factor_;
  const DimMask reduced_;
  const bool by_fma_;  // the products, which then have no other price
  const u64 lanes_;
  const u8 v_;               // the dimension of the output that vectors run along
  const bool in_registers_;  // the output
  const bool chain_;
  bool late_ = false;  // steps read what the output held
  const bool stays_;
  const TileMoves& visit_;  // of results, which are loaded into tiles or cleared there
  const TileMoves& moves_;  // of them at the first visit and the last
  /// Of the steps, in fixed point: on a vector of a tile, and of a row in memory; on a result that
  /// has a register of its own, is in a vector in memory, or by itself there.
  i64 on_tile_ = 0, in_row_ = 0, on_lone_ = 0, in_memory_ = 0, alone_ = 0;
  i64 in_vectors_ = 0;  // on a vector in memory
  u64 depth_ = 1;
  ProductPrice plain_, grouped_;  // without groups of neighbours that share lanes, and with them
  u64 results_ = 1, rows_ = 1, columns_ = 1;
  i64 repack_ = 0, regroup_ = 0;  // units of repack(v_)
  i64 regroup_for_tiles_ = 0, packs_along_reduced_ = 0;
  i64 widening_ = 0;
  ProductPrices along_;                // of vectors along v_
  i64 per_other_ = 0, per_whole_ = 0;  // fixed point; of results in whole blocks
  u64 whole_ = 0;                      // the most that are in such
};

}  // namespace morello

#endif

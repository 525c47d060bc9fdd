// SPDX-License-Identifier: MIT
// The least work of a contraction and the steps behind it, wherever its operands come from: part of
// the lower bounds of bounds.hh.
#ifndef MORELLO_COST_CONTRACTION_BOUND_HH
#define MORELLO_COST_CONTRACTION_BOUND_HH

#include <algorithm>
#include <vector>

#include "cost/model.hh"

namespace morello {

/// What register tiles of outer products reach at best. Immutable; for one target.
class TileRates {
 public:
  static constexpr int kFraction = 10;  // of fixed-point prices

  explicit TileRates(const Target& target);

  /// Of all register tiles of up to rows x vecs vectors: units per vector FMA of the best, fixed
  /// point.
  i64 rate(u64 rows, u64 vecs) const { return rate_[index(rows, vecs)]; }
  /// Vectors of the largest.
  u32 largest(u64 rows, u64 vecs) const { return largest_[index(rows, vecs)]; }

 private:
  size_t index(u64 rows, u64 vecs) const {
    return static_cast<size_t>(std::min(rows, registers_) * (registers_ + 1) +
                               std::min(vecs, registers_));
  }

  u64 registers_;
  std::vector<i64> rate_;
  std::vector<u32> largest_;
};

/// Every result is computed in one of a few ways: in a vector of an outer product; as a lane of its
/// own in one; as a dot product; by a scalar loop; or, where a chain has its results in a buffer of
/// another layout, in a vector along another dimension. All but the first cost so much per result.
/// A row of results is dealt out to whole vectors and a remainder; each part takes its cheapest
/// way, for mixtures cost no less.
/// REQUIRES: stage 0 of the Spec is a contraction.
class ContractionBound {
 public:
  ContractionBound(const Spec& spec, const Target& target, const TileRates& rates);

  /// Units of the contraction and the steps behind it, without any cache line.
  i64 units() const;
  /// Of the steps alone: at most what units() has of them.
  i64 step_units() const;

 private:
  i64 part(u64 vecs, u64 columns, bool first) const;
  i64 vectors(u64 vecs, u64 columns, bool first) const;
  i64 steps_of_vectors(u64 vecs, u64 columns) const;
  i64 share_of(i64 units, u64 columns) const;
  i64 per_other_result() const;
  i64 per_lone_result() const;
  i64 per_dot_product() const;
  i64 per_buffered_result() const;
  i64 per_step_in_memory() const;
  i64 repack(u8 along) const;
  i64 repack_of_steps() const;
  u64 width(u8 along) const { return std::min<u64>(lanes_, spec_.size[along]); }

  const Spec& spec_;
  const Target& target_;
  const TileRates& rates_;
  const Operand& out_;
  const u64 lanes_;
  const u8 v_;               // the dimension of the output that vectors run along
  const bool in_registers_;  // the output
  const bool chain_;
  const i64 store_;      // units of storing one vector
  i64 work_ = 0;         // units of the steps on one vector
  i64 scalar_work_ = 0;  // and on one element
  u64 depth_ = 1, results_ = 1, rows_ = 1, columns_ = 1;
  i64 repack_ = 0;     // units of repack(v_)
  i64 per_other_ = 0;  // fixed point
};

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What the rates that microkernels declare come to, all taken together: the least price of each
// duty. The lower bounds know microkernels by this alone.
#ifndef MORELLO_COST_RATES_HH
#define MORELLO_COST_RATES_HH

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "cost/microkernel.hh"
#include "cost/model.hh"
#include "cost/shared.hh"

namespace morello {

/// The results of a duty, and which of the declared ways can compute them.
struct Form {
  i64 ops = 0, scalar_ops = 0;  // units of the stages on a vector, and on an element
  bool fastest = true;          // as in Rate: what the Specs have
  bool along = true;
  bool together = false;  // kReduce: what is combined may be so (combines_together())
};

/// The least prices of moving results between memory and register tiles, for each way that they
/// come into a tile: cleared, or loaded.
struct TileMoves {
  i64 vector = 0;  // both moves of one vector
  i64 lone = 0;    // of a result in a register of its own, whatever its neighbours
  i64 single = 0;  // of the only result of its tile
  i64 calls = 0;   // starting them
  i64 lone_calls = 0;
  i64 alone = 0;              // of a single result with its tile, moves and loop
  std::array<i64, 64> odd{};  // added for a vector of so many results, which is not full
};

/// A way to sum products to results in memory. Fixed point.
struct MemoryWay {
  u32 group;        // products
  i64 group_units;  // of each started group
  i64 result;       // of each result
  bool along_reduced;
  bool tiles;  // in tile registers, which take some types only, and one factor in groups
  BlockPrice (*block)(u64 rows, u64 columns, const Target&);
};

/// The least prices of a chain: on a vector of a tile, and on a result with a register of its own;
/// on what is stored from a tile, on top of storing it; in memory on a vector, on a row of them,
/// and on a result by itself.
struct StepPrices {
  i64 on_tile = kInfinite, on_lone = kInfinite, stored = kInfinite;
  i64 vector = kInfinite, row = kInfinite, alone = kInfinite;
};

/// Of products that lanes sum.
struct ProductPrice {
  u32 products = 1;  // the most of a lane in one step
  i64 units = 0;     // of one product of each lane of a vector, at least; fixed point
  friend bool operator==(const ProductPrice&, const ProductPrice&) = default;
};
/// [grouped][narrow]. Grouped: neighbours along the reduced dimension may share lanes; or not at
/// all. Narrow: the factor that is read by broadcasts is not widened before; or it may be.
using ProductPrices = std::array<std::array<ProductPrice, 2>, 2>;

/// Immutable; for one target.
class Rates {
 public:
  static constexpr int kFraction = 10;  // of fixed-point prices

  Rates(const Target& target, Microkernels kernels);

  /// The least price of one execution of any way of a duty; kInfinite if there is no way.
  i64 call(Duty duty) const { return call_[index(duty)]; }
  /// The least price of a vector of `columns` of `lanes` results.
  i64 cell(Duty duty, const Form& form, u64 columns, u64 lanes) const;
  /// The same of a result that is a vector of its own.
  i64 lone(Duty duty, const Form& form) const;
  /// The least price of a row of whole vectors, and of single elements where a way has no vectors.
  /// @param alone  of an element that has no part in the row's own price.
  i64 row(Duty duty, const Form& form, u64 columns, u64 lanes, i64 alone) const;
  /// @param ops, scalar_ops  units of the chain's operations on a vector, and on an element.
  StepPrices steps(i64 ops, i64 scalar_ops, u64 vecs, u64 lanes) const;
  std::span<const Rate> ways(Duty duty) const { return ways_[index(duty)]; }

  /// Are the products of these factors an FMA, and nothing else? Then rates of microkernels say
  /// all: products() has nothing to add.
  static bool sums_by_fma(const Spec& spec, const std::array<Ref, 2>& factors) {
    const auto [a, b] = factors;
    return is_operand(a) && is_operand(b) && spec.operand[a].dtype == Dtype::kF32 &&
           spec.operand[b].dtype == Dtype::kF32;
  }
  /// What products of the contraction that a Spec begins with cost at least, wherever factors come
  /// from.
  /// @param rows  products that use each element of the factor that is read in vectors.
  /// @param vecs  vectors of a row of results.
  ProductPrices products(const Spec& spec, u64 rows = ~u64{0}, u64 vecs = ~u64{0}) const;
  /// Of an element that is copied to a wider type. Fixed point.
  i64 widened(Dtype from, Dtype to) const;

  /// May the factors of the contraction that a Spec begins with come into tile registers?
  bool tiles_take(const Spec& spec) const;

  /// What a Spec's results cost in blocks, whatever dimension columns run along. No fixed point.
  BlockPrice block(const MemoryWay& way, const Spec& spec) const;
  /// Of one group of products of each result. Fixed point.
  i64 group_units(const MemoryWay& way, const Spec& spec) const;

  /// Units of one product of factors of these types, in any way, in any layout; no fixed point.
  double least_product(Dtype a, Dtype b, Dtype sum, u32 lanes) const;

  /// op_units(), and scalar_op_units(), of one stage.
  i64 vector_op(const Stage& stage) const { return ops_of(stage).vector; }
  i64 scalar_op(const Stage& stage) const { return ops_of(stage).scalar; }

  std::span<const MemoryWay> memory_ways() const { return memory_ways_; }
  const TileMoves& moves(bool loads) const { return moves_[loads]; }
  /// Of an element that changes the dimension which vectors run along.
  i64 relayout(Dtype type) const { return relayout_[std::countr_zero(size_of(type))]; }
  /// The same, in fixed point, where rows along the dimension that vectors come to run along have
  /// so many elements: blocks that they do not fill cost as much as others.
  i64 relayout_in_rows(Dtype type, u64 row) const;
  /// Of one that comes into a lane with neighbours from other rows.
  i64 grouping(Dtype type) const { return grouping_[std::countr_zero(size_of(type))]; }
  /// Units of reducing `points` elements to results, `turned` more for each that comes to be in a
  /// vector with neighbours along these. `alone`: nothing is computed on the way.
  i64 reduced(const Form& form, u64 results, u64 points, u64 lanes, i64 turned, bool alone) const;

  /// Of all register tiles of up to rows x vecs vectors: units per vector FMA of the best, fixed
  /// point.
  i64 rate(u64 rows, u64 vecs) const { return rate_[tile_index(rows, vecs)]; }
  /// What the best with a factor that streams, in `least` to `most` vectors a step, costs more than
  /// rate(). kInfinite: there is none.
  i64 streaming(i64 rate, u64 least, u64 most) const {
    i64 best = kInfinite;
    for (u64 vecs = least; vecs < streamed_.size() && vecs <= most; vecs++)
      best = std::min(best, streamed_[vecs]);
    return best == kInfinite ? best : std::max<i64>(0, best - rate);
  }
  /// Vectors of the largest.
  u32 largest(u64 rows, u64 vecs) const { return largest_[tile_index(rows, vecs)]; }
  /// Do all tiles read factors that run along the results' vectors, or along windows with them?
  bool tiles_along() const { return tiles_along_; }
  /// Are there microkernels of contractions that compute later stages as well?
  bool fuses() const { return fuses_; }

 private:
  static size_t index(Duty duty) { return static_cast<size_t>(duty); }
  struct OpPrice {
    i64 vector = 0, scalar = 0;
  };
  const OpPrice& ops_of(const Stage& stage) const {
    return ops_[static_cast<size_t>(stage.op)][static_cast<size_t>(stage.dtype)];
  }
  size_t tile_index(u64 rows, u64 vecs) const {
    return static_cast<size_t>(std::min(rows, registers_) * (registers_ + 1) +
                               std::min(vecs, registers_));
  }
  void find_ops();
  void find_tiles(const Target& target);
  void find_moves(const Target& target);
  void find_takers();
  i64 product_units(const Dot& dot, u64 rows, u64 vecs, bool narrow, Widening vectors) const;

  std::array<std::vector<Rate>, kDuties> ways_;  // those of a lower row price first
  std::array<i64, kDuties> call_{};
  std::array<TileMoves, 2> moves_;
  std::vector<MemoryWay> memory_ways_;
  const Target& target_;
  /// The rows of dots() that take factors of two types, as bits, and the most products of them.
  struct Takers {
    std::array<u32, 2> rows{};  // without groups of neighbours, and with them
    std::array<u32, 2> products{1, 1};
    bool tiles = false;  // tile registers do
  };
  const Takers& takers(Dtype a, Dtype b, Dtype sum) const {
    return takers_[static_cast<size_t>(a)][static_cast<size_t>(b)][is_integer(sum)];
  }
  static constexpr size_t kTypes = std::size(kAllDtypes) + 1;  // numbers begin at 1
  std::array<std::array<std::array<Takers, 2>, kTypes>, kTypes> takers_;
  /// Units of one of dots(), fixed point: [widening][narrow], with a factor that is widened when it
  /// is read in vectors, one way or not at all, and one that is when it is read by broadcasts, or
  /// not; of tiles of at most so many rows and vectors (tile_index()).
  using OfDot = std::array<std::array<std::vector<i64>, 2>, kWidenings>;
  const OfDot& of_dot(size_t i) const;
  OfDot find_products(const Dot& dot) const;
  /// Found when they are first asked for: searches in f32 never do.
  struct Product {
    std::once_flag found;
    OfDot of;
  };
  mutable std::vector<Product> product_;
  /// Recipes are added up once: bounds ask for each stage of each Spec.
  std::array<std::array<OpPrice, kTypes>, static_cast<size_t>(Op::kDecay) + 1> ops_{};
  i64 loop_;
  std::array<i64, 3> relayout_{kInfinite, kInfinite, kInfinite};  // of 1, 2, 4 bytes
  std::array<i64, 3> relayout_alone_ = relayout_;                 // by ways without blocks
  u32 side_ = 1;                                                  // of the largest blocks
  std::array<i64, 2> grouping_{kInfinite, kInfinite};             // of 1, 2 bytes
  bool tiles_along_ = true, tiles_add_ = true, fuses_ = false;
  u64 registers_;
  std::vector<i64> rate_;
  std::vector<i64> streamed_;
  std::vector<u32> largest_;
};

}  // namespace morello

#endif

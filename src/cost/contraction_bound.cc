// SPDX-License-Identifier: MIT
#include "cost/contraction_bound.hh"

#include <algorithm>
#include <bit>
#include <numeric>

#include "cost/held.hh"
#include "cost/shared.hh"
#include "cost/turn.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

constexpr int kFraction = Rates::kFraction;
constexpr i64 fixed(i64 units) {
  return units >= kInfinite >> kFraction ? kInfinite : units << kFraction;
}

/// n times a fixed-point price, in units, rounded down.
i64 scaled(u64 n, i64 price) {
  __int128 units = static_cast<__int128>(n) * price >> kFraction;
  return units < kInfinite ? static_cast<i64>(units) : kInfinite;
}

constexpr TileMoves kNoMoves{};

/// Is it the dimension before the fastest one?
bool is_next_to_unit(const Operand& x, u8 d) {
  const int count = x.layout.count();
  return unit_dim(x) != kNoDim && count > 1 && x.layout.dim[count - 2] == d;
}

i64 share(i64 price, u64 n) { return price >= kInfinite ? kInfinite : price / static_cast<i64>(n); }

}  // namespace

double most_meetings(const Spec& spec, const Operand& x) {
  u64 n = 1;
  for (int w = 0; w < kMaxWindows; w++) {
    if (!x.has_window(w)) continue;
    const Window& window = spec.window[w];
    const u32 both = std::gcd(window.step, window.dilation);
    n *= std::min(ceil_div(spec.size[window.inner], window.step / both),
                  ceil_div(spec.size[window.outer], window.dilation / both));
  }
  return static_cast<double>(n);
}

namespace {

/// May parts of an input have vectors that the whole has not, or not all of its elements? Of a
/// window parts may have one of its two dimensions as well as the other.
bool turns_in_parts(const Spec& spec, const Operand& x) {
  const u8 fastest = lane_dim(x);
  if (x.windows == 0) return false;
  return fastest == kNoDim || has_dim(window_dims(spec), fastest) || !has_all_places(spec, x);
}

}  // namespace

ContractionBound::ContractionBound(const Spec& spec, const Target& target, const Rates& rates,
                                   bool stays)
    : spec_(spec),
      target_(target),
      rates_(rates),
      out_(spec.out()),
      factor_(factors_of(spec)),
      reduced_(spec.reduced()),
      by_fma_(rates.sums_by_fma(spec, factor_)),
      lanes_(target.lanes(kElementBytes)),
      v_(unit_dim(spec.out())),
      in_registers_(spec.out().level == Level::kRegister),
      chain_(!is_single(spec) && !rates.fuses()),
      stays_(stays),
      visit_(rates.moves(spec.out().access == Access::kInOut && is_single(spec))),
      moves_(stays ? kNoMoves : visit_) {
  for (int d = 0; d < spec.rank; d++) (has_dim(reduced_, d) ? depth_ : results_) *= spec.size[d];
  if (v_ != kNoDim) columns_ = spec.size[v_];
  rows_ = results_ / columns_;
  if (!by_fma_) {
    // Of an element, or of a copy of it: along reduced dimensions that its factor lacks, and by as
    // many terms of a window as meet it.
    double uses_of_one = 1;
    for (Ref in : factor_) {
      if (!is_operand(in)) continue;
      const Operand& x = spec.operand[in];
      const u64 terms = points_of(spec, static_cast<DimMask>(reduced_ & ~x.dims));
      uses_of_one = std::max(uses_of_one, static_cast<double>(terms) * most_meetings(spec, x));
    }
    u64 uses = static_cast<u64>(std::min(uses_of_one, 1e9));
    uses = static_cast<u64>(saturating_mul(uses, static_cast<i64>(rows_)));
    const ProductPrices any = rates.products(spec, uses);
    plain_ = any[false][false], grouped_ = any[true][false];
    along_ = v_ == kNoDim ? any : rates.products(spec, uses, ceil_div(columns_, lanes_));
    if (both_have_vectors(spec)) {
      const ProductPrice one = product_of_vectors();
      along_.fill({one, one});
    }
    if (v_ != kNoDim && (along_[0][0] != along_[0][1] || along_[1][0] != along_[1][1]))
      find_widening();
  }
  if (chain_) find_steps();
  if (v_ != kNoDim && rates.tiles_along()) {
    repack_ = repack(v_);
    if (sums_groups()) regroup_ = repack(v_, true);
  }
  if (rates.tiles_take(spec)) {
    regroup_for_tiles_ = kInfinite;
    for (u8 d = 0; d < spec.rank; d++)
      if (!has_dim(reduced_, d)) regroup_for_tiles_ = std::min(regroup_for_tiles_, repack(d, true));
    for (const MemoryWay& way : rates.memory_ways())
      if (way.block) whole_ = std::max(whole_, rates.block(way, spec).whole);
  }
  if (in_registers_) return;
  packs_along_reduced_ = packs_along_reduced();
  per_other_ = per_other_result(false);
  per_whole_ = whole_ != 0 ? per_other_result(true) : per_other_;
}

i64 ContractionBound::units() const {
  const i64 call = rates_.call(Duty::kTile);
  if (in_registers_ && v_ == kNoDim) {
    const i64 one = saturating_add(sums(rates_.rate(results_, 1), grouped_), on_lone_);
    return saturating_add(scaled(results_, one), call);
  }
  i64 c = 0;
  if (v_ == kNoDim) {
    c = others(results_, whole_, kInfinite);
  } else {
    u64 full = columns_ / lanes_, rest = columns_ % lanes_;
    if (full) c = part(full, full * lanes_, true);
    if (rest) c = saturating_add(c, part(1, rest, full == 0));
  }
  if (in_registers_) return saturating_add(c, call);
  return std::max(c, std::min(call, rates_.call(Duty::kContract)));
}

i64 ContractionBound::step_units() const {
  if (!chain_) return 0;
  return scaled(results_, std::min(alone_, on_tile_ / static_cast<i64>(lanes_)));
}

double ContractionBound::visit(u64 row) const {
  // What is cleared when it comes into a tile for the first time is loaded from then on.
  const TileMoves& later = rates_.moves(true);
  const i64 calls =
      target_.prices.loop + rates_.call(Duty::kTile) + std::min(visit_.calls, later.calls);
  const double shared = static_cast<double>(calls) / rates_.largest(~u64{0}, row);
  const double vector = static_cast<double>(std::min(visit_.vector, later.vector)) + shared;
  const double lone = static_cast<double>(std::min(visit_.lone, later.lone)) + shared;
  return std::min(vector / static_cast<double>(lanes_), lone);
}

i64 ContractionBound::product(i64 rate, bool grouped, bool narrow) const {
  const ProductPrice& least = narrow ? along_[grouped][true] : grouped ? grouped_ : plain_;
  return std::max(rate / static_cast<i64>(least.products), least.units);
}

/// Where both factors have vectors they are multiplied by FMAs, one product a lane, after each has
/// been widened: when it is read, or in a copy, for all products of an element.
ProductPrice ContractionBound::product_of_vectors() const {
  const Dtype sum = computed_dtype(spec_);
  // A copy has as many elements as there are, of the last vector fewer than lanes.
  const u64 rest = columns_ % lanes_, copies = rest != 0 ? rest : lanes_;
  i64 units = rates_.rate(rows_, ceil_div(columns_, lanes_));
  for (Ref in : each_factor()) {
    if (!is_operand(in) || spec_.operand[in].dtype == sum || sum != Dtype::kF32) continue;
    const Operand& x = spec_.operand[in];
    const u64 uses = points_of(spec_, static_cast<DimMask>(spec_.all_dims() & ~x.dims));
    const i64 read =
        fixed(std::min(morello::widening_units(x.dtype, sum, target_), target_.prices.widen));
    const double copied = static_cast<double>(rates_.widened(x.dtype, sum)) *
                          static_cast<double>(copies) /
                          (static_cast<double>(uses) * most_meetings(spec_, x));
    units += std::min(read, static_cast<i64>(copied));
  }
  return {1, units};
}

/// What is read by broadcasts is widened in each tile, or in a copy before.
void ContractionBound::find_widening() {
  const Dtype sum = computed_dtype(spec_);
  for (Ref in : each_factor()) {
    if (!is_operand(in) || has_dim(spec_.operand[in].dims, v_)) continue;
    const Operand& x = spec_.operand[in];
    if (x.dtype != sum && x.windows == 0)
      widening_ = scaled(elements(spec_, x), rates_.widened(x.dtype, sum));
  }
}

/// `columns` columns, `vecs` vectors of each row, in all rows.
i64 ContractionBound::part(u64 vecs, u64 columns, bool first) const {
  i64 in_vectors = vectors(vecs, columns, first);
  if (in_registers_) return in_vectors;
  // What is left of a row is in no whole block, unless that has several dimensions as one.
  const bool rest =
      columns < lanes_ && std::popcount(static_cast<DimMask>(spec_.all_dims() & ~reduced_)) <= 2;
  return others(rows_ * columns, rest ? 0 : whole_, in_vectors);
}

/// Of these results, of which so many may be in whole blocks, or all in vectors for so much.
i64 ContractionBound::others(u64 results, u64 whole, i64 in_vectors) const {
  whole = std::min(whole, results);
  const auto of = [&](u64 n, i64 each) -> i64 {
    if (n == 0) return 0;
    const i64 share = in_vectors >= kInfinite || n == results
                          ? in_vectors
                          : static_cast<i64>(static_cast<__int128>(in_vectors) * n / results);
    return std::min(share, scaled(n, each));
  };
  return saturating_add(of(whole, per_whole_), of(results - whole, per_other_));
}

// What is summed in groups, of columns or of rows of a factor, has been copied to it: mixtures cost
// no less than the cheaper of the two. So does what is widened in a copy, or not.
i64 ContractionBound::vectors(u64 vecs, u64 columns, bool first) const {
  const u64 row = ceil_div(columns_, lanes_), all = rows_ * vecs, size = rates_.largest(rows_, row);
  const i64 rate = rates_.rate(rows_, row);
  i64 loop = 0, per_tile = 0, odd = 0;
  if (!in_registers_) {
    loop = target_.prices.loop;
    per_tile = loop + rates_.call(Duty::kTile) + moves_.calls;
    // A last vector that is not full may cost more to store, or less, as single elements.
    if (columns < lanes_) odd = moves_.odd[columns];
  }
  const u64 started = ceil_div(all, size), full = all / size;
  const i64 other = scaled(columns / vecs, per_whole_);
  const auto cost = [&](const ProductPrice& product, i64 copies) {
    i64 per_vector = sums(rate, product);
    if (!in_registers_) per_vector = saturating_add(per_vector, fixed(moves_.vector));
    // A tile more or less: other ways for one vector may cost less than a tile of its own.
    const bool whole = other >= (per_vector >> kFraction) + per_tile;
    const u64 tiles = first && whole ? started : full;
    i64 c = saturating_add(scaled(all, per_vector), saturating_mul(tiles, per_tile));
    if (first) c = std::max<i64>(0, c - loop);
    c = std::max<i64>(0, saturating_add(c, saturating_mul(rows_, odd)));
    return saturating_add(c, copies);
  };
  const bool groups = sums_groups();
  i64 least = kInfinite;
  for (const bool grouped : {false, true}) {
    if (grouped && !groups) continue;
    const i64 copies = share_of(grouped ? regroup_ : repack_, columns);
    const ProductPrice& product = along_[grouped][false];
    if (widening_ == 0) {
      least = std::min(least, cost(product, copies));
      continue;
    }
    const i64 widened = saturating_add(copies, share_of(widening_, columns));
    least = std::min({least, cost(product, widened), cost(along_[grouped][true], copies)});
  }
  return saturating_add(least, steps_of_vectors(vecs, columns));
}

/// What `columns` of all columns have of these units.
i64 ContractionBound::share_of(i64 units, u64 columns) const {
  if (units == 0 || units >= kInfinite) return units;
  return scaled(columns, fixed(units) / static_cast<i64>(columns_));
}

void ContractionBound::find_steps() {
  const u64 row = ceil_div(columns_, lanes_);
  i64 ops = 0, scalar = 0, conversion = 0, rounding = 0;
  for (int s = 1; s < spec_.stage_count; s++) {
    ops += rates_.vector_op(spec_.stage[s]);
    scalar += rates_.scalar_op(spec_.stage[s]);
    conversion += least_conversion(spec_, spec_.stage[s], target_);
    rounding += least_rounding(spec_, spec_.stage[s], target_);
  }
  const StepPrices p = rates_.steps(ops, scalar, row, lanes_);
  // What an output that is read late held is met where sums are stored, with the steps.
  late_ = reads_output_late(spec_);
  on_tile_ = fixed(late_ ? std::max<i64>(0, std::min(p.on_tile, p.stored)) : p.on_tile);
  in_row_ = fixed(p.row) / static_cast<i64>(row);
  // Rows in memory are converted with the steps. A register tile may be rounded by the copy that
  // stores it, which has time to spare beside the store.
  if (conversion > 0) {
    const StepPrices all = rates_.steps(ops + conversion, scalar, row, lanes_);
    in_row_ = fixed(all.row) / static_cast<i64>(row);
    const i64 store = kUnitsPerCycle / static_cast<i64>(target_.stores_per_cycle);
    const i64 hidden = std::min(rounding, std::max<i64>(0, store - target_.prices.op[0]));
    if (!late_) on_tile_ += fixed(conversion - hidden);
  }
  alone_ = fixed(p.alone);
  in_vectors_ = fixed(p.vector);
  in_memory_ = alone_;
  if (v_ != kNoDim) in_memory_ = std::min(alone_, fixed(p.vector) / static_cast<i64>(width(v_)));
  // Lanes may go one by one into a buffer, of which the steps are in vectors.
  on_lone_ = std::min(fixed(p.on_lone), in_memory_);
}

/// The steps, at best on the register tile, or along rows in memory; one by one where an operand
/// runs another way.
i64 ContractionBound::steps_of_vectors(u64 vecs, u64 columns) const {
  if (!chain_) return 0;
  u64 all = rows_ * vecs, row = ceil_div(columns_, lanes_);
  i64 on_tile = on_tile_;
  if (!late_) on_tile += fixed(rates_.call(Duty::kLoad)) / rates_.largest(rows_, row);
  i64 c = scaled(all, std::min(on_tile, in_row_));
  c = saturating_add(c, share_of(repack_of_steps(), columns));
  return in_registers_ ? c : std::min(c, scaled(rows_ * columns, alone_));
}

/// The cheapest of the ways that cost so much per result, which is in a whole block or not. Fixed
/// point.
i64 ContractionBound::per_other_result(bool whole) const {
  const bool rounded = out_.dtype != computed_dtype(spec_);
  i64 best = chain_ || rounded || part_may_turn(spec_, target_) ? per_buffered_result() : kInfinite;
  for (const MemoryWay& way : rates_.memory_ways())
    if (!way.tiles || rates_.tiles_take(spec_))
      best = std::min(best, per_result_in_memory(way, whole));
  const i64 products = sums(rates_.rate(results_, 1), grouped_);
  if (products >= best) return best;
  // The only result of its tile.
  i64 alone = sums(rates_.rate(1, 1), grouped_);
  alone = saturating_add(saturating_add(alone, fixed(moves_.alone)), on_lone_);
  return std::min({best, alone, per_lone_result(products)});
}

/// A lane of its own in a tile, which asks nothing of layouts.
i64 ContractionBound::per_lone_result(i64 products) const {
  i64 c = saturating_add(products, fixed(moves_.lone));
  i64 per_tile = saturating_add(rates_.call(Duty::kTile), moves_.lone_calls);
  c = saturating_add(c, share(fixed(per_tile), rates_.largest(results_, 1)));
  return saturating_add(c, on_lone_);
}

i64 ContractionBound::packs_along_reduced() const {
  if (v_ == kNoDim) return 0;
  i64 packs = 0;
  for (Ref in : each_factor()) {
    const Operand& x = spec_.operand[in];
    if (x.free_layout || x.windows != 0 || (x.dims & reduced_) == 0 || !has_dim(x.dims, v_))
      continue;
    // Groups of neighbours have lanes along another dimension.
    const u8 along = lane_group(x) > 1 ? lane_dim(x) : unit_dim(x);
    if (has_dim(reduced_, along)) continue;
    if (x.level <= Level::kL1) return kInfinite;
    packs = saturating_add(packs, saturating_mul(elements(spec_, x), rates_.relayout(x.dtype)));
  }
  return packs;
}

/// By a microkernel that writes to memory.
i64 ContractionBound::per_result_in_memory(const MemoryWay& way, bool whole) const {
  const i64 packs = way.tiles ? regroup_for_tiles_ : way.along_reduced ? packs_along_reduced_ : 0;
  if (packs >= kInfinite) return kInfinite;
  const u64 products = u64{way.group} * (way.along_reduced ? grouped_.products : 1);
  const u64 groups = products == 1 ? depth_ : ceil_div(depth_, products);
  i64 c = saturating_add(saturating_mul(groups, rates_.group_units(way, spec_)), way.result);
  if (way.group > 1 && !by_fma_ && !way.tiles)
    c = std::max(c, saturating_mul(depth_ / way.group, grouped_.units));
  if (way.block) {
    const BlockPrice block = rates_.block(way, spec_);
    c = saturating_add(c, fixed(block.result));
    if (!whole) c = saturating_add(c, share(fixed(block.odd_run), std::min(results_, block.most)));
  }
  if (packs != 0) c = saturating_add(c, share(fixed(packs), results_));
  return saturating_add(c, in_memory_);
}

/// A chain, or sums that the output rounds, may be kept in a buffer, which is dense whatever the
/// output is: vectors may run along any of its dimensions, and the steps go to the output one by
/// one; or along the same vectors into another buffer, of which the output is a relayout; or along
/// the output's, of a relayout of the sums.
i64 ContractionBound::per_buffered_result() const {
  const i64 visit = std::min(moves_.vector, rates_.moves(false).vector);
  i64 best = kInfinite;
  for (u8 d = 0; d < spec_.rank; d++) {
    if (d == v_ || has_dim(reduced_, d)) continue;
    u64 size = spec_.size[d], row = ceil_div(size, lanes_);
    i64 c = sums(rates_.rate(results_ / size, row), grouped_);
    c = saturating_add(c, fixed(visit)) / static_cast<i64>(width(d));
    i64 relayout = rates_.tiles_along() ? repack(d) : 0;
    c = saturating_add(c, share(fixed(relayout), results_));
    i64 steps = 0;
    if (chain_) {
      steps = std::min({alone_,
                        saturating_add(in_vectors_ / static_cast<i64>(width(d)),
                                       fixed(rates_.relayout(out_.dtype))),
                        saturating_add(in_memory_, fixed(rates_.relayout(computed_dtype(spec_))))});
    } else {
      // What is copied has its vectors along another dimension then, and rows of the output's
      // fastest one alone, if d is next to it there; else rows of more dimensions, as one in both.
      const auto copied = [&](Dtype type) {
        return is_next_to_unit(out_, d) ? rates_.relayout_in_rows(type, columns_)
                                        : fixed(rates_.relayout(type));
      };
      steps = std::min(copied(out_.dtype), copied(computed_dtype(spec_)));
    }
    best = std::min(best, saturating_add(c, steps));
  }
  return best;
}

/// Units of bringing factors into a layout that vectors along a dimension are read from, if they
/// have another one.
i64 ContractionBound::repack(u8 along, bool grouped) const {
  i64 c = 0;
  for (Ref in : each_factor()) {
    const Operand& x = spec_.operand[in];
    if (x.free_layout || turns_in_parts(spec_, x) || !has_dim(x.dims, along)) continue;
    if (lane_dim(x) == along && (!grouped || lane_group(x) > 1)) continue;
    if (x.level <= Level::kL1) return kInfinite;
    const bool from_rows =
        grouped && size_of(x.dtype) < kElementBytes && unit_dim(x) == along && !x.layout.packed();
    const i64 element = from_rows ? rates_.grouping(x.dtype) : rates_.relayout(x.dtype);
    c = saturating_add(c, saturating_mul(elements(spec_, x), element));
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
      c = saturating_add(c, saturating_mul(elements(spec_, x), rates_.relayout(x.dtype)));
    }
  return c;
}

}  // namespace morello

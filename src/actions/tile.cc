// SPDX-License-Identifier: MIT
// Loops: a dimension cut into equal tiles and a remainder, one after the other or on several
// threads.
#include <bit>
#include <optional>

#include "actions/narrow.hh"
#include "actions/placement.hh"
#include "cost/overlap.hh"
#include "cost/tiles.hh"
#include "spec/border.hh"
#include "spec/ladder.hh"

namespace morello {
namespace {

bool may_loop(const Spec& spec, int dim) {
  if (has_dim(parallel_dims(spec), dim)) return register_operand(spec) < 0;
  if (!has_dim(fold_dims(spec), dim)) return false;
  if (register_operand(spec) < 0) return true;
  // Register tiles have no index. A reduction over several dimensions runs all but one by loops
  // of 1.
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister && has_dim(spec.operand[o].dims, dim))
      return false;
  return std::popcount(spec.reduced()) > 1;
}

/// A dimension that every operand of the contraction has, and no register tile: loops over it reuse
/// nothing of theirs, so all but tiles of 1 only add loops.
bool is_batch(const Spec& spec, u8 dim) {
  return dim != unit_dim(spec.out()) && both_have(spec, dim) && has_dim(spec.out().dims, dim);
}

/// How many places of a batch a loop takes at a time. Of what is multiplied with itself, sums of
/// squares of rows, those that come to L1 together: each step waits for the one before of its own
/// row only. Not where all of them come from memory: two at a time took 1.2 to 1.4 times as long as
/// one (in C, Zen 4), perhaps as the stores of two exceed what may wait while the next are read.
u32 most_of_batch(const Spec& spec, u8 dim, const Target& t) {
  const auto [a, b] = factors_of(spec);
  if (a != b) return 1;
  u64 most = kLadder.back();
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (!has_dim(x.dims, dim)) continue;
    const u64 bytes = footprint(spec, x).bytes;
    if (bytes > 8 * t.at(Level::kL2).bytes) return 1;
    most = std::min(most, t.at(Level::kL1).bytes / 4 * spec.size[dim] / bytes);
  }
  return static_cast<u32>(std::max<u64>(1, most));
}

/// Contractions of so many dimensions, such as convolutions, have fewer tiles of each; reductions,
/// such as pools, have so from one less.
constexpr int kManyDims = 5;

/// Of dimensions longer than kLong, cuts that leave something over are made by few sizes
/// (Restriction::kFewRemainders). Tiles for caches begin at kLeastForCache; of register tiles those
/// are left out which few programs have. Sizes of the ladder from kWhole on are the user's, and no
/// tiles.
constexpr u32 kLong = 64, kLeastForCache = 24, kWhole = 512;
constexpr u32 kRareRows = 1u << 7 | 1u << 9 | 1u << 11 | 1u << 13 | 1u << 14 | 1u << 15;

bool has_window(const Spec& spec, u8 dim) { return has_dim(window_dims(spec), dim); }

/// Calls f for each other dimension that the same operands have.
template <class F>
bool any_of_kind(const Spec& spec, u8 dim, F f) {
  for (u8 d = 0; d < spec.rank; d++) {
    bool same = d != dim;
    for (int o = 0; o < spec.operand_count && same; o++)
      same = has_dim(spec.operand[o].dims, d) == has_dim(spec.operand[o].dims, dim);
    if (same && f(d)) return true;
  }
  return false;
}
/// Do the same operands have another dimension as well?
bool is_one_of_several(const Spec& spec, u8 dim) {
  return any_of_kind(spec, dim, [](u8) { return true; });
}

bool is_in_l1(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level > Level::kL1) return false;
  return true;
}

bool has_narrow_factor(const Spec& spec) {
  for (Ref in : contraction_of(spec)->in)
    if (is_operand(in) && size_of(spec.operand[in].dtype) < 4) return true;
  return false;
}

/// Of rows that registers have room for, and a factor in vectors that is larger than L1 and may
/// stream from L2: whoever reads it twice waits for it as long, and has fewer rows to compute
/// meanwhile. Not where a line is two vectors, of which as many registers have fewer rows: two
/// passes of 6x2 vectors were 1.0 to 1.4 times as fast as one of 12x1 (AVX2, Zen 4).
bool passes_once(const Spec& spec, u8 dim, const Target& t) {
  constexpr u32 kRegistersBesides = 4;
  if (lines_are_pairs(t) || !contraction_of(spec) || !is_chain(spec) ||
      has_dim(spec.reduced(), dim) || dim == unit_dim(spec.out()))
    return false;
  if (spec.size[dim] + kRegistersBesides > t.vector_registers) return false;
  for (Ref in : factors_of(spec)) {
    if (!is_operand(in)) continue;
    const Operand& x = spec.operand[in];
    const u8 v = unit_dim(spec.out());
    if (may_stream(x, t) && x.level >= Level::kL2 && !has_dim(x.dims, dim) && v != kNoDim &&
        (unit_dim(x) == v || (x.layout.packed() && has_dim(x.dims, v))) && fills_l1(spec, x, t) &&
        volume(spec) / elements(spec, x) == spec.size[dim])
      return true;
  }
  return false;
}

/// The tiles of one dimension.
class Tiles {
 public:
  Tiles(const Spec& spec, ActionKind kind, u8 dim, const ActionContext& context)
      : spec_(spec), context_(context), kind_(kind), dim_(dim) {
    const bool parallel = kind == ActionKind::kParallelTile;
    along_ = dim == unit_dim(spec.out());
    if (parallel && (spec.serial || context.target->processors <= 1)) return;
    if (dim >= spec.rank || has_free_operand(spec) || !may_loop(spec, dim)) return;
    // Before its borders are there: only what makes parts of the operand that nothing else reads.
    if (const int o = bordered_operand(spec);
        o >= 0 &&
        (!has_dim(spec.operand[o].dims & parallel_dims(spec), dim) || waits_for_borders(dim)))
      return;
    if (!is_chain(spec) && context.restricts(Restriction::kStageTiles)) {
      if (!has_dim(inner_dims(spec), dim)) return;
      few_only_ = true;
    }
    if (combines(spec) && context.restricts(Restriction::kFewTiles)) {
      const bool product = contraction_of(spec);
      if (spec.rank >= (product ? kManyDims : kManyDims - 1)) few_only_ = true;
      if (product && !along_ && is_one_of_several(spec, dim)) few_only_ = true;
      if (product && few_only_ && is_chain(spec) && !both_have(spec, unit_dim(spec.out())))
        windows_ = window_dims(spec) != 0;
    }
    if (parallel && !has_dim(parallel_dims(spec), dim)) return;
    if (!parallel && bands_.count == 0 && context.restricts(Restriction::kOnePass) &&
        passes_once(spec, dim, *context.target))
      return;
    const bool batch = !parallel && is_batch(spec, dim) && context.restricts(Restriction::kBatch);
    const bool one_only = register_operand(spec) >= 0 || batch;
    end_ = spec.size[dim];
    if (one_only) end_ = std::min(batch ? most_of_batch(spec, dim, *context.target) + 1 : 2u, end_);
    few_remainders_ = !one_only && !parallel && !few_only_ && is_chain(spec) &&
                      contraction_of(spec) && context.restricts(Restriction::kFewRemainders);
    keeps_rows_ = !one_only && !parallel && dim != unit_dim(spec.out()) &&
                  !has_dim(spec.reduced(), dim) && !both_have(spec, dim) &&
                  NarrowInRows(spec, context).keeps_rows();
    if (few_remainders_) {
      reduced_ = has_dim(spec.reduced(), dim);
      in_l1_ = reduced_ && is_in_l1(spec);
      narrow_ = !reduced_ && has_narrow_factor(spec);
    }
    whole_tiles_ = !one_only && !parallel && is_chain(spec) &&
                   context.restricts(Restriction::kWholeTiles) &&
                   takes_tiles(spec, *context.target) && is_worth_tiles(spec);
    chain_only_ = !one_only && context.restricts(Restriction::kChainTiles);
    if (chain_only_)
      chain_.emplace(spec, kind, dim, context);
    else if (few_remainders_)
      chain_.emplace(of_narrower());
    blocks_only_ = !parallel && !combines(spec) && context.restricts(Restriction::kCopyTiles);
  }

  void list(ActionList& out) const {
    for (u32 size : kLadder) {
      if (size >= end_) break;
      if (serves(size)) out.add(action(size));
    }
  }
  bool has(const Action& a) const {
    return a == action(a.size) && a.size < end_ && on_ladder(a.size) && serves(a.size);
  }

 private:
  Action action(u32 size) const { return {kind_, dim_, {}, {}, size}; }

  /// Of products, parts of what has windows would each be divided where they meet borders, unless
  /// they are bands. Pools gain as much as they take longer to search: rows of places are near when
  /// borders of columns are divided.
  bool waits_for_borders(u8 dim) {
    return contraction_of(spec_) && has_window(spec_, dim) && border_cut(spec_) &&
           context_.restricts(Restriction::kFewTiles) && !is_in_bands(dim);
  }
  /// Is the dimension one of places that are computed in bands?
  bool is_in_bands(u8 dim) {
    if (const Bands bands = bands_of(spec_, context_); bands.dim == dim) bands_ = bands;
    return bands_.count > 0;
  }
  /// Some microkernel or cache: without a contraction these are blocks of transposes, panels, and
  /// slices.
  bool serves(u32 size) const {
    if (bands_.count > 0) return bands_.has(size) && may_tile(spec_, dim_, size);
    if (keeps_rows_ && !is_panel(size)) return false;
    if (whole_tiles_ && !fills_tiles(size) && !is_panel(size)) return false;
    if (windows_ && !serves_windows(size)) return false;
    if (few_only_ && !is_near_divisor(size)) return false;
    if (blocks_only_ && size != 1 && size % 8 != 0 && !is_panel(size)) return false;
    if (chain_only_ && !chain_->has(size) && !is_panel(size)) return false;
    if (few_remainders_ && !leaves_few_sizes(size) && !is_panel(size) && !is_in_chain(size))
      return false;
    return may_tile(spec_, dim_, size);
  }
  /// Are there results for half a row of tile registers and for a quarter of their rows, and
  /// products for a step?
  bool is_worth_tiles(const Spec& spec) const {
    const TileUnit& unit = context_.target->tiles;
    const u8 v = unit_dim(spec.out());
    const u64 bytes = size_of(spec.operand[factors_of(spec)[0]].dtype);
    if (v == kNoDim || spec.size[v] < unit.rows / 2) return false;
    const DimMask results = static_cast<DimMask>(spec.all_dims() & ~spec.reduced());
    return points_of(spec, results) / spec.size[v] >= unit.rows / 4 &&
           points_of(spec, spec.reduced()) * bytes >= unit.row_bytes;
  }
  /// Whole tile registers, or half of one where a little would be left over; for caches, powers of
  /// two where something is; slices of what has many dimensions.
  bool fills_tiles(u32 size) const {
    constexpr u32 kMostInRegisters = 64, kLeastSteps = 4;
    const TileUnit& unit = context_.target->tiles;
    if (size == 1) return spec_.rank > 3;
    const bool even = spec_.size[dim_] % size == 0, power = std::has_single_bit(size);
    if (!has_dim(spec_.reduced(), dim_))
      return size <= kMostInRegisters ? size % (unit.rows / 2) == 0
                                      : size % unit.rows == 0 && (even || power);
    const u32 bytes = size * size_of(spec_.operand[factors_of(spec_)[0]].dtype);
    return bytes % unit.row_bytes == 0 &&
           (even || (power && bytes >= kLeastSteps * unit.row_bytes));
  }
  /// What is left over is cut again, in each of three dimensions, at each level. So sizes of the
  /// ladder, which are tiles, are cut for caches into equal tiles; other sizes, which are the
  /// user's or were left over, by all sizes, but not into one tile and less than a third of one;
  /// rows by powers of two, or into one tile and less than half of one. Rows that meet a factor of
  /// a narrow type are cut into register tiles when they are as wide as such a tile, and not
  /// before.
  bool leaves_few_sizes(u32 size) const {
    const u32 whole = spec_.size[dim_];
    if (reduced_ && size > 1 && (in_l1_ || (size < kLong && whole > kLong))) return false;
    if (whole % size == 0) return true;
    if (narrow_ && size < kLeastForCache && !is_register_tile(size)) return false;
    if (whole <= kLong) return true;
    if (size < kLeastForCache) return size > 16 || (kRareRows >> size & 1) == 0;
    if (on_ladder(whole)) return whole >= kWhole;
    if (4 * u64{size} > 3 * u64{whole}) return false;
    const bool most = 3 * u64{size} > 2 * u64{whole};
    return most || reduced_ || dim_ == unit_dim(spec_.out()) || std::has_single_bit(size);
  }
  /// May so many rows, as wide as they are, be a tile of registers?
  bool is_register_tile(u32 size) const {
    const u8 v = unit_dim(spec_.out());
    const u32 lanes = computed_lanes(spec_, *context_.target);
    if (dim_ == v) return true;
    if (size == context_.target->tiles.rows && takes_tiles(spec_, *context_.target)) return true;
    const u64 vecs = v == kNoDim ? 1 : ceil_div(spec_.size[v], lanes);
    return size * vecs <= context_.target->vector_registers;
  }
  /// Is it one of a narrower space? Those are parts of this one.
  bool is_in_chain(u32 size) const {
    return chain_only_ ? of_narrower().has(size) : chain_->has(size);
  }
  ChainTiles of_narrower() const {
    ActionContext narrower = context_;
    narrower.breadth = Breadth::kMiddle;
    return {spec_, kind_, dim_, narrower, true};
  }
  /// Of convolutions: terms of windows, and images of a batch, one by one; and rows of places
  /// before what is within rows, until few are left.
  bool serves_windows(u32 size) const {
    constexpr u32 kFewRows = 8, kMostTerms = 16;  // of a window, and no channels beside them
    if (has_dim(spec_.reduced(), dim_))
      return size == 1 || !has_window(spec_, dim_) || spec_.size[dim_] > kMostTerms;
    if (both_have(spec_, dim_) || size == 1) return true;
    if (!along_ && !has_window(spec_, dim_) && is_one_of_several(spec_, dim_)) return false;
    return !any_of_kind(spec_, dim_, [&](u8 d) { return d < dim_ && spec_.size[d] > kFewRows; });
  }
  /// A divisor; or, where there is none within a factor of two, a power of two. What is left over
  /// breeds other leftovers, stage by stage.
  bool is_near_divisor(u32 size) const {
    const u32 whole = spec_.size[dim_];
    if (whole <= 4) return size == 1;
    if (whole % size == 0) return true;
    if (!std::has_single_bit(size)) return false;
    for (u32 other = size / 2 + 1; other < 2 * size; other++)
      if (whole % other == 0 && (on_ladder(other) || (windows_ && !along_ && other < whole)))
        return false;
    return true;
  }
  bool is_panel(u32 size) const {
    for (int o = 0; o < spec_.operand_count; o++) {
      const u32 block = spec_.operand[o].layout.block_of(dim_);
      if (block > 1 && block == size) return true;
    }
    return false;
  }

  const Spec& spec_;
  const ActionContext& context_;
  ActionKind kind_;
  u8 dim_;
  u32 end_ = 0;  // sizes are below
  Bands bands_;  // if any, the only ones
  bool blocks_only_ = false;
  bool few_only_ = false;
  bool windows_ = false;  // of a product with few tiles
  bool along_ = false;    // vectors run along the dimension
  bool chain_only_ = false;
  bool few_remainders_ = false;
  std::optional<ChainTiles> chain_;       // of the first, else of the second
  bool reduced_ = false, in_l1_ = false;  // the dimension; every operand
  bool narrow_ = false;                   // a factor
  bool whole_tiles_ = false;
  bool keeps_rows_ = false;
};

template <ActionKind kKind>
void list_tiles(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  for (u8 d = 0; d < spec.rank; d++) Tiles(spec, kKind, d, context).list(out);
}

/// Without listing all of them: a table's programs are loops, for the most part.
template <ActionKind kKind>
bool lists_tile(const Spec& spec, const Limits&, const Action& a, const ActionContext& context) {
  return Tiles(spec, kKind, a.arg, context).has(a);
}

void derive_trips(const Spec& spec, const Limits& limits, const Action& a, Derivation& d) {
  u32 size = spec.size[a.arg], rest = size % a.size;
  Child& body = d.child[d.count++];
  tile(spec, a.arg, a.size, body.spec, &body.binding);
  body.limits = limits;
  body.times = size / a.size;
  if (!rest) return;
  Child& tail = d.child[d.count++];
  tile(spec, a.arg, rest, tail.spec, &tail.binding);
  tail.limits = limits;
  tail.times = 1;
}

/// Results that L2 keeps between the trips of a sum: what a trip reads from memory has replaced
/// them when the next one adds to them. (64x768x3072 in bf16, AMX: 1.25 times as long as in one
/// trip.)
i64 replaced_units(const Spec& spec, u8 dim, const Derivation& d, const Target& t) {
  Operand out = spec.out();
  if (!has_dim(spec.reduced(), dim) || out.level != Level::kL2) return 0;
  u64 bytes = footprint(spec, out).bytes;
  for (int o = 0; o < spec.operand_count; o++)
    if (const Spec& trip = d.child[0].spec; trip.operand[o].level == Level::kMemory)
      bytes = saturating_add(bytes, footprint(trip, trip.operand[o]).bytes);
  if (bytes <= t.at(Level::kL2).bytes) return 0;
  out.level = Level::kMemory;
  const u64 times = d.child[0].times + (d.count > 1 ? 1 : 0) - 1;
  return saturating_mul(times, step_units(spec, out, t));
}

/// What tiles have in common with the tiles before: less than they cost alone.
i64 overlapping_units(const Spec& spec, u8 dim, const Derivation& d, const Target& t) {
  if (!spec.window[0].used()) return 0;
  const LoopTile tiles[] = {{d.child[0].spec, d.child[0].binding, d.child[0].times},
                            {d.child[1].spec, d.child[1].binding, d.child[1].times}};
  return overlap_units(spec, dim, {tiles, static_cast<size_t>(d.count)}, t).all();
}

bool derive_serial(const Spec& spec, const Limits& limits, const Action& a, const ActionContext& c,
                   Derivation& d) {
  derive_trips(spec, limits, a, d);
  d.own = saturating_add(saturating_mul(d.child[0].times, c.target->prices.loop),
                         replaced_units(spec, a.arg, d, *c.target)) -
          overlapping_units(spec, a.arg, d, *c.target);
  return true;
}

bool derive_parallel(const Spec& spec, const Limits& limits, const Action& a,
                     const ActionContext& c, Derivation& d) {
  derive_trips(spec, limits, a, d);
  for (int i = 0; i < d.count; i++) d.child[i].spec.serial = true;
  d.child[0].times = ceil_div(d.child[0].times, c.target->processors);
  d.own = saturating_add(c.target->parallel_units,
                         saturating_mul(d.child[0].times, c.target->prices.loop));
  return true;
}

decltype(ImplNode::kind) loop_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Loop{a.arg, a.size, spec.size[a.arg] / a.size, a.kind == ActionKind::kParallelTile};
}

}  // namespace

extern const Rewrite kTileRewrite = {
    ActionKind::kTile, list_tiles<ActionKind::kTile>, derive_serial,
    loop_node,         lists_tile<ActionKind::kTile>, kBorders | kDiagonal | kGathers};
extern const Rewrite kParallelTileRewrite = {ActionKind::kParallelTile,
                                             list_tiles<ActionKind::kParallelTile>,
                                             derive_parallel,
                                             loop_node,
                                             lists_tile<ActionKind::kParallelTile>,
                                             kBorders | kDiagonal | kGathers};

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "actions/narrow.hh"

#include <algorithm>
#include <bit>

#include "actions/placement.hh"
#include "cost/reduce.hh"
#include "cost/tiles.hh"
#include "spec/ladder.hh"

namespace morello {
namespace {

/// What differs between the spaces.
struct Widths {
  u32 blocks = ~0u;                         // tiles for a cache: bit i is 48 << i
  u32 reduced = ~0u;                        // tiles along reduced dimensions, powers of two
  u32 tile_bytes = ~0u;                     // the same of what tile registers take
  u32 least_vectors = 1, most_vectors = 4;  // of a register tile's row
  bool batches_first = false;
  bool graphs = false;                 // have few buffers and orders of loops
  bool six_vectors = false;            // rows of so many as well, once nothing is in memory
  u32 part_of_l2 = 0, part_of_l1 = 0;  // what takes no more than 1 / this comes there first
  // Tiles along reduced dimensions where panels stream from L2, for rows that are cut before
  // vectors, and not for caches; 0: as elsewhere.
  u32 streamed = 0;
};
constexpr u32 kEachSecond = 0x55555555;  // 48, 192, 768 ..
constexpr Widths kWidths[] = {
    {},
    {~0u, 128 | 256 | 512, 256 | 512 | 1024, 1, 4, false, false, false, 0, 0, 128 | 256 | 512},
    {kEachSecond, 128 | 256, 256 | 512, 2, 3, true, false, false, 0, 0, 512},
    {1 | 4, 64 | 128, 256 | 512, 2, 4, true, true, true, 2, 0, 256 | 512},
    {4, 128, 512, 2, 3, true, true, false, 2, 3, 512},
};
static_assert(std::size(kWidths) == kBreadths);

const Widths& widths(const ActionContext& context) {
  return kWidths[static_cast<size_t>(context.breadth)];
}

/// Divisible by the rows and by the vectors of usual register tiles.
constexpr u32 kLeastBlock = 48;
/// Of tile registers, beside one another: what is left holds a row of one factor, and the other.
constexpr u32 kTileColumns = kMostTiles / 2;
/// Along other dimensions than the vectors', of a tile in L1: what a register tile has, or what
/// shares lines.
constexpr u32 kMostRows = 14, kMostInLines = 64, kMostRowVectors = 6;
constexpr u64 kSmallOutputBytes = 8192;
/// Uses of each element from which bringing it to L1 costs little.
constexpr u64 kOftenUsed = 32;
/// Products per result, up to which results and their way to memory are what counts.
constexpr u64 kShallow = 32;

bool is_shared(const Spec& spec, u8 dim) {
  return both_have(spec, dim) && has_dim(spec.out().dims, dim);
}

bool has_few_of_graphs(const ActionContext& context) {
  return widths(context).graphs && context.restricts(Restriction::kGraphs);
}

/// Rows of results besides their vectors.
u64 rows_of(const Spec& spec) {
  DimMask rows = 0;
  for (u8 d = 0; d < spec.rank; d++)
    if (d != unit_dim(spec.out()) && !has_dim(spec.reduced(), d) && !is_shared(spec, d))
      rows = static_cast<DimMask>(rows | 1u << d);
  return points_of(spec, rows);
}

bool nothing_in_memory(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kMemory) return false;
  return true;
}

/// Of a matrix that is multiplied by a vector only itself counts: the others come there before all
/// else (vector_nearer()). Nor do sums count for tiles along `reduced` dimensions, which add to
/// them.
bool is_in_l1(const Spec& spec, bool reduced) {
  if (contraction_of(spec) && points_of(spec, spec.reduced()) > kShallow) {
    auto [vector, matrix] = factors_of(spec);
    if (dims_of(spec, vector) == spec.all_dims()) std::swap(vector, matrix);
    if (is_operand(matrix) && dims_of(spec, matrix) == spec.all_dims() &&
        dims_of(spec, vector) != spec.all_dims())
      return spec.operand[matrix].level <= Level::kL1;
  }
  for (int o = 0; o < spec.operand_count - (reduced ? 1 : 0); o++)
    if (spec.operand[o].level <= Level::kL1 && spec.operand[o].dims != 0) return true;
  return false;
}

/// Uses of a vector for which a panel of it is worth packing.
constexpr u64 kManyRows = 96;

/// May vectors of a factor stream from L2? Not of narrow elements, whose steps along reduced
/// dimensions are several terms and other depths: with these tiles, their programs cost more.
bool has_stream(const Spec& spec, const Target& target) {
  const u8 v = unit_dim(spec.out());
  if (!contraction_of(spec) || v == kNoDim) return false;
  const bool deep = points_of(spec, spec.reduced()) >= least_streamed_depth(target);
  for (Ref in : factors_of(spec)) {
    if (!is_operand(in)) continue;
    const Operand& x = spec.operand[in];
    if (may_stream(x, target) && x.level >= Level::kL2 && size_of(x.dtype) == 4 &&
        has_dim(x.dims, v) && ((unit_dim(x) == v && deep) || x.layout.block_of(v) > 1))
      return true;
  }
  return false;
}

/// Along reduced dimensions. Where a line is two vectors, panels are twice as deep, and what fits
/// L1 is nearly as good.
u32 streamed_tiles(const Widths& w, const Target& target) {
  const u32 vectors = kLineBytes / target.vector_bytes;
  return vectors == 1 ? w.streamed : w.streamed * vectors | w.reduced;
}

/// Columns of the panels that stream from L2 for these rows; or 0.
u32 streamed_panel(const Spec& spec, u8 rows) {
  const u8 v = unit_dim(spec.out());
  for (Ref in : factors_of(spec)) {
    if (!is_operand(in)) continue;
    const Operand& x = spec.operand[in];
    const u32 panel = has_dim(x.dims, v) ? x.layout.block_of(v) : 1;
    if (x.level == Level::kL2 && !has_dim(x.dims, rows) && panel > 1) return panel;
  }
  return 0;
}

/// Bytes of L2 that are left for an operand beside all others, which come before it.
u64 room_beside(const Spec& spec, int operand, const Target& target) {
  Limits limits = limits_of(target);
  for (int o = 0; o < spec.operand_count; o++)
    if (o != operand &&
        !subtract(limits, Level::kL2, resident_lines(spec, spec.operand[o], Level::kL2)))
      return 0;
  return lines_of_code(limits.at(Level::kL2)) * kLineBytes;
}

/// Bytes of rows that prefetchers follow although they are parts of longer ones.
constexpr u64 kLongRow = 8192;

/// A matrix in memory, by rows, that is multiplied by a vector whose results are as long as these.
struct MatrixOfRows {
  MatrixOfRows(const Spec& spec, const Target& target) {
    const u8 v = unit_dim(spec.out());
    if (!contraction_of(spec) || v == kNoDim || spec.rank != 2) return;
    for (Ref in : factors_of(spec)) {
      if (!is_operand(in) || spec.operand[in].dims != spec.all_dims()) continue;
      const Operand& x = spec.operand[in];
      if (x.level != Level::kMemory || unit_dim(x) != v) return;
      const u64 row = u64{spec.size[v]} * size_of(x.dtype);
      if (x.contig < 2 && row < kLongRow) return;
      const u64 followed = static_cast<u64>(target.at(Level::kMemory).streams);
      const u64 held = std::min(target.at(Level::kL2).bytes / 2, room_beside(spec, in, target));
      const auto above =
          std::upper_bound(kLadder.begin(), kLadder.end(), std::min(followed, held / row));
      if (above != kLadder.begin()) rows = *(above - 1);
      if (followed * row > held)
        columns = static_cast<u32>(
            std::bit_floor(target.at(Level::kL1).bytes / 2 / size_of(spec.out().dtype)));
      return;
    }
  }

  /// So many whole rows as prefetchers follow, and as half of L2 holds beside the vectors, come as
  /// one run. 0: it is no such matrix, or any number of rows is followed.
  u32 rows = 0;
  /// Where L2 holds fewer than are followed: so many columns as have their sums in half of L1.
  u32 columns = 0;
};

/// Along a reduced dimension without windows of a product that has some: as much as has 128
/// products of a result with all terms of windows, whose loops are inside then, so that sums stay
/// in registers; what divides, if there is such. 0: none, or too little is left of it.
u32 tile_beside_windows(const Spec& spec, u8 dim) {
  constexpr u32 kProducts = 128;
  if (!contraction_of(spec) || !is_chain(spec)) return 0;
  u32 terms = 1, lane = 1, tile = 0;
  for (const Window& w : spec.window) {
    if (!w.used()) continue;
    for (u8 d : {w.outer, w.inner}) {
      if (d == dim) return 0;
      if (has_dim(spec.reduced(), d)) terms *= spec.size[d];
    }
  }
  if (terms == 1) return 0;
  for (Ref in : factors_of(spec))  // which share lanes of 4 bytes, if they are narrow
    if (is_operand(in)) lane = std::max(lane, kElementBytes / size_of(spec.operand[in].dtype));
  const u32 most = std::max(kProducts / terms / lane, 1u) * lane;
  for (u32 t = lane; t <= most; t += lane)
    if (spec.size[dim] % t == 0) tile = t;
  if (8 * tile < most) tile = std::bit_floor(most);
  return 2 * lane * tile <= spec.size[dim] ? tile : 0;
}

}  // namespace

ChainTiles::ChainTiles(const Spec& spec, ActionKind kind, u8 dim, const ActionContext& context,
                       bool of_whole)
    : all_(!context.restricts(Restriction::kChainTiles)),
      parallel_(kind == ActionKind::kParallelTile) {
  if (all_) return;
  whole_ = spec.size[dim];
  processors_ = context.target->processors;
  lanes_ = computed_lanes(spec, *context.target);
  combines_ = combines(spec);
  if (!combines_) return;
  const DimMask reduced = spec.reduced();
  in_l1_ = is_in_l1(spec, !of_whole && has_dim(reduced, dim));
  const Widths& w = widths(context);
  const bool streams = !of_whole && w.streamed != 0 && has_stream(spec, *context.target);
  const bool packs = streams && rows_of(spec) >= kManyRows;
  reduced_ = has_dim(reduced, dim);
  if (takes_tiles(spec, *context.target)) tile_rows_ = context.target->tiles.rows;
  if (reduced_) {
    // What is computed of rows is added to sums row by row.
    by_ones_ = std::popcount(reduced) > 1 || !is_chain(spec);
    if (context.has_few()) window_tile_ = tile_beside_windows(spec, dim);
    reduced_tiles_ = w.reduced;
    if (packs) reduced_tiles_ = streamed_tiles(w, *context.target);
    if (!of_whole) matrix_rows_ = MatrixOfRows(spec, *context.target).rows;
    if (tile_rows_ != 0)
      reduced_tiles_ = w.tile_bytes / size_of(spec.operand[factors_of(spec)[0]].dtype);
    return;
  }
  longest_ = true;
  for (u8 d = 0; d < spec.rank; d++)
    if (!has_dim(reduced, d) && spec.size[d] > whole_) longest_ = false;
  blocks_ = w.blocks;
  const u8 v = unit_dim(spec.out());
  along_vectors_ = dim == v;
  if (along_vectors_) {
    rows_ = rows_of(spec);
    if (packs) longest_ = true;
    if (!of_whole) matrix_columns_ = MatrixOfRows(spec, *context.target).columns;
    least_vectors_ = w.least_vectors;
    most_vectors_ = w.most_vectors;
    keeps_lanes_ = has_few_in_lanes(spec, context);
    six_vectors_ = w.six_vectors && nothing_in_memory(spec);
  } else {
    if (packs && !lines_are_pairs(*context.target)) longest_ = false;
    vectors_ = v == kNoDim ? 1 : static_cast<u32>(ceil_div(spec.size[v], lanes_));
    if (const u32 panel = streams ? streamed_panel(spec, dim) : 0; panel != 0) {
      vectors_ = static_cast<u32>(ceil_div(panel, lanes_));
      streams_ = true;
    }
    most_rows_ = (context.target->vector_registers - 2) / vectors_;
    shallow_ = points_of(spec, reduced) <= kShallow;
  }
}

bool ChainTiles::has(u32 size) const {
  if (all_ || (parallel_ && is_share(size))) return true;
  if (!combines_) return size == 1 || size == 2 * lanes_ || size == 64 || size == 512;
  if (size >= kLeastBlock && in_l1_) return false;
  if (reduced_) {
    if (size == 1) return by_ones_;
    if (size == window_tile_) return true;
    // First by what leaves few sizes over, as in the whole space.
    constexpr u32 kFirst = 64;
    if (matrix_rows_ != 0 && matrix_rows_ < kFirst)
      if (size == (whole_ > kFirst ? kFirst : matrix_rows_)) return true;
    return std::has_single_bit(size) && (reduced_tiles_ & size) != 0;
  }
  if (size == 1) return !keeps_lanes_;
  if (tile_rows_ != 0 && (size == tile_rows_ || size == 2 * tile_rows_ ||
                          (along_vectors_ && size == kTileColumns * tile_rows_)))
    return true;
  if (along_vectors_) {
    if (is_vector_tile(size) || (size == matrix_columns_ && !in_l1_)) return true;
  } else if (size <= 16) {
    return is_row_tile(size);
  }
  return is_block(size);
}

bool ChainTiles::is_row_tile(u32 size) const {
  // Rows are cut after vectors, so that there is one order, unless all of a row is written at once.
  if (vectors_ > kMostRowVectors) return shallow_ && (size == 4 || size == 6);
  // As many as fit, or what divides the sizes of blocks.
  if (streams_) return size + 1 == most_rows_ || size + 3 == most_rows_;
  return size == most_rows_ || size + 1 == most_rows_ || 2 * size == most_rows_;
}

bool ChainTiles::is_vector_tile(u32 size) const {
  const u32 vectors = size / lanes_;
  if (rows_ == 1 && size == 12) return true;  // results of dot products
  if (size % lanes_ != 0) return false;
  if (rows_ == 1 && (vectors == 8 || vectors == 12)) return true;
  if (rows_ == 2 && vectors == 6) return true;
  if (rows_ <= 3 && vectors == 4) return true;
  if (vectors == 6 && six_vectors_) return true;
  return vectors >= least_vectors_ && vectors <= most_vectors_;
}

/// For a cache: 48 times a power of two, of the longest sides.
bool ChainTiles::is_block(u32 size) const {
  if (!longest_ || size % kLeastBlock != 0 || !std::has_single_bit(size / kLeastBlock))
    return false;
  return (blocks_ >> std::countr_zero(size / kLeastBlock) & 1) != 0;
}

/// The largest that gives all processors something to do.
bool ChainTiles::is_share(u32 size) const {
  const u64 share = ceil_div(whole_, processors_);
  return size <= share && share < next_on_ladder(size);
}

bool is_usual_panel(u32 vectors, const ActionContext& context) {
  return vectors == 2 || !context.restricts(Restriction::kFewLayouts);
}

bool comes_near(const Spec& spec, int operand, const ActionContext& context) {
  if (!context.restricts(Restriction::kNearLast) || !combines(spec)) return true;
  const Operand& x = spec.operand[operand];
  if (points_of(spec, spec.reduced()) <= kShallow) return true;
  if (operand == spec.out_index() && footprint(spec, x).bytes <= kSmallOutputBytes) return true;
  const u8 v = unit_dim(spec.out());
  const u32 row = kMostRowVectors * computed_lanes(spec, *context.target);
  for (u8 d = 0; d < spec.rank; d++) {
    if (!has_dim(x.dims, d) || has_dim(spec.reduced(), d)) continue;
    if (spec.size[d] > (d == v ? row : d == unit_dim(x) ? kMostInLines : kMostRows)) return false;
  }
  return true;
}

bool stays_away(const Spec& spec, int operand, const ActionContext& context) {
  if (!context.restricts(Restriction::kStepsFirst)) return false;
  if (!contraction_of(spec) || !is_chain(spec) || operand == spec.out_index()) return false;
  const auto factors = factors_of(spec);
  return operand != factors[0] && operand != factors[1] &&
         spec.operand[operand].dims == spec.out().dims;
}

bool has_few_in_lanes(const Spec& spec, const ActionContext& context) {
  const u8 v = unit_dim(spec.out());
  if (!widths(context).graphs || !context.restricts(Restriction::kFewLayouts) ||
      !contraction_of(spec) || v == kNoDim || !is_shared(spec, v) ||
      points_of(spec, spec.reduced()) > kShallow)
    return false;
  for (Ref in : factors_of(spec))
    if (is_operand(in) && unit_dim(spec.operand[in]) != v) return false;
  return true;
}

bool keeps_near(const ActionContext& context) { return has_few_of_graphs(context); }

bool needs_no_buffer(const Spec& spec, const ActionContext& context) {
  return context.restricts(Restriction::kOneBuffer) && unit_dim(spec.out()) != kNoDim;
}

namespace {

/// A small operand of a step, or none.
std::optional<Action> step_nearer(const Spec& spec, const ActionContext& context) {
  if (is_single(spec) || !context.restricts(Restriction::kStepsFirst)) return std::nullopt;
  const Stage& head = head_of(spec);
  for (u8 o = 0; o < spec.out_index(); o++) {
    const Operand& x = spec.operand[o];
    if (o == head.in[0] || o == head.in[1] || x.level <= Level::kL1) continue;
    const u64 most = lines_of_code(limits_of(*context.target).at(Level::kL1)) / 8;
    if (std::max(resident_lines(spec, x, Level::kL1), resident_lines(spec, x, Level::kL2)) <= most)
      return Action{ActionKind::kView, o, {}, {}, 0};
  }
  return std::nullopt;
}

/// Where each element of one factor is used once, as of a matrix by which a vector is multiplied:
/// the other factor, or the sums, if they are small; or none.
std::optional<Action> vector_nearer(const Spec& spec, const ActionContext& context) {
  if (!context.restricts(Restriction::kVectorsFirst) || !contraction_of(spec)) return std::nullopt;
  auto factors = factors_of(spec);
  if (dims_of(spec, factors[0]) == spec.all_dims()) std::swap(factors[0], factors[1]);
  const auto [vector, matrix] = factors;
  if (!is_operand(vector) || !is_operand(matrix) || dims_of(spec, matrix) != spec.all_dims())
    return std::nullopt;
  const u64 most = lines_of_code(limits_of(*context.target).at(Level::kL1)) / 2;
  auto is_small = [&](const Operand& x) {
    return x.level > Level::kL1 && unit_dim(x) != kNoDim && !x.layout.packed() && !x.windows &&
           kOftenUsed * elements(spec, x) <= volume(spec) &&
           resident_lines(spec, x, Level::kL1) <= most &&
           resident_lines(spec, x, Level::kL2) <= most;
  };
  const auto nearer = [&](ActionKind kind, Ref o) -> std::optional<Action> {
    if (context.disabled >> static_cast<int>(kind) & 1) return std::nullopt;
    return Action{kind, o, kind == ActionKind::kWiden ? Level::kL1 : Level{}, {}, 0};
  };
  // Broadcast as it is, an element would be widened each time.
  Operand x = spec.operand[vector];
  const bool along = unit_dim(x) == unit_dim(spec.operand[matrix]);
  const bool widens = !along && is_multiplied_wide(spec, vector, *context.target);
  if (widens) x.dtype = computed_dtype(spec);  // there is to be room for it, and for sums
  if (is_small(x)) return nearer(widens ? ActionKind::kWiden : ActionKind::kView, vector);
  if (is_single(spec) && spec.out().dtype == computed_dtype(spec) && is_small(spec.out()))
    return nearer(ActionKind::kView, static_cast<Ref>(spec.out_index()));
  return std::nullopt;
}

/// A batch whose elements share no lines, or none.
std::optional<Action> batch_loop(const Spec& spec, const ActionContext& context) {
  if (!widths(context).batches_first || !context.restricts(Restriction::kChainTiles))
    return std::nullopt;
  for (u8 d = 0; d < spec.rank; d++) {
    if (spec.size[d] == 1 || !is_shared(spec, d)) continue;
    bool shares = false;
    for (int o = 0; o < spec.operand_count; o++) shares |= shares_lines(spec, spec.operand[o], d);
    if (!shares && has_dim(parallel_dims(spec), d) && may_tile(spec, d, 1))
      return Action{ActionKind::kTile, d, {}, {}, 1};
  }
  return std::nullopt;
}

/// Of a graph that multiplies: a dimension that all operands have, and share no lines of, or none.
std::optional<Action> graph_loop(const Spec& spec, const ActionContext& context) {
  if (!has_few_of_graphs(context)) return std::nullopt;
  bool multiplies = false;
  for (int s = 0; s < spec.stage_count; s++)
    multiplies |= spec.stage[s].op == Op::kMulAdd && spec.stage[s].in[0] != spec.stage[s].in[1];
  if (!multiplies) return std::nullopt;
  DimMask all = static_cast<DimMask>(inner_dims(spec) & parallel_dims(spec));
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    all = static_cast<DimMask>(all & x.dims);
    if (unit_dim(x) != kNoDim) all = static_cast<DimMask>(all & ~(1u << unit_dim(x)));
  }
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(all, d) && spec.size[d] > 1 && may_tile(spec, d, 1))
      return Action{ActionKind::kTile, d, {}, {}, 1};
  return std::nullopt;
}

}  // namespace

void keep_first_move(const Spec& spec, const ActionContext& context, ActionList& list) {
  const Widths& w = widths(context);
  if (w.part_of_l2 == 0 || !context.restricts(Restriction::kFirstMoves)) return;
  // Loops on several threads come before anything that stays on one core.
  if (!spec.serial && context.target->processors > 1) return;
  const auto is_first = [&](const Action& a) {
    if (a.kind != ActionKind::kView) return false;
    const Operand& x = spec.operand[a.arg];
    const Level to = x.level == Level::kMemory ? Level::kL2 : Level::kL1;
    if (to == Level::kL1 && a.arg != spec.out_index() && is_apart_outside_l1(spec)) return false;
    const u32 part = to == Level::kL2 ? w.part_of_l2 : w.part_of_l1;
    const u64 lines = lines_of_code(limits_of(*context.target).at(to));
    // By its lines: rows on pages of their own may be as far apart in a copy.
    if (part == 0 || footprint(spec, x).lines > lines / part) return false;
    // Beside what is there already, as limits are rounded, and what of a graph comes later on and
    // is as large: what has no room left would have to come all the same.
    const u64 own = resident_lines(spec, x, to);
    Limits room = limits_of(*context.target);
    u64 all = own;
    bool fits = true;
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& other = spec.operand[o];
      const u64 others = footprint(spec, other).lines;
      const bool comes = other.level > to && o != a.arg && !is_chain(spec) &&
                         others >= footprint(spec, x).lines && others <= lines / part;
      if (other.level != to && !comes) continue;
      const u64 taken = resident_lines(spec, other, to);
      all += taken;
      if (!comes) fits = fits && subtract(room, to, taken);
    }
    return fits && all <= lines && subtract(room, to, own);
  };
  const auto first = std::find_if(list.begin(), list.end(), is_first);
  if (first == list.end()) return;
  const u8 operand = first->arg;
  ActionList kept;
  for (const Action& a : list) {
    const bool moves =
        a.kind == ActionKind::kView || a.kind == ActionKind::kPack || a.kind == ActionKind::kWiden;
    if (a.kind == ActionKind::kSelect || (moves && a.arg == operand)) kept.add(a);
  }
  std::swap(list, kept);
}

std::optional<Action> sure_action(const Spec& spec, const ActionContext& context) {
  if (register_operand(spec) >= 0 || has_free_operand(spec)) return std::nullopt;
  // Loops on several threads come before anything that stays on one core.
  if (!spec.serial && context.target->processors > 1) return std::nullopt;
  if (!is_chain(spec)) return graph_loop(spec, context);
  if (!combines(spec)) return std::nullopt;
  if (std::optional<Action> nearer = vector_nearer(spec, context)) return nearer;
  if (context.breadth == Breadth::kWhole) return std::nullopt;
  if (std::optional<Action> nearer = step_nearer(spec, context)) return nearer;
  return batch_loop(spec, context);
}

}  // namespace morello

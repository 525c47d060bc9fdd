// SPDX-License-Identifier: MIT
#include "actions/placement.hh"

#include <algorithm>
#include <bit>

#include "cost/turn.hh"
#include "spec/border.hh"
#include "spec/ladder.hh"

namespace morello {

bool shares_lines(const Spec& spec, const Operand& operand, u8 dim) {
  if (operand.level != Level::kMemory) return unit_dim(operand) == dim;
  const int count = operand.layout.count();
  u64 run = size_of(operand.dtype);
  for (int i = count - 1; i >= count - operand.contig && run < kLineBytes; i--) {
    const u8 d = operand.layout.dim[i];
    if (d == dim) return true;
    run *= spec.size[d];
  }
  return false;
}

u64 resident_lines(const Spec& spec, const Operand& operand, Level cache) {
  // Cores remember where pages are, of about one for each 8 lines of a cache. With factors in rows
  // on more pages, products took up to 1.5 times as long as with copies of them (Intel).
  Footprint f = footprint(spec, operand);
  const u32 most = cache == Level::kL1 ? kMaxAliasL1 : kMaxAlias;
  u32 alias = std::min<u32>(run_alias(operand), most);
  if (operand.far == kPaged) alias = std::max(alias, 3u);  // log2 of these
  // Half of what is touched beside runs that begin anywhere: the next tile reads it, too.
  const u64 beside = f.runs * (kLineBytes - size_of(operand.dtype)) / 2;
  if (cache == Level::kL1 && is_ragged(operand))
    f.lines = std::max(f.lines, ceil_div(f.bytes + beside, kLineBytes));
  if (f.runs == 1) return f.lines;
  u64 rows = 0;  // of windows
  if (const u32 shift = std::min<u32>(window_alias(operand), most)) {
    rows = u64{1} << shift;
    const PhysicalDims sizes = physical_dims(spec, operand);
    for (int i = slowest_window(spec, operand); i >= 0; i--) rows *= sizes.size[i];
  }
  return std::max({f.lines, f.runs << alias, rows});
}

namespace {

/// Beside so many products of each element a copy with borders costs little, and a part saves some.
constexpr u64 kManyProducts = 32;

/// Products of an element; 0: none.
u64 products_of_each(const Spec& spec, int operand) {
  const Stage& reader = reader_of(spec, operand);
  if (reader.op != Op::kMulAdd) return 0;
  const DimMask dims = static_cast<DimMask>(dims_of(spec, reader.in[0]) |
                                            dims_of(spec, reader.in[1]) | reader.reduce);
  return points_of(spec, dims) / elements(spec, spec.operand[operand]);
}

/// Dimensions that loops may run over: of a graph not those that a stage lacks
/// (Restriction::kStageTiles).
DimMask loop_dims(const Spec& spec, const ActionContext& context) {
  const bool all = is_chain(spec) || !context.restricts(Restriction::kStageTiles);
  return all ? parallel_dims(spec) : static_cast<DimMask>(parallel_dims(spec) & inner_dims(spec));
}

}  // namespace

bool divides_places(const Spec& spec, const ActionContext& context) {
  if (spec.diagonal.used() || !border_cut(spec)) return false;
  if (!context.restricts(Restriction::kFewTiles)) return true;
  // Where vectors of products run along places, parts have odd numbers of these.
  const int bordered = bordered_operand(spec);
  const u64 products = products_of_each(spec, bordered);
  if (products > 0 && has_dim(bordered_dims(spec), unit_dim(spec.out()))) return false;
  const Operand& x = spec.operand[bordered];
  if (footprint(spec, x).bytes <= context.target->at(Level::kL1).bytes / 4) return true;
  if (products > kManyProducts) return false;
  const DimMask others = static_cast<DimMask>(loop_dims(spec, context) & ~window_dims(spec));
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(others, d) && d != unit_dim(spec.out()) && may_tile(spec, d, 1)) return false;
  return true;
}

bool divides_terms(const Spec& spec, const ActionContext& context) {
  const std::optional<BorderCut> cut = term_cut(spec);
  if (!cut || spec.diagonal.used()) return false;
  if (!context.restricts(Restriction::kFewTiles)) return true;
  if (has_dim(bordered_dims(spec), unit_dim(spec.out()))) return false;
  // Of what is small, terms of any length, but not of narrow types, whose copies take long to
  // search.
  if (const int x = bordered_operand(spec); divides_places(spec, context))
    return size_of(spec.operand[x].dtype) == kElementBytes &&
           products_of_each(spec, x) > kManyProducts;
  // To load and to store a result takes the time of about as many products.
  constexpr u64 kProducts = 2;
  const DimMask window = static_cast<DimMask>(1u << cut->dim | 1u << cut->places);
  const u64 all = points_of(spec, window), outside = all - inside_points(spec, window);
  const u64 depth = points_of(spec, static_cast<DimMask>(spec.reduced() & ~window));
  return outside * depth >= kProducts * all * most_products(spec, *context.target);
}

namespace {

/// The slowest dimension of places of the operand, if a loop over it may be the first; else kNoDim.
u8 first_places(const Spec& spec, const Operand& x, const ActionContext& context) {
  const DimMask loops = loop_dims(spec, context), windows = window_dims(spec);
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(x.dims & loops & ~windows, d) && d != unit_dim(spec.out()) && may_tile(spec, d, 1))
      return kNoDim;
  for (int i = 0; i < x.layout.count(); i++)
    for (const Window& w : spec.window)
      if (w.used() && w.outer == x.layout.dim[i]) {
        const u8 dim = has_dim(parallel_dims(spec), w.outer) ? w.outer : w.inner;
        return has_dim(loops, dim) && dim != unit_dim(spec.out()) ? dim : kNoDim;
      }
  return kNoDim;
}

}  // namespace

Bands bands_of(const Spec& spec, const ActionContext& context) {
  Bands bands;
  const int o = bordered_operand(spec);
  if (o < 0 || has_free_operand(spec) || spec.diagonal.used() || divides_places(spec, context))
    return bands;
  const u32 needed =
      1u << static_cast<int>(ActionKind::kDivide) | 1u << static_cast<int>(ActionKind::kTile);
  const Operand& x = spec.operand[o];
  const u8 dim = first_places(spec, x, context);
  if (dim == kNoDim || (context.disabled & needed) != 0) return bands;
  bands.dim = dim;
  bands.bordered = has_dim(bordered_dims(spec), dim);
  bands.last = bands.bordered && begins_inside(spec);
  Spec part = with_borders_inside(spec, o);
  const u32 whole = spec.size[dim];
  const u64 all = elements(part, x);
  // Beside many products a copy costs little, and each band brings its weights again.
  constexpr u64 kProductsOfCopy = 128;
  if (products_of_each(spec, o) > kProductsOfCopy &&
      all * size_of(x.dtype) <= context.target->at(Level::kL2).bytes / 2)
    return bands;
  for (Level level : {Level::kL1, Level::kL2}) {
    const u64 room = room_for_band(level, *context.target);
    if (all * size_of(x.dtype) <= room) break;
    u32 most = 0, even = 0;
    for (u32 size : kLadder) {
      if (size > whole / 2) break;
      part.size[dim] = size;
      // Rows that two bands read are copied twice.
      const u64 copied = elements(part, x);
      if (copied * size_of(x.dtype) > room) break;
      if (copied * whole > 2 * size * all) continue;
      if (!(bands.bordered ? may_divide_border(spec, dim, bands.cut(size, whole))
                           : may_tile(spec, dim, size)))
        continue;
      most = size;
      if (whole % size == 0) even = size;
    }
    const u32 chosen = 3 * even >= most ? even : most;
    if (chosen > 0 && !bands.has(chosen)) bands.size[bands.count++] = chosen;
  }
  return bands;
}

namespace {

/// How groups of this factor are multiplied; null: they are not.
const Dot* dot_of_groups(const Spec& spec, int operand, const Target& target) {
  const Stage* product = contraction_of(spec);
  const Dtype type = spec.operand[operand].dtype;
  if (!product || size_of(type) >= 4 || both_have_vectors(spec)) return nullptr;
  const Ref a = product->in[0] == operand ? product->in[1] : product->in[0];
  if (!is_operand(a) || (product->in[0] != operand && product->in[1] != operand)) return nullptr;
  return dot_of(target, spec.operand[a].dtype, type, product->dtype, lane_elements(type));
}

/// Of rows of more than `most` columns, of so many bytes each, which would begin inside of lines:
/// are panels at most a `part`th wider?
bool prefers_panels(u32 columns, u32 bytes, u32 most, u32 part) {
  constexpr u32 kPanel = 32;  // columns of the least
  return columns > most && columns * bytes % kLineBytes != 0 &&
         part * round_up(columns, kPanel) <= (part + 1) * columns;
}

}  // namespace

bool takes_groups(const Spec& spec, int operand, const Target& target) {
  return dot_of_groups(spec, operand, target);
}

bool splits_groups(const Spec& spec, int operand, const Target& target) {
  const bool tiles = takes_tiles(spec, target);
  if (!tiles) {
    if (target.vector_bytes != kLineBytes || !spec.operand[operand].free_layout) return false;
    if (const Dot* dot = dot_of_groups(spec, operand, target); !dot || dot->passes > 1)
      return false;
  }
  return prefers_panels(spec.size[unit_dim(spec.out())], kElementBytes, tiles ? 64 : 32, 3);
}

bool splits_rows(const Spec& spec, int operand, const Target& target) {
  const Operand& x = spec.operand[operand];
  const u8 v = unit_dim(spec.out());
  if (!x.free_layout || x.windows != 0 || v == kNoDim || !has_dim(x.dims, v)) return false;
  return prefers_panels(spec.size[v], size_of(x.dtype), 32, 8) &&
         layout_of(spec, operand, LayoutOption::kPanels, 2 * computed_lanes(spec, target)).valid;
}

namespace {

/// Do rows of the operand fall into the same cache sets?
bool rows_meet(const Spec& spec, const Operand& x) {
  Operand cut = x;  // where rows are adjacent: when they have been cut
  if (x.contig > 1) set_pitch(cut, u64{spec.size[unit_dim(x)]} * size_of(x.dtype));
  return run_alias(cut) >= 4;
}

/// An operand, or where the value of a stage may be: in memory, by rows.
Operand place_of(const Spec& spec, Ref ref) {
  if (is_operand(ref)) return spec.operand[ref];
  const DimMask dims = dims_of(spec, ref);
  Layout rows;
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(dims, d)) rows.append(d);
  return dense_operand(spec, spec.stage[stage_of(ref)].dtype, Level::kMemory, Access::kOut, dims,
                       rows, 0);
}

/// May vectors of it stream from there, for rows enough?
bool is_worth_a_stream(const Spec& spec, const Operand& x, Level level,
                       const ActionContext& context) {
  const u8 v = unit_dim(spec.out());
  const Target& t = *context.target;
  const u64 deep = std::max<u64>(128, least_streamed_depth(t));
  return level == Level::kL2 && may_stream(x, t) && contraction_of(spec) && v != kNoDim &&
         has_dim(x.dims, v) && volume(spec) / elements(spec, x) >= 96 &&
         points_of(spec, spec.reduced()) >= deep;
}

}  // namespace

bool streams_widened(const Spec& spec, int operand, Level level, LayoutOption option,
                     const ActionContext& context) {
  if (option != LayoutOption::kPanels || !is_multiplied_wide(spec, operand, *context.target))
    return false;
  Operand wide = spec.operand[operand];
  wide.dtype = computed_dtype(spec);
  return is_worth_a_stream(spec, wide, level, context);
}

bool is_listed_copy(const Spec& spec, int operand, Level level, LayoutOption option, bool widens,
                    const ActionContext& context) {
  const Operand& x = spec.operand[operand];
  if (size_of(x.dtype) >= 4)
    return option != LayoutOption::kPanels || !context.restricts(Restriction::kFewPanels) ||
           x.windows != 0 || rows_meet(spec, x) ||
           (unit_dim(x) == unit_dim(spec.out()) && is_worth_a_stream(spec, x, level, context));
  if (!context.restricts(Restriction::kNarrowCopies)) return true;
  if (!is_multiplied_wide(spec, operand, *context.target)) {
    if (!takes_groups(spec, operand, *context.target)) return true;
    if (widens && context.has_few()) return false;
    return option != LayoutOption::kPanels &&
           (option != LayoutOption::kGroupedPanels || level != Level::kL1);
  }
  if (is_best_widened(spec, operand, context)) return widens;
  if (widens && streams_widened(spec, operand, level, option, context)) return true;
  // Copies of windows are read more often than other copies.
  if (x.windows != 0) return widens;
  // Another order than the vectors' is a relayout, which may be before all else; of few products of
  // a result, as of keys, few actions widen at once what comes to L1.
  constexpr u64 kFewProducts = 128;
  const u8 v = unit_dim(spec.out());
  if (!has_wide_rows(spec, *context.target) || unit_dim(x) != v)
    return widens || level == Level::kL2 || !context.has_few() ||
           points_of(spec, spec.reduced()) > kFewProducts;
  return (widens && level == Level::kL1) ||
         (option == LayoutOption::kGrouped && !lines_are_pairs(*context.target));
}

namespace {

/// Are elements of neighbouring places neighbours along this axis of a copy as well?
bool has_unit_step(const Spec& spec, const Operand& x, u8 axis) {
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& window = spec.window[w];
    if (!x.has_window(w)) continue;
    if (window.inner == axis || (window.outer == axis && window.step != 1)) return false;
  }
  return true;
}

}  // namespace

bool keeps_windows(const Spec& spec, int operand, LayoutOption option) {
  const Operand& x = spec.operand[operand];
  if (option == LayoutOption::kSame || option == LayoutOption::kChannelsLast) return true;
  // Axes of windows are in no blocks.
  const bool groups_others = (spec.reduced() & x.dims & ~window_dims(spec)) != 0;
  return option == LayoutOption::kGrouped && groups_others && has_plain_windows(spec, x) &&
         has_unit_step(spec, x, unit_dim(spec.out()));
}

namespace {

LayoutChoice turned_layout(const Spec& spec, const Layout& layout) {
  const u8 dim = turned_dim(spec);
  Layout turned;
  for (int i = 0; i < layout.count(); i++)
    if (layout.dim[i] != dim) turned.append(layout.dim[i]);
  turned.append(dim);
  return {turned != layout, turned};
}

/// Products take neighbours among the channels as groups, wherever the window is.
LayoutChoice channels_last(const Spec& spec, int operand, const Layout& layout) {
  const Operand& x = spec.operand[operand];
  const DimMask channels = static_cast<DimMask>(spec.reduced() & x.dims & ~window_dims(spec));
  if (x.windows == 0 || !has_plain_windows(spec, x)) return {};
  Layout last;
  for (bool fast : {false, true})
    for (int i = 0; i < layout.count(); i++)
      if (has_dim(channels, layout.dim[i]) == fast) last.append(layout.dim[i]);
  return {last != layout, last};
}

}  // namespace

LayoutChoice layout_of(const Spec& spec, int operand, LayoutOption option, u32 panel) {
  const Operand& x = spec.operand[operand];
  Layout same = plain_layout(x.layout);
  if (option == LayoutOption::kSame) return {true, same};
  if (option == LayoutOption::kTurned) return turned_layout(spec, same);
  if (option == LayoutOption::kChannelsLast) return channels_last(spec, operand, same);

  DimMask reduced = spec.reduced() & x.dims;
  u8 v = unit_dim(spec.out());
  DimMask parallel = static_cast<DimMask>(x.dims & ~reduced);
  if (!reduced || !parallel) return {};
  // The dimension that stays next to the fastest place: the vector one, or the last row dimension.
  u8 fast = v != kNoDim && has_dim(parallel, v) ? v : static_cast<u8>(std::bit_width(parallel) - 1);

  Layout l;
  auto append = [&](DimMask mask) {
    for (u8 d = 0; d < spec.rank; d++)
      if (has_dim(mask, d)) l.append(d);
  };
  // What shares lanes is next to each other for all places of a window alike: no element of one.
  DimMask slower = size_of(x.dtype) < 4 ? static_cast<DimMask>(reduced & window_dims(spec)) : 0;
  if (slower == reduced) slower = 0;
  const DimMask faster = static_cast<DimMask>(reduced & ~slower);
  if (option == LayoutOption::kLines) {
    const u8 deep = static_cast<u8>(std::bit_width(reduced) - 1);
    const u32 line = kLineBytes / size_of(x.dtype);
    const bool panels = panel < spec.size[fast];
    if (line >= spec.size[deep] || std::popcount(x.dims) + 1 + panels > kMaxPhysical) return {};
    append(static_cast<DimMask>(parallel & ~(1u << fast)));
    if (panels) l.append(fast);
    append(reduced);
    l.append(fast, panels ? static_cast<u8>(panel) : u8{0});
    l.append(deep, static_cast<u8>(line));
    return {true, l};
  }
  const bool groups = option == LayoutOption::kGrouped || option == LayoutOption::kGroupedPanels;
  const bool panels = option == LayoutOption::kPanels || option == LayoutOption::kGroupedPanels;
  const bool slow = option == LayoutOption::kReducedSlow || option == LayoutOption::kGrouped;
  if (panels && panel >= spec.size[fast]) return {};  // one panel: kReducedSlow
  if (std::popcount(x.dims) + panels + groups > kMaxPhysical) return {};
  append(static_cast<DimMask>(parallel & ~(1u << fast)));
  if (slow) append(slower), append(faster);
  l.append(fast);
  if (!slow) append(slower), append(faster);
  if (panels) l.append(fast, static_cast<u8>(panel));
  if (groups) {
    const u8 grouped = static_cast<u8>(std::bit_width(faster) - 1);
    const u32 group = size_of(x.dtype) < 4 ? lane_elements(x.dtype) : 1;
    // Along vectors of the output, or of results in a buffer.
    if (fast != v && fast != turned_dim(spec)) return {};
    if (group == 1 || group >= spec.size[grouped]) return {};
    if (x.windows != 0 && keeps_windows(spec, operand, option)) {
      l = {};
      for (int i = 0, n = same.count(); i < n; i++)
        if (same.dim[i] != fast) l.append(same.dim[i]);
      l.append(fast);
    }
    l.append(grouped, static_cast<u8>(group));
  }
  return {panels || groups || l != same, l};
}

bool pads_groups(const Spec& spec, int operand, const Target& target) {
  const u8 v = unit_dim(spec.out());
  if (!is_chain(spec) || v == kNoDim || !has_dim(spec.operand[operand].dims, v)) return false;
  const Dot* dot = dot_of_groups(spec, operand, target);
  return dot && dot->whole && keeps_windows(spec, operand, LayoutOption::kGrouped) &&
         layout_of(spec, operand, LayoutOption::kGrouped, 0).valid;
}

bool wants_channels_last(const Spec& spec, int operand, const Target& target) {
  const Operand& x = spec.operand[operand];
  const Stage* product = is_chain(spec) ? contraction_of(spec) : nullptr;
  if (!product || x.windows == 0 || size_of(x.dtype) >= kElementBytes) return false;
  if (product->in[0] != operand && product->in[1] != operand) return false;
  const Ref other = product->in[product->in[0] == operand ? 1 : 0];
  u8 v = unit_dim(spec.out());
  if (v != kNoDim && has_dim(x.dims, v) && may_turn(spec, target)) v = turned_dim(spec);
  if (!is_operand(other) || v == kNoDim || has_dim(x.dims, v)) return false;
  const Dot* dot = dot_of_groups(spec, other, target);
  return dot && dot->whole && layout_of(spec, operand, LayoutOption::kChannelsLast, 0).valid;
}

bool lacks_groups(const Spec& spec, int operand, const Operand& x, const ActionContext& context) {
  if (!context.has_few() || !spec.window[0].used() || !is_chain(spec)) return false;
  const Stage* product = contraction_of(spec);
  const u8 v = unit_dim(spec.out());
  if (!product || v == kNoDim || product->in[0] == product->in[1]) return false;
  if (product->in[0] != operand && product->in[1] != operand) return false;
  const Ref other = product->in[product->in[0] == operand ? 1 : 0];
  if (!is_operand(other)) return false;
  const bool in_vectors = has_dim(x.dims, v);
  if (in_vectors == has_dim(spec.operand[other].dims, v)) return false;
  const int grouped = in_vectors ? operand : other;
  const Dot* dot = dot_of_groups(spec, grouped, *context.target);
  if (!dot || !dot->whole) return false;
  const DimMask reduced = static_cast<DimMask>(spec.reduced() & x.dims);
  DimMask neighbours = static_cast<DimMask>(reduced & ~window_dims(spec));
  // One group of them is in no layout; terms of windows may make some.
  if (neighbours == 0 || points_of(spec, neighbours) == dot->group) neighbours = reduced;
  bool may_group = lane_group(spec.operand[grouped]) > 1;
  for (u8 d = 0; d < spec.rank; d++)
    may_group |= has_dim(neighbours, d) && spec.size[d] > dot->group;
  if (!may_group) return false;
  // Where FMAs are cheaper, only tile registers gain by groups, and not by few of them.
  constexpr u64 kFewNeighbours = 8;
  const bool dear = dot->price > dot_of_one(product->dtype)->price * dot->products();
  if (dear && (!takes_tiles(spec, *context.target) || points_of(spec, neighbours) < kFewNeighbours))
    return false;
  return lane_group(x) == 1 && (in_vectors || !has_dim(neighbours, unit_dim(x)));
}

Factor free_factor(const Spec& spec, int operand) {
  int stage = -1, readers = 0;
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (in == operand) stage = s, readers++;
  if (is_chain(spec) || readers != 1 || spec.stage[stage].op != Op::kMulAdd) return {spec, operand};
  const Stage& product = spec.stage[stage];
  Spec alone = spec;
  for (int i : {0, 1}) alone.operand[i] = place_of(spec, product.in[i]);
  for (int o = 2; o < kMaxOperands; o++) alone.operand[o] = {};
  alone.operand_count = 3;
  alone.out() = place_of(spec, is_operand(product.out) ? product.out : value_of(stage));
  Stage single = product;
  single.in = {0, 1, kNoRef};
  single.out = static_cast<Ref>(alone.out_index());
  alone.stage = {single};
  alone.stage_count = 1;
  return {alone, product.in[1] == operand ? 1 : 0};
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Where operands may be put: shared by the actions that move them.
#ifndef MORELLO_ACTIONS_PLACEMENT_HH
#define MORELLO_ACTIONS_PLACEMENT_HH

#include <algorithm>
#include <array>

#include "actions/narrow.hh"
#include "actions/narrow_factors.hh"
#include "cost/tiles.hh"
#include "cost/turn.hh"
#include "spec/roles.hh"
#include "target/dots.hh"

namespace morello {

/// Do elements along a dimension share lines of the operand? In memory also those that are apart,
/// but by less than a line: a loop over them reads each line again.
bool shares_lines(const Spec& spec, const Operand& operand, u8 dim);

/// Cache lines that a tile takes away from a cache when it stays there. Runs at a distance that is
/// a multiple of a power of two fall into few sets: each then takes the lines up to the next one's.
u64 resident_lines(const Spec& spec, const Operand& operand, Level cache);

/// Are the places next to borders divided from the others in this Spec? If the operand is not
/// small, after loops over all that has no windows, but for what vectors run along
/// (Restriction::kFewTiles).
bool divides_places(const Spec& spec, const ActionContext& context);
/// Are the terms of a window with borders summed one after the other, each for the places that have
/// it inside? Where that saves more than it takes to go on from the sums again.
bool divides_terms(const Spec& spec, const ActionContext& context);
/// Places of a window that are computed together, in the slowest of the dimensions that have some,
/// so that a cache has room for a copy of what they read, with its borders. Bands next to a border
/// are divided from the others, and those are a loop. None where divides_places(), where a loop
/// over what has no windows comes first, or where L2 keeps a copy of all of it.
struct Bands {
  u8 dim = kNoDim;
  bool bordered = false, last = false;  // has the dimension a border; at its end alone?
  u8 count = 0;
  std::array<u32, 2> size{};  // for L1, L2
  bool has(u32 places) const {
    return std::find(size.begin(), size.begin() + count, places) != size.begin() + count;
  }
  /// Where a band is divided from the others.
  u32 cut(u32 places, u32 whole) const { return last ? whole - places : places; }
};
Bands bands_of(const Spec& spec, const ActionContext& context);
/// Bytes of a copy that stays in a cache while all else passes through it. Of L2, larger parts took
/// up to a third longer, smaller ones up to a fifth (Intel, 2 MiB; rows of a convolution of
/// images).
inline u64 room_for_band(Level level, const Target& target) {
  return target.at(level).bytes / (level == Level::kL1 ? 2 : 6);
}

/// Does the target multiply groups of neighbours along the reduced dimensions, which share a lane
/// of this factor?
bool takes_groups(const Spec& spec, int operand, const Target& target);
/// Of a factor in vectors along the results: have these fewer elements than lanes, or are they a
/// vector and a few more? Sums along the reduced dimension leave no lanes unused.
inline bool leaves_lanes(const Spec& spec, const Operand& x, const Target& target) {
  const u8 v = unit_dim(spec.out());
  if (v == kNoDim || !contraction_of(spec) || x.windows != 0 || !has_dim(x.dims, v)) return false;
  const u32 lanes = computed_lanes(spec, target), columns = spec.size[v];
  return columns < lanes || (columns > lanes && columns <= lanes + lanes / 4);
}
/// Would parts of rows of groups, of which tile registers load several, begin inside of lines? Or,
/// of a free layout, vectors that are lines, and are loaded about as often as they are multiplied?
/// Panels begin at lines, and are taken where they leave little room unused. Prices, which see the
/// parts, do not know.
bool splits_groups(const Spec& spec, int operand, const Target& target);
/// The same of rows without groups of a free layout.
bool splits_rows(const Spec& spec, int operand, const Target& target);
/// Is the copy of an input listed? Panels are made of rows that fall into the same cache sets
/// (Restriction::kFewPanels). Of a narrow factor (Restriction::kNarrowCopies), what is read by
/// broadcasts is widened; what is read in vectors is widened where it is used, or where it streams
/// from, or grouped; grouped panels are farther away, where instructions multiply groups.
bool is_listed_copy(const Spec& spec, int operand, Level level, LayoutOption option, bool widens,
                    const ActionContext& context);
/// Is such a copy, of a factor that is multiplied wide, what is read in vectors of f32 and streams
/// from that level, for rows enough?
bool streams_widened(const Spec& spec, int operand, Level level, LayoutOption option,
                     const ActionContext& context);
/// Has the operand panels of an even number of vectors only?
inline bool has_even_panels(const Spec& spec, int operand, const ActionContext& context) {
  const Operand& x = spec.operand[operand];
  if (size_of(x.dtype) >= 4) return !x.free_layout && context.restricts(Restriction::kFewPanels);
  return context.restricts(Restriction::kNarrowCopies) &&
         (takes_groups(spec, operand, *context.target) ||
          is_multiplied_wide(spec, operand, *context.target));
}

/// The layout that `option` stands for, or nothing where it says no more than another option does.
struct LayoutChoice {
  bool valid = false;
  Layout layout;
};
/// Has a copy of it in this layout its windows as axes? In others windows have elements of their
/// own.
bool keeps_windows(const Spec& spec, int operand, LayoutOption option);
LayoutChoice layout_of(const Spec& spec, int operand, LayoutOption option, u32 panel);
/// May what has borders be copied at once into groups that its product takes as they are?
bool pads_groups(const Spec& spec, int operand, const Target& target);
/// Are channels of this factor neighbours in no place of its windows, and would its product take
/// them as groups? One copy serves all terms and places (LayoutOption::kChannelsLast).
bool wants_channels_last(const Spec& spec, int operand, const Target& target);
/// Of few actions: a product with windows that takes groups of neighbours as they are, with factor
/// `operand` as `x`. Do vectors of it lack groups, or its lanes neighbours that make some? Then the
/// factor comes to L1, or is packed, in other forms only.
bool lacks_groups(const Spec& spec, int operand, const Operand& x, const ActionContext& context);
/// Calls add(option, panel) for every choice that makes sense for the operand.
template <class F>
void each_layout(const Spec& spec, int operand, const ActionContext& context, F&& add) {
  auto order = [&](LayoutOption option) {
    if (layout_of(spec, operand, option, 0).valid) add(option, 0u);
  };
  const bool split = splits_rows(spec, operand, *context.target);
  if (!split || unit_dim(spec.operand[operand]) != unit_dim(spec.out())) order(LayoutOption::kSame);
  // Only where microkernels read it better than as it is: rows by broadcasts, at any stride;
  // columns in vectors, unless both factors have them, or they leave lanes unused.
  const Operand& x = spec.operand[operand];
  u8 unit = unit_dim(x), v = unit_dim(spec.out());
  bool all = !context.restricts(Restriction::kLayouts);
  if (all || unit != v || unit == kNoDim || both_have(spec, v) ||
      leaves_lanes(spec, x, *context.target))
    order(LayoutOption::kReducedFast);
  if ((all || !has_dim(spec.reduced(), unit) || has_dim(x.dims, v)) && !split)
    order(LayoutOption::kReducedSlow);
  const u32 lanes = computed_lanes(spec, *context.target);
  bool along_vectors = v != kNoDim && has_dim(spec.operand[operand].dims, v);
  if (!along_vectors && wants_channels_last(spec, operand, *context.target))
    order(LayoutOption::kChannelsLast);
  auto panels = [&](u32 panel, LayoutOption option = LayoutOption::kPanels) {
    if (layout_of(spec, operand, option, panel).valid) add(option, panel);
  };
  const bool even = has_even_panels(spec, operand, context);
  auto vector_panels = [&](LayoutOption option) {
    for (u32 n : {1u, 2u, 3u, 4u})
      if (is_usual_panel(n, context) && (!even || n % 2 == 0)) panels(n * lanes, option);
    if (!x.free_layout) return;
    // Register tiles of few rows are wider, and a panel as wide comes from memory as one run.
    const u64 rows = points_of(spec, static_cast<DimMask>(spec.out().dims & ~(1u << v)));
    const u64 registers = context.target->vector_registers;
    for (u32 n : {6u, 8u, 12u})
      if (2 * n * rows <= registers) panels(n * lanes, option);
    // A vector of all rows, where two are too many, reads a panel of its own without gaps.
    if (even && rows + 2 <= registers && 2 * rows + 3 > registers) panels(lanes, option);
  };
  const bool whole = context.restricts(Restriction::kWholeTiles);
  if (along_vectors) vector_panels(LayoutOption::kPanels);
  if (along_vectors && takes_groups(spec, operand, *context.target)) {
    if (!splits_groups(spec, operand, *context.target)) order(LayoutOption::kGrouped);
    vector_panels(LayoutOption::kGroupedPanels);
  }
  // What results in a buffer would meet in vectors.
  if (x.free_layout && !along_vectors && may_turn(spec, *context.target)) {
    const bool groups = takes_groups(spec, operand, *context.target);
    if (spec.size[turned_dim(spec)] <= 4 * lanes)
      order(groups ? LayoutOption::kGrouped : LayoutOption::kReducedSlow);
    for (u32 n : {1u, 2u, 3u, 4u})
      if (is_usual_panel(n, context) && (!even || n % 2 == 0))
        panels(n * lanes, groups ? LayoutOption::kGroupedPanels : LayoutOption::kPanels);
  }
  if (along_vectors || context.restricts(Restriction::kFewLayouts)) return;
  // Tile registers are loaded row by row, which takes long where these begin inside of lines.
  if (takes_tiles(spec, *context.target) && has_wide_rows(spec, *context.target) &&
      !x.free_layout && !(whole && begins_at_lines(spec, x)))
    for (u32 n : {2u, 4u}) panels(n * context.target->tiles.rows, LayoutOption::kLines);
  if (!has_dim(spec.reduced(), unit_dim(spec.operand[operand])))
    // Rows are read one element at a time: where they run along a reduced dimension they are good
    // as they are, and panels would say no more.
    for (u32 n : {4u, 6u, 8u, 12u}) panels(n);
}

/// A product by itself, and the operand of it that is asked about.
struct Factor {
  Spec product;
  int operand = 0;
};
/// What an input of a graph with a free layout is read by: the one product that it is a factor of,
/// over the dimensions of the graph. Of a chain, and where there is no such product, the Spec.
Factor free_factor(const Spec& spec, int operand);

/// Calls f(level) for those that buffers of so many lines fit, and no farther than there is a
/// reason for.
template <class F>
void each_level(u64 lines, const ActionContext& context, F f) {
  const u64 l1 = lines_of_code(limits_of(*context.target).at(Level::kL1));
  const u64 l2 = lines_of_code(limits_of(*context.target).at(Level::kL2));
  if (keeps_near(context))
    return f(lines <= l1 / 2 ? Level::kL1 : lines <= l2 / 2 ? Level::kL2 : Level::kMemory);
  if (lines <= l1) f(Level::kL1);
  if (lines <= l2 && lines > l1 / 16) f(Level::kL2);
  if (lines > l2 / 4) f(Level::kMemory);
}

}  // namespace morello

#endif

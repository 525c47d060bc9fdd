// SPDX-License-Identifier: MIT
#include "cost/bounds.hh"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cost/held.hh"
#include "cost/io_bound.hh"
#include "cost/overlap.hh"
#include "cost/reduce.hh"
#include "cost/shared.hh"
#include "cost/turn.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"
#include "spec/gather.hh"
#include "spec/roles.hh"

namespace morello {

Bounds::Bounds(const Target& target, Microkernels kernels)
    : target_(target), kernels_(kernels), rates_(target, kernels) {}

namespace {

/// Are the operand's runs far apart in all of its parts too? A part that is cut off inside a run is
/// near the next one, if the run's inner dimensions are short.
bool stays_far(const Spec& spec, const Operand& x) {
  if (!x.far || x.layout.packed()) return false;
  if (x.contig <= 1) return true;
  return u64{spec.size[unit_dim(x)]} * size_of(x.dtype) >= kFarBytes;
}

constexpr double kNoStream = 1e18;

/// Have parts of it one run, of as many vectors as registers take? All else has to be copied first.
bool has_streams(const Spec& spec, const Operand& x, const Target& t) {
  if (x.free_layout || x.layout.packed()) return true;
  const u64 most = u64{t.vector_registers} * t.lanes(kElementBytes);
  return x.contig > 1 && spec.size[unit_dim(x)] <= most;
}

/// Vectors in a row of it as it is, all of which a step has.
u64 row_vectors(const Spec& spec, const Operand& x, const Target& t) {
  return ceil_div(spec.size[unit_dim(x)], t.lanes(kElementBytes));
}

/// So many a step at least, or L1 has room for as many steps as there are.
u64 least_vectors(const Spec& spec, const Operand& x, const Target& t) {
  const u64 steps = points_of(spec, static_cast<DimMask>(x.dims & spec.reduced()));
  return ceil_div(least_streamed_bytes(t), steps * t.lanes(kElementBytes) * kElementBytes);
}

/// May vectors of results meet vectors of this factor? Steps, and few others, have a buffer of
/// results, whose vectors may run along another dimension.
bool is_in_vectors(const Spec& spec, const Operand& x, const Target& t) {
  if (!may_stream(x, t)) return false;
  if (!fills_l1(spec, x, t) || least_vectors(spec, x, t) > t.vector_registers) return false;
  const DimMask reduced = static_cast<DimMask>(x.dims & spec.reduced());
  if (points_of(spec, reduced) < least_streamed_depth(t)) return false;
  const Operand& out = spec.out();
  if (!is_single(spec) || out.dtype != computed_dtype(spec) || part_may_turn(spec, t)) return true;
  return unit_dim(out) != kNoDim && has_dim(x.dims, unit_dim(out));
}

/// May the only column of a register tile, whose results have a lane each, meet all steps of this
/// factor? Where nothing has to be copied for it, a vector takes more columns in the same time.
bool is_in_lanes(const Spec& spec, int stage, const Operand& x, const Target& t) {
  const DimMask results = dims_of(spec, value_of(stage));
  const u64 steps = points_of(spec, static_cast<DimMask>(x.dims & ~results));
  if (steps * size_of(x.dtype) < least_streamed_bytes(t)) return false;
  const u8 v = unit_dim(spec.out());
  if (!is_chain(spec) || v == kNoDim) return true;
  return std::ranges::any_of(factors_of(spec), [&](Ref in) {
    if (!is_operand(in)) return false;
    const Operand& factor = spec.operand[in];
    return !factor.free_layout && has_dim(factor.dims, v) && lane_dim(factor) != v;
  });
}

/// May microkernels read all of it from L2 as a stream, as it is?
bool is_stream(const Spec& spec, int operand, const Target& t) {
  const Operand& x = spec.operand[operand];
  if (x.access != Access::kIn || !may_stream(x, t)) return false;
  const bool vectors = has_streams(spec, x, t) && is_in_vectors(spec, x, t);
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    const bool reads = stage.in[0] == operand || stage.in[1] == operand;
    if (stage.op == Op::kMulAdd && reads && (vectors || is_in_lanes(spec, s, x, t))) return true;
  }
  return false;
}

/// A window may leave out a part of its axis: it has as many places as the longer of its dimensions
/// at least.
u64 least_lines(const Spec& spec, const Operand& x, u64 lines) {
  for (int w = 0; w < kMaxWindows; w++) {
    if (!x.has_window(w)) continue;
    const Window& window = spec.window[w];
    const u32 outer = spec.size[window.outer], inner = spec.size[window.inner];
    if (!skips_places(window, outer, inner)) continue;
    const u32 places = std::max(outer, inner), border = u32{window.before} + window.after;
    if (places <= border) return 0;
    lines = lines * (places - border) / axis_size(spec, x, window.outer);
  }
  return lines;
}

/// What no row keeps of an input need not come.
void leave_out_masked(const Spec& spec, const Operand& x, Footprint& f) {
  const u64 kept = kept_points(spec, x.dims);
  if (x.access != Access::kIn || kept == points_of(spec, x.dims)) return;
  f.runs = 0;
  f.lines = x.windows ? 0 : std::min(f.lines, kept * size_of(x.dtype) / kLineBytes);
}

/// Operands of which windows with borders may leave out what no place of them has inside. Bits.
u8 partly_met(const Spec& spec) {
  u8 some = 0;
  const int bordered = bordered_operand(spec);
  if (bordered < 0 || has_whole_places(spec)) return some;
  const DimMask dims = static_cast<DimMask>(bordered_dims(spec) & spec.reduced());
  for (int o = 0; o < spec.operand_count; o++)
    if (o != bordered && (spec.operand[o].dims & dims) != 0) some = static_cast<u8>(some | 1u << o);
  return some;
}

}  // namespace

Bounds::Traffic Bounds::traffic(const Spec& spec, i64 products, u8 counted) const {
  // Whatever its program, every line of an operand comes once from each level it has to pass.
  Traffic t;
  // Of what is gathered from, no more than some places need come.
  const u8 unmet = static_cast<u8>(partly_met(spec) | gathered_operands(spec));
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level < Level::kL2 || has_dim(counted, o)) continue;
    Footprint f = footprint(spec, x);
    if (x.layout.packed()) f.lines = ceil_div(elements(spec, x) * size_of(x.dtype), kLineBytes);
    if (x.windows) {
      f.runs = least_lines(spec, x, f.runs);
      f.lines = least_lines(spec, x, f.lines);
    }
    if (has_dim(unmet, o)) f = {};
    if (spec.diagonal.used()) leave_out_masked(spec, x, f);
    i64 times = x.access == Access::kIn ? 1 : 2;
    auto price = [&](Level level) {
      i64 units = saturating_mul(f.lines, target_.at(level).line_units);
      if (level == Level::kL2 && is_stream(spec, o, target_)) {
        const i64 streamed = saturating_mul(f.lines, target_.at(level).stream_units);
        units = std::clamp(saturating_add(units, streamed) - products, streamed, units);
      }
      if (stays_far(spec, x))
        units = saturating_add(units, saturating_mul(f.runs, target_.at(level).run_units));
      return saturating_mul(static_cast<u64>(times), units);
    };
    t.l2 = saturating_add(t.l2, price(Level::kL2));
    if (x.level == Level::kMemory) t.memory = saturating_add(t.memory, price(Level::kMemory));
  }
  return t;
}

namespace {

i64 floor_units(double units) { return static_cast<i64>(std::clamp(units, 0.0, 1e18)); }

}  // namespace

// What cache misses and visits of register tiles cost a contraction together: see io_bound().
i64 Bounds::blocked(const Spec& spec, const Limits& limits, const ContractionBound& work,
                    const Traffic& once) const {
  i64 contraction = work.units();
  i64 plain = saturating_add(contraction, saturating_add(once.l2, once.memory));
  const Operand& out = spec.out();
  const Stage& product = *contraction_of(spec);
  const Operand& a = spec.operand[product.in[0]];
  const Operand& b = spec.operand[product.in[1]];
  u8 v = unit_dim(out);
  DimMask twice =
      static_cast<DimMask>((a.dims & b.dims) | (a.dims & out.dims) | (b.dims & out.dims));
  if (spec.reduced() == 0 || out.level == Level::kRegister || v == kNoDim ||
      product.in[0] == product.in[1] || twice != spec.all_dims() || (a.windows && b.windows))
    return plain;
  // Elements of windows serve as many products more as places have them.
  const double places_a = most_meetings(spec, a), places_b = most_meetings(spec, b);
  u64 lanes = computed_lanes(spec, target_), columns = spec.size[v];
  Contraction p;
  p.points = static_cast<double>(volume(spec));
  p.a = static_cast<double>(elements(spec, a));
  p.b = static_cast<double>(elements(spec, b));
  p.c = static_cast<double>(elements(spec, out));
  // Sizes are in units of 4 bytes from here on.
  const double per_line = kLineBytes / 4;
  const double size_a = size_of(a.dtype) / 4.0, size_b = size_of(b.dtype) / 4.0,
               size_c = size_of(out.dtype) / 4.0;
  const auto bound_of = [&](Contraction q) {
    q.points *= std::sqrt(size_a * size_b * size_c / (places_a * places_b));
    q.a *= size_a, q.b *= size_b, q.c *= size_c;
    q.visit /= size_c, q.registers *= size_c;
    return io_bound(q);
  };
  p.registers = target_.vector_registers * static_cast<double>(lanes);
  const bool tiles = rates_.tiles_take(spec);
  const TileUnit& unit = target_.tiles;
  if (tiles) p.registers += unit.count * unit.rows * static_cast<double>(unit.row_bytes) / 4;
  const Contraction whole = p;
  // From memory to L2. A chain may keep its results in a new buffer, which nobody brings.
  auto far = [&](const Operand& x, Level level) { return x.level >= level; };
  bool chain =
      !is_single(spec) || out.dtype != computed_dtype(spec) || part_may_turn(spec, target_);
  double l1 = static_cast<double>(lines_of_code(limits.at(Level::kL1))) * per_line;
  double l2 = static_cast<double>(lines_of_code(limits.at(Level::kL2))) * per_line;
  Contraction q = p;
  q.far_a = far(a, Level::kMemory);
  q.far_b = far(b, Level::kMemory);
  q.far_c = far(out, Level::kMemory) && !chain;
  // Of tiles of windows, what they have in common stays beside what limits have room for.
  const auto in_common = [&](Level level) {
    const u64 most = a.windows || b.windows ? room_for_overlap(level, target_) : 0;
    return static_cast<double>(most) / kElementBytes;
  };
  q.fast = l1 + l2 + p.registers + in_common(Level::kL2);
  q.element_a = q.element_b = q.element_c =
      static_cast<double>(target_.at(Level::kMemory).line_units) / per_line;
  i64 memory = std::max(once.memory, floor_units(bound_of(q)));
  // Per product, with sizes in bytes as above.
  const auto nest_of = [&](Contraction nest, double size_sum) {
    const double scale = std::sqrt(size_a * size_b * size_sum);
    nest.points *= scale;
    nest.a *= size_a, nest.b *= size_b, nest.c *= size_sum;
    nest.visit /= size_sum, nest.registers *= size_sum;
    return nest_bound(nest) * scale;
  };
  // What beginning a run costs more, where runs are far apart whatever the part. What is in memory
  // may come to L2 in another order; results do not.
  const auto add_runs = [&](Contraction& nest, Level level, double size_sum) {
    // In the sizes of nest_of(), what x lacks times its run is as much as `other` has of the two.
    const auto run = [&](const Operand& x, const Operand& other, double size) {
      const u8 d = unit_dim(x);
      if (x.windows || x.contig > 1 || !stays_far(spec, x) || !has_dim(other.dims, d)) return 0.0;
      if (has_dim(a.dims & b.dims & out.dims, d)) return 0.0;
      if (&x == &out ? x.level < level : x.level != level) return 0.0;
      return static_cast<double>(target_.at(level).run_units) * size /
             std::sqrt(size_a * size_b * size_sum);
    };
    nest.run_am = run(a, out, size_sum), nest.run_ak = run(a, b, size_b);
    nest.run_bn = run(b, out, size_sum), nest.run_bk = run(b, a, size_a);
    nest.run_cm = chain ? 0 : 2 * run(out, a, size_a);
    nest.run_cn = chain ? 0 : 2 * run(out, b, size_b);
  };
  if (columns < lanes) return saturating_add(contraction, saturating_add(once.l2, memory));
  // From L2 to L1, with the visits, of whole vectors. What dot products and scalar loops compute of
  // these costs no less.
  p.points *= static_cast<double>(columns / lanes * lanes) / static_cast<double>(columns);
  p.c *= static_cast<double>(columns / lanes * lanes) / static_cast<double>(columns);
  if (has_dim(a.dims, v) && !a.windows) p.a *= p.c / static_cast<double>(elements(spec, out));
  if (has_dim(b.dims, v) && !b.windows) p.b *= p.c / static_cast<double>(elements(spec, out));
  p.far_a = far(a, Level::kL2);
  p.far_b = far(b, Level::kL2);
  p.far_c = far(out, Level::kL2) && !chain;
  p.fast = l1 + p.registers + in_common(Level::kL1);
  // The factor that vectors are of may stream.
  const LevelModel& from_l2 = target_.at(Level::kL2);
  p.element_c = static_cast<double>(from_l2.line_units) / per_line;
  const auto least_element = [&](const Operand& x) {
    const i64 units = is_in_vectors(spec, x, target_) ? from_l2.stream_units : from_l2.line_units;
    return static_cast<double>(units) / per_line;
  };
  p.element_a = least_element(a), p.element_b = least_element(b);
  i64 l2_traffic = std::max(once.l2, floor_units(bound_of(p)));
  i64 best = saturating_add(contraction, saturating_add(l2_traffic, memory));
  // A buffer may have vectors along another dimension, and larger tiles.
  u64 row = chain ? ~u64{0} : ceil_div(columns, lanes);
  p.visit = work.visit(row);
  auto units = [](i64 fixed) { return static_cast<double>(fixed) / (1 << Rates::kFraction); };
  const double io = bound_of(p);
  const i64 rate = rates_.rate(~u64{0}, row);
  double near = 0, far_and_near = 0;
  Contraction r = whole;
  r.a = static_cast<double>(points_of(spec, a.dims)), r.places_a = places_a;
  r.b = static_cast<double>(points_of(spec, b.dims)), r.places_b = places_b;
  if (std::min({r.points / r.a, r.points / r.b, r.points / r.c}) >= 2) {
    r.far_a = q.far_a, r.far_b = q.far_b, r.far_c = q.far_c;
    r.element_a = q.element_a, r.element_b = q.element_b, r.element_c = q.element_c;
    r.fast = std::max(l1, l2);
    r.fast_of_two = l1 + l2 + p.registers;
    add_runs(r, Level::kMemory, size_c);
    far_and_near = nest_of(r, size_c);
    r.far_a = p.far_a, r.far_b = p.far_b, r.far_c = p.far_c;
    r.fast = l1, r.visit = p.visit;
    r.fast_of_two = l1 + p.registers;
    add_runs(r, Level::kL2, size_c);
    r.element_c = p.element_c;
    r.element_a = r.element_b = p.element_c;
    const bool by_fma = Rates::sums_by_fma(spec, factors_of(spec));
    const i64 store = kUnitsPerCycle / static_cast<i64>(target_.stores_per_cycle) *
                      static_cast<i64>(kLineBytes / target_.vector_bytes);
    const auto streamed = [&](u64 least, u64 most) {  // of each product, what FMAs do not hide
      const i64 more = by_fma ? rates_.streaming(rate, least, most) : 0;
      return more == kInfinite ? kNoStream : units(more) / static_cast<double>(lanes);
    };
    const auto near_of = [&](const Contraction& nest, double size_sum) {
      double least_near = nest_of(nest, size_sum);
      for (bool stream_b : {false, true}) {
        const Operand& stream = stream_b ? b : a;
        if (stream.level < Level::kL2 || !is_in_vectors(spec, stream, target_)) continue;
        Contraction s = nest;
        // Visited by leaves alone, which have a price per product, or by its lines.
        (stream_b ? s.element_b : s.element_a) =
            by_fma || stream.windows ? 0 : least_element(stream);
        // A copy reads its lines, computes one store for a vector at least, and brings the buffer's
        // lines and takes them back. Of what a part streams, it has its share at least.
        const double copied = static_cast<double>(elements(spec, stream) * size_of(stream.dtype)) /
                              kLineBytes * static_cast<double>(3 * from_l2.line_units + store);
        const u64 least = least_vectors(spec, stream, target_), most = target_.vector_registers;
        double more = stream.windows ? 0 : streamed(least, most);
        if (!stream.free_layout && !stream.layout.packed() && !stream.windows) {
          more += copied / p.points;
          if (has_streams(spec, stream, target_)) {
            const u64 all = row_vectors(spec, stream, target_);
            more = std::min(more, streamed(std::max(least, all), all));
          }
        }
        least_near = std::min(least_near, nest_of(s, size_sum) + more);
      }
      return least_near;
    };
    near = near_of(r, size_c);
    // The results of a chain may have a buffer, which nobody brings at first or takes away at last.
    if (chain && far(out, Level::kL2)) {
      Contraction buffered = r;
      buffered.far_c = true;
      add_runs(buffered, Level::kL2, 1);
      near = std::max(near, near_of(buffered, 1) - 2 * p.element_c * whole.c / whole.points);
    }
    far_and_near += near;
  }
  const ProductPrice in_groups = Rates::sums_by_fma(spec, factors_of(spec))
                                     ? ProductPrice{}
                                     : rates_.products(spec)[true][false];
  const i64 widened = chain ? 0 : work.widening_units();
  const double depth = static_cast<double>(points_of(spec, spec.reduced()));
  auto together = [&](bool grouped, bool in_tiles, bool narrow) {
    double step = units(work.product(rate, grouped, narrow)) / static_cast<double>(lanes);
    if (!narrow) step += static_cast<double>(widened) / p.points;
    auto price = [&](const MemoryWay& way) {
      if (way.tiles && !in_tiles) return 1e18;
      if (!way.along_reduced) return units(way.group_units) / way.group;
      if (way.tiles) return units(rates_.group_units(way, spec)) / (way.group * in_groups.products);
      return std::max(units(way.group_units) / (way.group * in_groups.products),
                      units(in_groups.units) / way.group);
    };
    double any = step, least_near = step + near, least_all = step + far_and_near;
    for (const MemoryWay& way : rates_.memory_ways()) any = std::min(any, price(way));
    // What writes to memory itself visits nothing: worth it where products cost so little more.
    const double most = (io + 2 * p.fast * p.element_c) / p.points;  // that a product can save
    double part = 1;
    for (const MemoryWay& way : rates_.memory_ways()) {
      const i64 in_block = way.block ? rates_.block(way, spec).result : 0;
      const double result = units(way.result) + static_cast<double>(in_block);
      // Copies for tile registers are counted for all.
      const i64 packs = way.along_reduced && !way.tiles ? work.packing_units() : 0;
      if (packs >= kInfinite) continue;
      double each = price(way) + static_cast<double>(packs) / whole.points;
      if (result < p.visit) {
        each += result / depth;
        if (most > 0) part = std::min(part, (each - any) / most);
        least_near = std::min(least_near, each), least_all = std::min(least_all, each);
      } else {
        least_near = std::min(least_near, each + near);
        least_all = std::min(least_all, each + far_and_near);
      }
    }
    // One tile has no loop, of many each but one.
    const double loop = static_cast<double>(target_.prices.loop);
    const double last = work.stays() ? whole.c * p.visit : 0;  // that nobody makes
    const double visits = std::max(p.points * any + io * part, p.points * least_near - loop) - last;
    const i64 moved = std::max(saturating_add(memory, floor_units(visits)),
                               floor_units(p.points * least_all - loop - last));
    return saturating_add(moved, work.step_units());
  };
  i64 least = kInfinite;
  for (const bool narrow : {false, true}) {
    if (narrow && widened == 0) continue;
    least = std::min(least, together(false, false, narrow));
    if (work.grouping_units() < kInfinite)
      least = std::min(least, saturating_add(together(true, false, narrow), work.grouping_units()));
    if (tiles && work.tile_grouping_units() < kInfinite)
      least =
          std::min(least, saturating_add(together(true, true, narrow), work.tile_grouping_units()));
  }
  return std::max(best, least);
}

i64 Bounds::leaf(const Spec& spec) const {
  i64 best = kInfinite;
  for (const Microkernel* kernel : kernels_)
    if (kernel->applies(spec, target_)) best = std::min(best, kernel->cost(spec, target_));
  return best;
}

namespace {

/// From a register tile to memory: like a move of it, that has no choice but the microkernel.
bool is_step_of_tile(const Spec& spec) {
  return register_input(spec) >= 0 && !combines(spec) && is_chain(spec);
}

}  // namespace

i64 Bounds::bound(const Spec& spec, const Limits& limits, bool quick) const {
  // Register tiles have no loops and no choice but the microkernel.
  const bool only_tile = spec.operand_count == 1 && spec.out().level == Level::kRegister;
  if (is_single(spec) ? only_tile || register_input(spec) >= 0 : is_step_of_tile(spec))
    return leaf(spec);
  const bool parts = !is_chain(spec) || spec.diagonal.used() || bordered_operand(spec) >= 0 ||
                     (spec.window[0].used() && !contraction_of(spec));
  std::optional<ContractionBound> work;
  if (!parts && contraction_of(spec)) work.emplace(spec, target_, rates_);
  StageUnits of_stages;
  if (parts) of_stages = stages(spec, limits, quick);
  const Traffic once = traffic(spec, work ? work->units() : of_stages.hiding, of_stages.counted);
  i64 c = saturating_add(once.l2, once.memory);
  if (parts) {
    c = saturating_add(c, of_stages.all);
  } else if (work) {
    c = quick ? saturating_add(c, work->units()) : blocked(spec, limits, *work, once);
  } else if (spec.reduced() != 0) {
    const Stage& head = head_of(spec);
    const u64 points = least_combined(spec, spec.reduced(), volume(spec));
    c = saturating_add(c, reduction(spec, head, spec.all_dims(), points, true));
  } else {
    c = saturating_add(c, map(spec));
  }
  // Some of it, or all, may run on all processors, after at least one start of a parallel loop.
  if (!spec.serial) c = std::min(c, saturating_add(c / target_.processors, target_.parallel_units));
  // Either bound of the products of a graph may be the higher one.
  return parts && !quick ? std::max(c, bound(spec, limits, true)) : c;
}

}  // namespace morello

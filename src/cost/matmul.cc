// SPDX-License-Identifier: MIT
// Microkernels of contractions: outer products into a register tile, and dot products.
#include <algorithm>

#include "cost/held.hh"
#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {

std::optional<ContractionRoles> contraction_roles(const Spec& spec, DimMask around) {
  if (!is_single(spec) || !contraction_of(spec) || spec.operand_count != 3) return {};
  DimMask reduced = spec.reduced(), rest = static_cast<DimMask>(spec.all_dims() & ~reduced);
  reduced = static_cast<DimMask>(reduced & ~around);
  if (std::popcount(reduced) > 1 || std::popcount(rest) > 2) return {};
  ContractionRoles r;
  r.k = reduced ? static_cast<u8>(std::countr_zero(reduced)) : kNoDim;
  r.v = unit_dim(spec.out());
  if (r.v != kNoDim) rest = static_cast<DimMask>(rest & ~(1u << r.v));
  if (std::popcount(rest) > 1) return {};
  r.m = rest ? static_cast<u8>(std::countr_zero(rest)) : kNoDim;
  // The vector operand has v and not m; the broadcast one has not v.
  const auto [first, second] = factors_of(spec);
  auto fits = [&](int a, int b) {
    DimMask ad = spec.operand[a].dims, bd = spec.operand[b].dims;
    if (r.v != kNoDim && (has_dim(ad, r.v) || !has_dim(bd, r.v))) return false;
    return r.m == kNoDim || !has_dim(bd, r.m);
  };
  if (fits(first, second))
    r.a = first, r.b = second;
  else if (fits(second, first))
    r.a = second, r.b = first;
  else
    return {};
  r.rows = r.m == kNoDim ? 1 : spec.size[r.m];
  r.columns = r.v == kNoDim ? 1 : spec.size[r.v];
  r.depth = r.k == kNoDim ? 1 : spec.size[r.k];
  const Layout& b = spec.operand[r.b].layout;
  if (r.k != kNoDim && lane_group(spec.operand[r.b]) > 1 && b.fastest() == r.k &&
      b.block_of(r.k) == lane_group(spec.operand[r.b]))
    r.group = lane_group(spec.operand[r.b]);
  return r;
}

const Dot* dot_of(const Spec& spec, const ContractionRoles& r, const Target& t) {
  return dot_of(t, spec.operand[r.a].dtype, spec.operand[r.b].dtype, computed_dtype(spec), r.group);
}

const Dot* dot_along(const Spec& spec, const ContractionRoles& r, const Target& t) {
  const Dtype a = spec.operand[r.a].dtype, b = spec.operand[r.b].dtype, sum = computed_dtype(spec);
  if (size_of(a) == size_of(b) && size_of(a) < 4)
    if (const Dot* dot = dot_of(t, a, b, sum, lane_elements(a), false);
        dot && (dot->whole || a == b))
      return dot;
  return dot_of(t, a, b, sum, 1);
}

u32 outer_product_registers(u64 rows, u64 vecs, bool tail, const Target& t) {
  u64 extra = rows == 1 ? 1 : std::min(rows, vecs) + 1;
  if (tail && !t.has_masks) extra += rows == 1 ? 2 : 1;
  return static_cast<u32>(std::min<u64>(extra, 255));
}

i64 outer_product_step(u64 rows, u64 vecs, const Target& t) {
  i64 fma = static_cast<i64>(rows * vecs) * kUnitsPerCycle / t.fma_per_cycle;
  i64 loads = static_cast<i64>(rows + vecs) * kUnitsPerCycle / t.loads_per_cycle;
  return std::max({fma, loads, static_cast<i64>(t.fma_latency) * kUnitsPerCycle});
}

// Of 16 bits, vectors of half a line: vcvtph2ps took no time beside FMAs (Zen 3); on Intel it is
// two operations, one of them on a port that does no FMAs.
Widening widening_of(Dtype from, Dtype to, const Target& t) {
  if (from == to) return Widening::kNone;
  if (widens_by_order(from, to, t)) return Widening::kByOrder;
  return from == Dtype::kF16 && lines_are_pairs(t) ? Widening::kByOne : Widening::kByTwo;
}

i64 dot_step(const Dot& dot, u64 of_a, u64 of_b, Widening a, Widening b, bool a_is_ready,
             const Target& t) {
  // What makes floats of a vector finds half of the ports besides those of FMAs busy.
  const bool floats = dot.form == DotForm::kFma || dot.form == DotForm::kHalves;
  const i64 two_ports = i64{t.vector_per_cycle} + (floats ? t.fma_per_cycle : t.vector_per_cycle);
  const i64 sums = static_cast<i64>((of_a + dot.corrects) * of_b);
  const i64 fma = sums * dot.price * kUnitsPerCycle / (2 * t.fma_per_cycle);
  const auto vectors = [&](Widening how) {
    return static_cast<i64>((a == how ? of_a : 0) + (b == how ? of_b : 0));
  };
  const i64 orders = vectors(Widening::kByOrder);
  const i64 widening = vectors(Widening::kByTwo) * t.prices.widen + orders * t.prices.widen_bf16;
  const i64 loads = (static_cast<i64>(of_a + of_b) + orders) * kUnitsPerCycle / t.loads_per_cycle;
  const u32 latency = dot.latency ? dot.latency : t.fma_latency;
  const u64 made_ready = (dot.corrects ? 0 : of_b) + (dot.whole && !a_is_ready ? of_a : 0);
  const i64 ready = static_cast<i64>(made_ready) * dot.prepare;
  const i64 work = 2 * (sums * dot.instructions * dot.passes + ready) * kUnitsPerCycle /
                       (two_ports * dot.passes) +
                   2 * widening * t.fma_per_cycle / two_ports;
  const i64 pass = std::max({fma, loads, i64{latency} * kUnitsPerCycle, work});
  return pass * dot.passes;
}

namespace {

/// A store for each vector and pass.
i64 make_ready_units(const Dot& dot, const ContractionRoles& r, const Target& t) {
  const u64 vectors = ceil_div(r.depth, u64{t.vector_bytes});
  return saturating_mul(u64{r.rows} * dot.passes * vectors, kUnitsPerCycle);
}

/// Of a last group that is not whole each row's lane is shifted, or, where no group is before it,
/// made of single elements. What is ready needs neither.
i64 last_group_units(const Dot& dot, const ContractionRoles& r, bool a_is_ready) {
  if (!dot.whole || a_is_ready || r.depth % dot.group == 0) return 0;
  return saturating_mul(u64{r.rows} * (r.depth > dot.group ? 1 : 3), kUnitsPerCycle);
}

}  // namespace

u64 ready_bytes(const Dot& dot, const ContractionRoles& r, const Target& t) {
  constexpr u64 kMost = 7680;  // less than a quarter of any L1, and little of any stack
  if (!dot.whole || dot.prepare == 0) return 0;
  const u64 bytes = r.rows * dot.passes * ready_row_bytes(r.depth);
  if (bytes > kMost) return 0;
  const u64 vecs = ceil_div(r.columns, t.lanes(kElementBytes)), steps = r.depth / dot.group;
  constexpr Widening kNone = Widening::kNone;
  const i64 saved = dot_step(dot, r.rows, vecs, kNone, kNone, false, t) -
                    dot_step(dot, r.rows, vecs, kNone, kNone, true, t);
  return saturating_mul(steps, saved) > make_ready_units(dot, r, t) ? bytes : 0;
}

// Lines are written to L1 beside the loads of a step, in the time of one: registers of 24 x 1
// vectors, of which each step loads 25, lost 8% to 12 x 2 (Granite Rapids). The arithmetic hides
// the rest, as far as it takes longer: 12 x 2, 8 x 3 and 6 x 4 were as fast with vectors from L2 as
// from L1, 4 x 6 and 3 x 8 were not.
i64 streaming_units(u64 steps, i64 step, u64 loads, u64 lines, const Target& t) {
  const LevelModel& l2 = t.at(Level::kL2);
  const i64 ports = static_cast<i64>(steps * loads + lines) * kUnitsPerCycle / t.loads_per_cycle;
  const i64 all =
      std::max({saturating_mul(steps, step), ports, saturating_mul(lines, l2.line_units)});
  return saturating_add(all, saturating_mul(lines, l2.stream_units));
}

namespace {

bool in_memory(const Operand& o) { return o.level != Level::kRegister && !o.free_layout; }
bool in_memory_unpacked(const Operand& o) { return in_memory(o) && !o.layout.packed(); }

bool widens(const Dot& dot, Dtype from, Dtype sum) { return !dot.whole && from != sum; }

bool outer_product_applies(const Spec& spec, const Target& t) {
  if (spec.out().level != Level::kRegister || spec.out().access != Access::kInOut) return false;
  auto r = contraction_roles(spec);
  if (!r || spec.out().dtype != computed_dtype(spec)) return false;
  const Operand &a = spec.operand[r->a], &b = spec.operand[r->b];
  if (!in_memory_unpacked(a) || !in_memory(b)) return false;
  // Groups are the only blocks.
  if (b.layout.count() != std::popcount(b.dims) + (r->group > 1)) return false;
  if (r->v != kNoDim && lane_dim(b) != r->v) return false;
  const Dot* dot = dot_of(spec, *r, t);
  return dot && (!dot->whole || unit_dim(a) == r->k);
}

/// Does a row by itself need no register for what it multiplies? What instructions do not take from
/// memory is loaded first: a part of a vector, but for floats that a mask selects, and of a group.
bool multiplies_memory(const Spec& spec, const ContractionRoles& r, const Dot& dot, bool tail,
                       const Target& t) {
  if (r.depth % dot.group != 0) return false;
  if (tail && (dot.form != DotForm::kFma || !t.has_masks)) return false;
  return takes_from_memory(dot, spec.operand[r.b].dtype, computed_dtype(spec));
}

u32 outer_product_extra(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  u32 lanes = computed_lanes(spec, t);
  const u64 vecs = ceil_div(r->columns, lanes);
  const bool tail = r->columns % lanes != 0;
  const Dot& dot = *dot_of(spec, *r, t);
  const u32 sums = dot.corrects ? static_cast<u32>(std::min<u64>(vecs, 255)) : 0;
  u32 registers = outer_product_registers(r->rows, vecs, tail, t);
  if (r->rows == 1 && !multiplies_memory(spec, *r, dot, tail, t))
    registers = std::max(registers, 2u + (tail && !t.has_masks));
  return registers + dot.spare + sums;
}

/// Of runs of an operand, which fold into sets of L1, so many have room for a line of each.
u64 room_in_sets(const Spec& spec, const Operand& x, u8 along, const Target& t) {
  int fold = run_alias(x);
  if (x.contig > 1) {  // runs are next to each other
    const u64 lines = whole_lines(u64{spec.size[along]} * size_of(x.dtype));
    fold = lines == 0 ? 0 : std::countr_zero(lines);
  }
  return (t.at(Level::kL1).bytes / kLineBytes) >> std::min<int>(fold, kMaxAliasL1);
}

/// So many runs are read in turns, `bytes` of each. Where these fold into sets of L1 that have no
/// room for a line of each, a line is gone before its next part is read, and comes once for each of
/// them.
i64 refetch_units(const Spec& spec, const Operand& x, u8 along, u64 turns, u64 bytes,
                  const Target& t) {
  if (x.level <= Level::kL1 || bytes >= kLineBytes) return 0;
  if (turns <= room_in_sets(spec, x, along, t)) return 0;
  const u64 again = (kLineBytes / bytes - 1) * footprint(spec, x).lines;
  return saturating_mul(again, t.at(Level::kL2).line_units);
}

/// Does it come from L2, or through it, in one run, in the order in which it is used?
bool is_stream(const Spec& spec, const Operand& x, u64 steps, const Target& t) {
  return may_stream(x, t) && x.level >= Level::kL2 && x.access == Access::kIn && is_dense(x) &&
         fills_l1(spec, x, t) && steps >= least_streamed_depth(t);
}

i64 outer_product_cost(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  const Dot& dot = *dot_of(spec, *r, t);
  const Dtype sum = computed_dtype(spec);
  u64 vecs = ceil_div(r->columns, computed_lanes(spec, t));
  const bool widens_a = widens(dot, spec.operand[r->a].dtype, sum);
  const bool widens_b = r->group == 1 && widens(dot, spec.operand[r->b].dtype, sum);
  const Widening of_rows = widens_a ? Widening::kByTwo : Widening::kNone;
  const Widening of_vectors =
      widens_b ? widening_of(spec.operand[r->b].dtype, sum, t) : Widening::kNone;
  const bool a_is_ready = ready_bytes(dot, *r, t) != 0;
  const i64 step = dot_step(dot, r->rows, vecs, of_rows, of_vectors, a_is_ready, t);
  const u64 steps = ceil_div(r->depth, dot.group);
  const Operand &a = spec.operand[r->a], &b = spec.operand[r->b];
  i64 c = traffic_units(spec, b, t);
  if (is_stream(spec, b, steps, t)) {
    const u64 lines = footprint(spec, b).lines;
    c -= saturating_mul(lines, t.at(Level::kL2).line_units);
    c = saturating_add(c, streaming_units(steps, step, r->rows + vecs, lines, t));
  } else {
    c = saturating_add(c, saturating_mul(steps, step));
  }
  c = saturating_add(c, last_group_units(dot, *r, a_is_ready));
  if (a_is_ready) c = saturating_add(c, make_ready_units(dot, *r, t));
  if (dot.corrects)  // a row is cleared, then subtracted from the others
    c = saturating_add(c, saturating_mul(vecs * (r->rows + 1), t.prices.op[0]));
  c = saturating_add(c, t.prices.call);
  if (r->k != kNoDim && unit_dim(a) == r->k)  // an element of each row, or a group of them
    c = saturating_add(c, refetch_units(spec, a, r->k, r->rows, dot.group * size_of(a.dtype), t));
  return saturating_add(c, traffic_units(spec, a, t));
}

/// Rows that are read once, a line of each in turns, where sets have no room for as many as there
/// are registers: what is asked for ahead is gone. Rows of 2, 4 and 8 KiB one after another
/// were 1.2 to 3.9 times as fast as 24 in turns (Zen 5); others, of 700 or 1000 numbers, took up
/// to 1.2 times as long. A cycle for each line is the least that makes such programs win. Vectors
/// of half a line did not gain as much, or lost.
i64 turn_units(const Spec& spec, const ContractionRoles& r, const Target& t) {
  const Operand& x = spec.operand[r.b];
  if (r.rows > 1 || r.columns == 1 || t.vector_bytes < kLineBytes) return 0;
  if (room_in_sets(spec, x, r.k, t) >= t.vector_registers) return 0;
  const u64 bytes = u64{r.depth} * size_of(x.dtype);
  return saturating_mul(bytes / kLineBytes * r.columns, kUnitsPerCycle);
}

bool dot_product_applies(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  if (!r || r->k == kNoDim) return false;
  for (int o = 0; o < 3; o++)
    if (!in_memory_unpacked(spec.operand[o])) return false;
  if (spec.out().dtype != computed_dtype(spec) || !dot_along(spec, *r, t)) return false;
  return unit_dim(spec.operand[r->a]) == r->k && unit_dim(spec.operand[r->b]) == r->k;
}

u32 dot_product_extra(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  u64 results = u64{r->rows} * r->columns;
  u64 n = results * dot_chains(results) + std::min(r->rows, r->columns) + 1;
  const Dot& dot = *dot_along(spec, *r, t);
  if (!t.has_masks && r->depth % computed_lanes(spec, t) != 0) n++;
  n += std::max<u64>(dot.spare, dot_of(spec, *r, t)->spare);
  return static_cast<u32>(std::min<u64>(n, 255));
}

i64 dot_product_cost(const Spec& spec, const Target& t) {
  auto r = contraction_roles(spec);
  const Dot& dot = *dot_along(spec, *r, t);
  const Dtype sum = computed_dtype(spec);
  u64 results = u64{r->rows} * r->columns;
  u64 steps = ceil_div(r->depth, computed_lanes(spec, t) * dot.group);
  Dot ready = dot;
  ready.whole = dot.group > 1;  // vectors of both factors
  ready.latency =
      static_cast<u8>((dot.latency ? dot.latency : t.fma_latency) / dot_chains(results));
  const auto widening = [&](int o) {
    return dot.group == 1 ? widening_of(spec.operand[o].dtype, sum, t) : Widening::kNone;
  };
  i64 c = saturating_mul(
      steps, dot_step(ready, r->rows, r->columns, widening(r->a), widening(r->b), false, t));
  c = saturating_add(c, saturating_mul(results, t.prices.dot_result));
  c = saturating_add(c, t.prices.call);
  for (int o = 0; o < 3; o++) c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  const u64 elements = u64{computed_lanes(spec, t)} * dot.group, turns = r->rows + r->columns;
  for (int o : {r->a, r->b}) {
    const Operand& x = spec.operand[o];
    c = saturating_add(c, refetch_units(spec, x, r->k, turns, elements * size_of(x.dtype), t));
  }
  return saturating_add(c, turn_units(spec, *r, t));
}

u32 outer_product_tile(u64 rows, u64 vecs, const Target& t) {
  return outer_product_registers(rows, vecs, false, t);
}

}  // namespace

Rate dot_product_rate(Duty duty, const Target& t) {
  if (duty != Duty::kContract) return kNever;
  return {.call = t.prices.call,
          .element = t.prices.dot_result,
          .group = t.lanes(kElementBytes),
          .group_units = kUnitsPerCycle / t.fma_per_cycle,
          .along_reduced = true,
          .stages = 1};
}

Rate outer_product_rate(Duty duty, const Target& t) {
  if (duty != Duty::kTile) return kNever;
  return {.call = t.prices.call,
          .step = outer_product_step,
          .extra = outer_product_tile,
          .along = true,
          .adds = true,
          .stages = 1};
}

bool adds_floats_to_tile(const Spec& spec) {
  const Operand& out = spec.out();
  return is_single(spec) && contraction_of(spec) && spec.reduced() != 0 &&
         out.level == Level::kRegister && out.access == Access::kInOut &&
         out.dtype == Dtype::kF32 && computed_dtype(spec) == Dtype::kF32;
}

bool is_float_in_memory(const Operand& factor) {
  return in_memory_unpacked(factor) && computed_in(factor.dtype) == Dtype::kF32;
}

extern const Microkernel kOuterProduct = {MicrokernelId::kOuterProduct,
                                          outer_product_applies,
                                          outer_product_extra,
                                          outer_product_cost,
                                          whole,
                                          outer_product_rate};
extern const Microkernel kDotProduct = {MicrokernelId::kDotProduct,
                                        dot_product_applies,
                                        dot_product_extra,
                                        dot_product_cost,
                                        whole,
                                        dot_product_rate};

}  // namespace morello

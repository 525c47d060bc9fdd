// SPDX-License-Identifier: MIT
// Microkernels without a reduction: elementwise chains, copies, fills, transposes.
#include <algorithm>
#include <bit>

#include "cost/held.hh"
#include "cost/map_registers.hh"
#include "cost/model.hh"
#include "cost/recipe.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

bool is_map(const Spec& spec) { return !combines(spec) && (is_chain(spec) || is_web(spec)); }

/// Vectors, or single elements, that one pass over the iteration space handles.
u64 steps(const Spec& spec, u8 along, u32 lanes) {
  u64 n = 1;
  for (int d = 0; d < spec.rank; d++)
    if (__builtin_mul_overflow(n, d == along ? ceil_div(spec.size[d], lanes) : u64{spec.size[d]},
                               &n))
      return ~u64{0} >> 1;
  return n;
}

i64 all_traffic(const Spec& spec, const Target& t) {
  i64 c = 0;
  for (int o = 0; o < spec.operand_count; o++)
    c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

/// All along the `count` fastest dimensions of the output, one at a time along the others. A
/// register tile is taken whole.
Portions fastest(const Spec& spec, int count) {
  Portions p{};
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister) return p;
  const Layout& layout = spec.out().layout;
  for (int i = 0; i + count < layout.count(); i++) p[layout.dim[i]] = 1;
  return p;
}

bool map_applies(const Spec& spec, const Target&) {
  if (!is_map(spec) || spec.rank > 3 || !is_convertible(spec)) return false;
  u8 v = unit_dim(spec.out());
  if (spec.rank > 0 && v == kNoDim && spec.out().level != Level::kRegister) return false;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.layout.packed() || x.free_layout) return false;
    if (x.level == Level::kRegister && unit_dim(x) != v) return false;
    if (v == kNoDim ? false : has_dim(x.dims, v) && unit_dim(x) != v) return false;
  }
  return true;
}

u32 map_extra(const Spec& spec, const Target& t) {
  return map_registers(moves_rows(spec) ? move_of_lanes(spec) : spec, t, false).count();
}

Portions map_portions(const Spec& spec) { return fastest(spec, 2); }

/// Of rows of narrow elements as they are: vectors of all their bytes, and what is left of them.
i64 row_copy_cost(const Spec& spec, const Target& t) {
  const u8 v = unit_dim(spec.out());
  const u32 lanes = moved_lanes(spec, t);
  const u64 rows = volume(spec) / spec.size[v], vecs = ceil_div(spec.size[v], lanes);
  const i64 vector =
      std::max(kUnitsPerCycle / static_cast<i64>(t.stores_per_cycle), stage_units(spec, 0, t));
  i64 row = saturating_add(t.prices.map_row, saturating_mul(vecs, vector));
  if (left_of_row(spec) != 0) row += t.prices.scalar_element;
  if (spec.size[v] % lanes != 0 && !t.has_masks) row += t.prices.odd_store;
  i64 c = saturating_add(saturating_mul(rows, row), loop_units(spec, map_portions(spec), t));
  return saturating_add(saturating_add(c, t.prices.call), all_traffic(spec, t));
}

i64 map_cost(const Spec& spec, const Target& t) {
  if (moves_rows(spec)) return row_copy_cost(spec, t);
  u8 v = unit_dim(spec.out());
  u32 lanes = computed_lanes(spec, t);
  bool tail = v != kNoDim && spec.size[v] % lanes != 0;
  u64 n = steps(spec, v, lanes), vecs = v == kNoDim ? 1 : ceil_div(spec.size[v], lanes);
  u64 loads = 0;
  for (int o = 0; o + 1 < spec.operand_count; o++)
    loads += spec.operand[o].level != Level::kRegister;
  bool out_in_memory = spec.out().level != Level::kRegister;
  if (!out_in_memory && head_of(spec).op == Op::kFill) return saturating_mul(n, t.prices.clear);
  if (spec.out().access == Access::kInOut && out_in_memory) loads++;
  i64 work =
      std::max<i64>({static_cast<i64>(loads) * kUnitsPerCycle / t.loads_per_cycle,
                     out_in_memory ? kUnitsPerCycle / static_cast<i64>(t.stores_per_cycle) : 0,
                     stage_units(spec, 0, t) + conversion_units(spec, t)});
  i64 c = saturating_mul(n, work);
  // A register tile is unrolled; in memory every row starts and ends a loop.
  u64 rows = n / vecs;
  bool unrolled = !out_in_memory || register_input(spec) >= 0;
  if (!unrolled) c = saturating_add(c, saturating_mul(rows, t.prices.map_row));
  c = saturating_add(c, loop_units(spec, map_portions(spec), t));
  if (tail && !t.has_masks && out_in_memory)
    c = saturating_add(c, saturating_mul(rows, t.prices.odd_store));
  return saturating_add(saturating_add(c, unrolled ? t.prices.tile_call : t.prices.call),
                        all_traffic(spec, t));
}

bool scalar_map_applies(const Spec& spec, const Target&) {
  if (!is_map(spec) || spec.rank > 4 || !is_convertible(spec)) return false;
  int in_registers = 0;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.layout.packed() || x.free_layout) return false;
    in_registers += x.level == Level::kRegister;
  }
  if (in_registers == 0) return true;
  // Loading or storing a register tile whose vectors do not run along its memory, as it is.
  if (in_registers > 1 || spec.operand_count != 2 || !is_single(spec) ||
      head_of(spec).op != Op::kCopy || rounds_lanes(spec, head_of(spec)))
    return false;
  u8 a = unit_dim(spec.operand[source_of(spec)]), b = unit_dim(spec.out());
  return a != b || a == kNoDim;
}

u32 scalar_map_extra(const Spec& spec, const Target& t) {
  return map_registers(spec, t, true).count();
}

Portions scalar_map_portions(const Spec& spec) { return fastest(spec, 1); }

i64 scalar_map_cost(const Spec& spec, const Target& t) {
  i64 element = std::max(t.prices.scalar_element, scalar_ops(spec, 0, t));
  i64 c = saturating_mul(volume(spec), element + conversion_units(spec, t));
  c = saturating_add(c, loop_units(spec, scalar_map_portions(spec), t));
  return saturating_add(saturating_add(c, t.prices.call), all_traffic(spec, t));
}

/// Neighbours in the source that share a lane of the copy move together.
bool moves_lanes(const Spec& spec) {
  const Operand &in = spec.operand[source_of(spec)], &out = spec.out();
  return lane_group(out) > 1 && unit_dim(in) == out.layout.fastest();
}

bool transpose_applies(const Spec& spec, const Target&) {
  if (spec.rank != 2 || !is_single(spec) || head_of(spec).op != Op::kCopy) return false;
  if (rounds_lanes(spec, head_of(spec))) return false;
  if (!is_convertible(spec)) return false;
  for (int o = 0; o < 2; o++) {
    const Operand& x = spec.operand[o];
    if (x.free_layout || x.level == Level::kRegister) return false;
    if (x.dims != 3 || unit_dim(x) == kNoDim) return false;
  }
  const Operand &in = spec.operand[source_of(spec)], &out = spec.out();
  if (in.layout.packed()) return false;
  if (moves_lanes(spec))
    return in.dtype == out.dtype && out.layout.count() == 3 && lane_dim(out) != kNoDim &&
           lane_dim(out) != unit_dim(in);
  return !out.layout.packed() && unit_dim(in) != unit_dim(out);
}

u32 transpose_registers(const Spec&, const Target&) { return 16; }

/// Several blocks at a time, so that a cache line of the source is read once.
Portions transpose_portions(const Spec& spec) {
  Portions p = {16, 16};
  if (const u32 group = lane_group(spec.out()); group > 1) p[unit_dim(spec.out())] *= group;
  return p;
}

/// Narrow elements cost at least a third of others: pairs of bytes, 32 by two shuffles, less.
i64 narrow_element(const Target& t) { return t.prices.transpose_block / 192; }

/// Up to 8 rows of 16 bytes: as many registers are shuffled once for each doubling of the rows.
i64 narrow_transpose_units(const Spec& spec, const Target& t) {
  const u64 from = spec.size[unit_dim(spec.operand[source_of(spec)])];
  const u64 to = spec.size[unit_dim(spec.out())], bytes = size_of(spec.out().dtype);
  auto shuffles = [](u64 rows) {
    const u64 all = std::bit_ceil(rows);
    return all * std::max<u64>(1, static_cast<u64>(std::countr_zero(all)));
  };
  const u64 rows = to / 8 * shuffles(8) + (to % 8 != 0 ? shuffles(to % 8) : 0);
  i64 c = saturating_mul(ceil_div(from * bytes, 16) * rows, t.prices.transpose_block / 24);
  // Columns that do not fill registers are stored one by one.
  if (to > 8 || !std::has_single_bit(to))
    c = std::max(c, saturating_mul(from * ceil_div(to, 8), kUnitsPerCycle / t.stores_per_cycle));
  return std::max(c, saturating_mul(volume(spec), narrow_element(t)));
}

/// Blocks of lanes; what last groups have is brought by itself.
i64 lane_transpose_units(const Spec& spec, const Target& t) {
  const u8 grouped = unit_dim(spec.out()), along = lane_dim(spec.out());
  const u64 lanes = spec.size[grouped] / lane_group(spec.out()), columns = spec.size[along];
  i64 c = saturating_mul(ceil_div(lanes, 8) * ceil_div(columns, 8), t.prices.transpose_block);
  if (spec.size[grouped] % lane_group(spec.out()) != 0)
    c = saturating_add(c, saturating_mul(columns, t.prices.scalar_element));
  return std::max(c, saturating_mul(volume(spec), narrow_element(t)));
}

i64 transpose_cost(const Spec& spec, const Target& t) {
  // Blocks of 8x8: 8 loads, 24 shuffles, 8 stores.
  u64 blocks = ceil_div(spec.size[0], 8) * ceil_div(spec.size[1], 8);
  const bool narrow = size_of(held_in(spec, head_of(spec))) < 4;
  const i64 block = t.prices.transpose_block + (narrow ? 0 : 8 * conversion_units(spec, t));
  i64 c = moves_lanes(spec) ? lane_transpose_units(spec, t)
          : narrow          ? narrow_transpose_units(spec, t)
                            : saturating_mul(blocks, block);
  c = saturating_add(c, loop_units(spec, transpose_portions(spec), t));
  return saturating_add(saturating_add(c, t.prices.call), all_traffic(spec, t));
}

Rate map_rate(Duty duty, const Target& t) {
  Rate r{.call = t.prices.tile_call, .vector_ops = 16, .along = true};
  switch (duty) {
    case Duty::kFill:
      return {.vector = t.prices.clear};
    case Duty::kLoad:
      return r;
    case Duty::kMap:
      r.call = t.prices.call;
      r.row = t.prices.map_row;
      [[fallthrough]];
    case Duty::kStore:
      r.vector = kUnitsPerCycle / t.stores_per_cycle;
      r.odd = t.has_masks ? 0 : t.prices.odd_store;
      r.fastest = true;
      return r;
    default:
      return kNever;
  }
}

Rate scalar_map_rate(Duty duty, const Target& t) {
  if (duty == Duty::kTile || duty == Duty::kContract || duty == Duty::kReduce ||
      duty == Duty::kFill)
    return kNever;
  return {.call = t.prices.call, .element = t.prices.scalar_element, .element_ops = 16};
}

Rate transpose_rate(Duty duty, const Target& t) {
  Rate r = {.call = t.prices.call, .rank = 2, .stages = 1};
  if (duty != Duty::kRelayout && duty != Duty::kNarrowRelayout) return kNever;
  const bool blocks = duty == Duty::kRelayout;  // of 8x8
  r.element = blocks ? t.prices.transpose_block / 64 : narrow_element(t);
  r.side = blocks ? 8 : 1;
  return r;
}

}  // namespace

i64 stage_units(const Spec& spec, int first, const Target& t) {
  i64 units = 0;
  for (int s = first; s < spec.stage_count; s++)
    units += op_units(spec.stage[s].op, spec.stage[s].dtype, t);
  return units;
}

i64 scalar_ops(const Spec& spec, int first, const Target& t) {
  i64 units = 0;
  for (int s = first; s < spec.stage_count; s++)
    units += scalar_op_units(spec.stage[s].op, spec.stage[s].dtype, t);
  return units;
}

extern const Microkernel kMap = {MicrokernelId::kMap, map_applies, map_extra, map_cost,
                                 map_portions,        map_rate};
extern const Microkernel kScalarMap = {MicrokernelId::kScalarMap, scalar_map_applies,
                                       scalar_map_extra,          scalar_map_cost,
                                       scalar_map_portions,       scalar_map_rate};
extern const Microkernel kTranspose = {MicrokernelId::kTranspose, transpose_applies,
                                       transpose_registers,       transpose_cost,
                                       transpose_portions,        transpose_rate};

}  // namespace morello

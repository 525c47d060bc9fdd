// SPDX-License-Identifier: MIT
#include "cost/bounds.hh"

#include <algorithm>
#include <cmath>

#include "cost/families.hh"
#include "cost/io_bound.hh"

namespace morello {

Bounds::Bounds(const Target& target) : target_(target) {
  u32 n = target.vector_registers;
  rate_.assign(static_cast<size_t>(n + 1) * (n + 1), kInfinite);
  tile_.assign(rate_.size(), 1);
  for (u32 rows = 1; rows <= n; rows++)
    for (u32 vecs = 1; vecs <= n; vecs++) {
      i64 best = std::min(rate_[(rows - 1) * (n + 1) + vecs], rate_[rows * (n + 1) + vecs - 1]);
      u32 most = std::max(tile_[(rows - 1) * (n + 1) + vecs], tile_[rows * (n + 1) + vecs - 1]);
      if (u64{rows} * vecs + outer_product_registers(rows, vecs, false, target) <= n) {
        i64 step = outer_product_step(rows, vecs, target);
        best = std::min(best, (step << kFraction) / (rows * vecs));
        most = std::max(most, rows * vecs);
      }
      rate_[rows * (n + 1) + vecs] = best;
      tile_[rows * (n + 1) + vecs] = most;
    }
}

size_t Bounds::index(u64 rows, u64 vecs) const {
  u64 n = target_.vector_registers;
  return std::min(rows, n) * (n + 1) + std::min(vecs, n);
}

// Every result belongs to a vector of an outer product, or to a dot product or scalar loop of its
// own. With the columns dealt out to the two, only whole vectors and the remainder matter, for a
// column of its own costs at least its share of a full vector.
i64 Bounds::contraction(const Spec& spec) const {
  const Operand& out = spec.out();
  u64 lanes = target_.lanes(size_of(out.dtype));
  u64 depth = 1, results = 1;
  for (int d = 0; d < spec.rank; d++)
    (has_dim(spec.reduced(), d) ? depth : results) *= spec.size[d];
  u8 v = unit_dim(out);
  u64 columns = v == kNoDim ? 1 : spec.size[v], rows = results / columns;
  u64 full = columns / lanes, rest = columns % lanes;

  size_t best_tile = index(rows, full + (rest != 0));
  i64 per_step = rate_[best_tile];
  i64 per_vector = static_cast<i64>(static_cast<__int128>(depth) * per_step >> kFraction);
  bool in_registers = out.level == Level::kRegister;
  // Stores, and zeroing or loading; element by element where the output has no unit dimension. A
  // last vector that is not full is stored in parts where there are no masks, or is no vector at
  // all.
  i64 odd = 0;
  if (!in_registers) {
    bool loads = out.access == Access::kInOut, elementwise = v == kNoDim && results > 1;
    i64 store = elementwise ? kScalarElementUnits : kUnitsPerCycle / target_.stores_per_cycle;
    per_vector += store + (loads && elementwise ? kScalarElementUnits : kUnitsPerCycle / 4);
    if (v != kNoDim && rest && !target_.has_masks)
      odd = std::min<i64>(kOddStoreUnits, static_cast<i64>(rest) * kScalarElementUnits - store);
  }
  // Compute, store, and with an accumulating output load each tile; and a loop around all but one.
  i64 loop = in_registers ? 0 : kLoopUnits, per_tile = loop;
  if (!in_registers)
    per_tile += kCallUnits + (out.access == Access::kInOut ? 2 : 1) * kTileCallUnits;
  // Operands whose fastest dimension is not what the microkernel reads are brought into another
  // layout first, which costs this much per element, once for all rows.
  i64 outer_pack = 0, dot_pack = 0;
  for (i8 in : {spec.stage[0].in0, spec.stage[0].in1}) {
    const Operand& x = spec.operand[in];
    if (x.free_layout || x.dims == 0) continue;
    i64 units = x.level > Level::kL1 ? kTransposeBlockUnits / 64 : kInfinite;
    u8 unit = unit_dim(x);
    bool has_depth = (x.dims & spec.reduced()) != 0;
    if (v != kNoDim && has_dim(x.dims, v)) {
      if (unit != v) outer_pack = units;
      if (has_depth && !has_dim(spec.reduced(), unit)) dot_pack = units;
    }
  }
  auto packed = [&](i64 units, u64 n) { return saturating_mul(depth, saturating_mul(n, units)); };
  i64 per_dot = static_cast<i64>(ceil_div(depth, lanes)) * kUnitsPerCycle / target_.fma_per_cycle +
                kDotResultUnits;
  i64 per_scalar = saturating_mul(depth, kScalarStepUnits);
  auto cheapest = [&](u64 vecs, u64 n, bool first) {  // of n columns, `vecs` vectors, in all rows
    u64 all = rows * vecs, size = tile_[best_tile];
    u64 tiles = first ? ceil_div(all, size) : all / size;
    i64 outer = saturating_add(saturating_mul(all, per_vector), packed(outer_pack, n));
    outer = saturating_add(outer, saturating_mul(tiles, per_tile) - (first ? loop : 0));
    if (n < lanes) outer = saturating_add(outer, saturating_mul(rows, odd));
    i64 dot = saturating_add(saturating_mul(rows, saturating_mul(n, per_dot)), packed(dot_pack, n));
    i64 scalar = saturating_mul(rows, saturating_mul(n, per_scalar));
    return std::min({outer, dot, scalar});
  };
  i64 c = 0;
  if (full) c = saturating_add(c, cheapest(full, full * lanes, true));
  if (rest) c = saturating_add(c, cheapest(1, rest, full == 0));
  return in_registers ? saturating_add(c, kCallUnits) : std::max(c, kCallUnits);
}

// The stages after a contraction, at best on its register tile: in vectors along the output, or one
// by one where an operand runs another way.
i64 Bounds::epilogue(const Spec& spec) const {
  if (spec.stage_count < 2) return 0;
  u8 v = unit_dim(spec.out());
  bool vectors_fit = v != kNoDim;
  for (int s = 1; s < spec.stage_count; s++)
    for (i8 in : {spec.stage[s].in0, spec.stage[s].in1})
      if (in >= 0 && v != kNoDim && has_dim(spec.operand[in].dims, v))
        vectors_fit &= unit_dim(spec.operand[in]) == v || spec.operand[in].free_layout;
  u64 results = 1;
  for (int d = 0; d < spec.rank; d++)
    if (!has_dim(spec.reduced(), d)) results *= spec.size[d];
  i64 work = (spec.stage_count - 1) * kUnitsPerCycle / 2;
  // One by one, in memory or in registers of one element each.
  if (!vectors_fit) return saturating_mul(results, std::min(kScalarElementUnits, work));
  u64 lanes = target_.lanes(size_of(spec.out().dtype)), columns = spec.size[v];
  u64 rows = results / columns, vecs = ceil_div(columns, lanes), all = rows * vecs;
  i64 in_tile = saturating_add(saturating_mul(all, work),
                               saturating_mul(all / tile_[index(rows, vecs)], kTileCallUnits));
  i64 after = std::max(work, kUnitsPerCycle / i64{target_.stores_per_cycle});
  after = saturating_add(saturating_mul(all, after), saturating_mul(rows, kMapRowUnits));
  return std::min(in_tile, after);
}

// Rows of vectors, or of single elements; a copy between different fastest dimensions in blocks, or
// element by element. Panels split rows, which makes them no cheaper.
i64 Bounds::map(const Spec& spec) const {
  const Operand& out = spec.out();
  u8 v = unit_dim(out);
  u64 lanes = target_.lanes(size_of(out.dtype)), points = volume(spec);
  bool to_memory = out.level != Level::kRegister;
  i64 scalar = saturating_mul(points, kScalarElementUnits);
  if (to_memory && v != kNoDim && spec.stage[0].op == Op::kCopy && spec.operand_count == 2) {
    const Operand& in = spec.operand[0];
    if (in.level != Level::kRegister && has_dim(in.dims, v) && unit_dim(in) != v) {
      // Blocks are of one slice of the two dimensions each.
      u64 area = u64{spec.size[v]} * (unit_dim(in) == kNoDim ? 1 : spec.size[unit_dim(in)]);
      u64 slices = points / area;
      i64 slice = saturating_mul(area, kTransposeBlockUnits / 64) + kCallUnits + kLoopUnits;
      slice = std::min(slice, saturating_mul(area, kScalarElementUnits));
      return std::max(kCallUnits, saturating_mul(slices, slice) - kLoopUnits);
    }
  }
  if (!to_memory) return 0;
  bool vectors_fit = v != kNoDim || spec.rank == 0;
  for (int o = 0; o < spec.operand_count; o++)
    vectors_fit &=
        v == kNoDim || !has_dim(spec.operand[o].dims, v) || unit_dim(spec.operand[o]) == v;
  if (!vectors_fit) return saturating_add(kTileCallUnits, scalar);
  if (v == kNoDim) return kTileCallUnits;
  u64 columns = out.layout.packed() ? out.layout.pack : spec.size[v];
  bool tile = spec.operand_count > 1 && spec.operand[0].level == Level::kRegister;
  i64 row = saturating_mul(columns / lanes, kUnitsPerCycle / target_.stores_per_cycle);
  if (!tile) row = saturating_add(row, kMapRowUnits);
  row = std::min(row, saturating_mul(columns, kScalarElementUnits));
  return saturating_add(tile ? kTileCallUnits : kCallUnits, saturating_mul(points / columns, row));
}

Bounds::Traffic Bounds::traffic(const Spec& spec) const {
  // Whatever its program, every line of an operand comes once from each level it has to pass.
  Traffic t;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level < Level::kL2) continue;
    Footprint f = footprint(spec, x);
    if (x.layout.packed()) f.lines = ceil_div(elements(spec, x) * size_of(x.dtype), kLineBytes);
    i64 times = x.access == Access::kIn ? 1 : 2;
    auto price = [&](Level level) {
      i64 units = saturating_mul(f.lines, target_.at(level).line_units);
      if (x.far && !x.layout.packed())
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
i64 Bounds::blocked(const Spec& spec, const Limits& limits, i64 contraction,
                    const Traffic& once) const {
  i64 plain = saturating_add(contraction, saturating_add(once.l2, once.memory));
  const Operand& out = spec.out();
  const Operand& a = spec.operand[spec.stage[0].in0];
  const Operand& b = spec.operand[spec.stage[0].in1];
  u8 v = unit_dim(out);
  DimMask twice =
      static_cast<DimMask>((a.dims & b.dims) | (a.dims & out.dims) | (b.dims & out.dims));
  if (spec.reduced() == 0 || out.level == Level::kRegister || v == kNoDim ||
      spec.stage[0].in0 == spec.stage[0].in1 || twice != spec.all_dims())
    return plain;
  u64 lanes = target_.lanes(size_of(out.dtype)), columns = spec.size[v];
  Contraction p;
  p.points = static_cast<double>(volume(spec));
  p.a = static_cast<double>(elements(spec, a));
  p.b = static_cast<double>(elements(spec, b));
  p.c = static_cast<double>(elements(spec, out));
  double per_line = kLineBytes / size_of(out.dtype);
  p.registers = target_.vector_registers * static_cast<double>(lanes);
  // From memory to L2. A chain may keep its results in a new buffer, which nobody brings.
  auto far = [&](const Operand& x, Level level) { return x.level >= level; };
  bool chain = spec.stage_count > 1;
  double l1 = static_cast<double>(lines_of_code(limits.at(Level::kL1))) * per_line;
  double l2 = static_cast<double>(lines_of_code(limits.at(Level::kL2))) * per_line;
  Contraction q = p;
  q.far_a = far(a, Level::kMemory);
  q.far_b = far(b, Level::kMemory);
  q.far_c = far(out, Level::kMemory) && !chain;
  q.fast = l1 + l2 + p.registers;
  q.element = static_cast<double>(target_.at(Level::kMemory).line_units) / per_line;
  i64 memory = std::max(once.memory, floor_units(io_bound(q)));
  if (columns < lanes) return saturating_add(contraction, saturating_add(once.l2, memory));
  // From L2 to L1, with the visits, of whole vectors. What dot products and scalar loops compute of
  // these costs no less.
  p.points *= static_cast<double>(columns / lanes * lanes) / static_cast<double>(columns);
  p.c *= static_cast<double>(columns / lanes * lanes) / static_cast<double>(columns);
  if (v < kMaxDims && has_dim(a.dims, v)) p.a *= p.c / static_cast<double>(elements(spec, out));
  if (v < kMaxDims && has_dim(b.dims, v)) p.b *= p.c / static_cast<double>(elements(spec, out));
  p.far_a = far(a, Level::kL2);
  p.far_b = far(b, Level::kL2);
  p.far_c = far(out, Level::kL2) && !chain;
  p.fast = l1 + p.registers;
  p.element = static_cast<double>(target_.at(Level::kL2).line_units) / per_line;
  i64 l2_traffic = std::max(once.l2, floor_units(io_bound(p)));
  i64 best = saturating_add(contraction, saturating_add(l2_traffic, memory));
  size_t tile = index(~u64{0}, ceil_div(columns, lanes));
  i64 loads = out.access == Access::kInOut ? 1 : 0;
  double vector =
      static_cast<double>(kUnitsPerCycle / target_.stores_per_cycle + loads * kUnitsPerCycle / 4) +
      static_cast<double>(kLoopUnits + kCallUnits + (1 + loads) * kTileCallUnits) / tile_[tile];
  p.visit = std::min(vector / static_cast<double>(lanes), static_cast<double>(kDotResultUnits));
  double step = std::min(static_cast<double>(rate_[tile]) / (1 << kFraction),
                         static_cast<double>(kUnitsPerCycle) / target_.fma_per_cycle) /
                static_cast<double>(lanes);
  double io = io_bound(p);
  if (io > p.points * (static_cast<double>(kScalarStepUnits) - step)) return best;
  return std::max(best, saturating_add(memory, floor_units(p.points * step + io)));
}

i64 Bounds::leaf(const Spec& spec) const {
  i64 best = kInfinite;
  for (const Microkernel* kernel : microkernels())
    if (kernel->applies(spec, target_)) best = std::min(best, kernel->cost(spec, target_));
  return best;
}

i64 Bounds::bound(const Spec& spec, const Limits& limits, bool quick) const {
  // Register tiles have no loops and no choice but the microkernel.
  if (spec.stage_count == 1 && spec.operand[0].level == Level::kRegister) return leaf(spec);
  Traffic once = traffic(spec);
  i64 c = saturating_add(once.l2, once.memory);
  Op head = spec.stage[0].op;
  u64 lanes = target_.lanes(size_of(spec.out().dtype));
  if (head == Op::kMulAdd)
    c = saturating_add(quick ? saturating_add(c, contraction(spec))
                             : blocked(spec, limits, contraction(spec), once),
                       epilogue(spec));
  else if (spec.reduced() != 0)
    c = saturating_add(c, saturating_mul(volume(spec) / lanes, kUnitsPerCycle / 2));
  else
    c = saturating_add(c, map(spec));
  if (spec.serial) return c;
  // Some of it, or all, may run on all processors, after at least one start of a parallel loop.
  return std::min(c, saturating_add(c / target_.processors, target_.parallel_units));
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "cost/rates.hh"

#include <algorithm>

#include "cost/held.hh"
#include "cost/recipe.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"
#include "target/tiles.hh"

namespace morello {
namespace {

bool fits(const Rate& way, const Form& form) {
  return (form.fastest || !way.fastest) && (form.along || !way.along);
}

i64 vector_units(const Rate& way, const Form& form) {
  return std::max(way.vector, way.vector_ops * form.ops / 16);
}

i64 element_units(const Rate& way, const Form& form) {
  return std::max(way.element, way.element_ops * form.scalar_ops / 16);
}

}  // namespace

Rates::Rates(const Target& target, Microkernels kernels)
    : target_(target),
      product_(dots().size()),
      loop_(target.prices.loop),
      registers_(target.vector_registers) {
  for (int d = 0; d < kDuties; d++) {
    const Duty duty = static_cast<Duty>(d);
    std::vector<Rate>& ways = ways_[index(duty)];
    call_[index(duty)] = kInfinite;
    for (const Microkernel* kernel : kernels) {
      const Rate rate = kernel->rate ? kernel->rate(duty, target) : Rate{};
      if (rate.never) continue;
      ways.push_back(rate);
      call_[index(duty)] = std::min(call_[index(duty)], rate.call);
    }
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Rate& a, const Rate& b) { return a.row < b.row; });
  }
  // A vector has at most so many elements. Copies element by element may be such of no fastest
  // dimension, and of single ones.
  const u32 most = target.lanes(1);
  for (u32 bytes : {1u, 2u, 4u}) {
    const size_t size = static_cast<size_t>(std::countr_zero(bytes));
    i64 &least = relayout_[size], &of_any_row = relayout_alone_[size];
    const bool narrow = bytes < kElementBytes;
    const auto add = [&](i64 units, u32 side) {
      least = std::min(least, units);
      if (side == 1) of_any_row = std::min(of_any_row, units);
      side_ = std::max(side_, side);
    };
    for (const Rate& way : ways(narrow ? Duty::kNarrowRelayout : Duty::kRelayout))
      add(way.element + way.vector / most, way.side);
    // Elements that share a lane in the new layout may be neighbours in the old one.
    const i64 together = kElementBytes / bytes;
    for (const Rate& way : ways(Duty::kMap))
      add(way.element + (narrow ? way.vector / together : way.vector) +
              (way.fastest && !narrow ? way.call + target.prices.loop : 0),
          1);
    if (!narrow) continue;
    // In one step, or in two by way of another layout.
    i64& grouping = grouping_[std::countr_zero(bytes)];
    grouping = 2 * least;
    for (const Rate& way : ways(bytes == 2 ? Duty::kPairs : Duty::kQuads))
      grouping = std::min(grouping, way.element + way.vector / most);
    for (const Rate& way : ways(Duty::kMap))
      grouping = std::min(grouping, way.element + way.vector / together);
  }
  for (const Rate& way : ways(Duty::kTile)) {
    tiles_along_ &= way.along;
    tiles_add_ &= way.adds;
    fuses_ |= way.stages > 1;
  }
  for (const Rate& way : ways(Duty::kContract)) {
    fuses_ |= way.stages > 1;
    const i64 result = (way.element << kFraction) + (way.vector << kFraction) / most;
    const MemoryWay one{
        way.group, way.group_units << kFraction, result, way.along_reduced, way.tiles, way.block};
    const auto is_no_better = [&](const MemoryWay& known) {
      return known.group == one.group && known.along_reduced == one.along_reduced &&
             known.tiles == one.tiles && known.block == one.block &&
             known.group_units <= one.group_units && known.result <= one.result;
    };
    if (std::none_of(memory_ways_.begin(), memory_ways_.end(), is_no_better))
      memory_ways_.push_back(one);
  }
  find_tiles(target);
  find_moves(target);
  find_takers();
  find_ops();
}

// Of whole blocks each element costs the least; of the rest, a block or its elements.
i64 Rates::relayout_in_rows(Dtype type, u64 row) const {
  const i64 least = relayout(type);
  if (least >= kInfinite) return least;
  const i64 rest = static_cast<i64>(row % side_);
  const i64 of_rest = std::min(static_cast<i64>(side_) * least,
                               rest * relayout_alone_[std::countr_zero(size_of(type))]);
  const i64 units = (static_cast<i64>(row) - rest) * least + of_rest;
  return (units << kFraction) / static_cast<i64>(row);
}

void Rates::find_ops() {
  for (size_t op = 1; op < ops_.size(); op++)
    for (Dtype type : kAllDtypes)
      ops_[op][static_cast<size_t>(type)] = {op_units(static_cast<Op>(op), type, target_),
                                             scalar_op_units(static_cast<Op>(op), type, target_)};
}

void Rates::find_takers() {
  for (Dtype a : kAllDtypes)
    for (Dtype b : kAllDtypes)
      for (Dtype sum : {Dtype::kF32, Dtype::kI32}) {
        Takers& t = takers_[static_cast<size_t>(a)][static_cast<size_t>(b)][is_integer(sum)];
        for (size_t i = 0; i < dots().size(); i++) {
          const Dot& dot = dots()[i];
          if (!takes(dot, target_, a, b, sum)) continue;
          for (bool grouped : {false, true}) {
            if (dot.group > 1 && !grouped) continue;
            t.rows[grouped] |= u32{1} << i;
            t.products[grouped] = std::max(t.products[grouped], dot.products());
          }
        }
        t.tiles = morello::tiles_take(target_, a, b, sum);
        if (t.tiles) t.products[true] = std::max(t.products[true], lane_elements(a));
      }
}

// The best register tile, as if all registers were there.
const Rates::OfDot& Rates::of_dot(size_t i) const {
  std::call_once(product_[i].found, [&] { product_[i].of = find_products(dots()[i]); });
  return product_[i].of;
}

Rates::OfDot Rates::find_products(const Dot& dot) const {
  const i64 fma = (kUnitsPerCycle << kFraction) / target_.fma_per_cycle;
  const i64 stored = (kUnitsPerCycle << kFraction) / target_.stores_per_cycle;
  OfDot of;
  for (bool narrow : {false, true})
    for (size_t way = 0; way < kWidenings; way++) {
      const bool widens = way != 0;
      if (widens && dot.group > 1) continue;  // groups are as they are
      std::vector<i64>& least = of[way][narrow];
      if (narrow && dot.whole) {
        least = of[way][false];
        continue;
      }
      const bool copies = dot.form == DotForm::kFma && widens;
      const std::vector<i64>& other = of[0][narrow];
      least.assign(rate_.size(), kInfinite);
      for (u64 rows = 1; rows <= registers_; rows++) {
        // A copy may be widened instead, and stored once for all rows: of the most, maybe more.
        const i64 copied = fma + (rows < registers_ ? stored / static_cast<i64>(rows) : 0);
        for (u64 vecs = 1; vecs <= registers_; vecs++) {
          const size_t at = tile_index(rows, vecs);
          i64 best = std::min(least[tile_index(rows - 1, vecs)], least[tile_index(rows, vecs - 1)]);
          best = std::min(best,
                          product_units(dot, rows, vecs, narrow, Widening{static_cast<u8>(way)}));
          if (copies) best = std::min(best, std::max(other[at], copied));
          least[at] = best;
        }
      }
      // Rates of microkernels have FMAs of what is not widened, or was.
      if (dot.form == DotForm::kFma && !widens && !narrow) std::fill(least.begin(), least.end(), 0);
    }
  return of;
}

/// Of a product of each lane in one tile.
i64 Rates::product_units(const Dot& dot, u64 rows, u64 vecs, bool narrow, Widening vectors) const {
  const u64 sums = rows * vecs, row = dot.corrects ? vecs : 0;
  if (sums > registers_ ||
      sums + row + dot.spare + outer_product_registers(rows, vecs, false, target_) > registers_)
    return kInfinite;
  // Dot products add up a few results in several chains.
  Dot in_chains = dot;
  const u32 latency = dot.latency ? dot.latency : target_.fma_latency;
  in_chains.latency = static_cast<u8>(latency / dot_chains(sums));
  const Widening of_rows = narrow && !dot.whole ? Widening::kByTwo : Widening::kNone;
  const auto step = [&](bool a_is_ready) {
    return dot_step(in_chains, rows, vecs, of_rows, vectors, a_is_ready, target_) << kFraction;
  };
  i64 units = step(false);
  if (dot.whole && dot.prepare > 0)  // all rows are made ready before, a vector at a time
    units = std::min(
        units, step(true) +
                   (static_cast<i64>(rows * dot.passes * dot.group) * kUnitsPerCycle << kFraction) /
                       target_.vector_bytes);
  return units / static_cast<i64>(sums * dot.group);
}

i64 Rates::widened(Dtype from, Dtype to) const {
  const i64 units = widening_units(from, to, target_);
  const u64 lanes = target_.lanes(kElementBytes);
  const Form form{target_.prices.op[0] + units, target_.prices.scalar_op[0] + units};
  i64 least = (cell(Duty::kMap, form, lanes, lanes) << kFraction) / static_cast<i64>(lanes);
  for (Duty duty : {Duty::kRelayout, Duty::kNarrowRelayout})
    for (const Rate& way : ways(duty))
      least = std::min(least, (way.element << kFraction) +
                                  (way.vector << kFraction) / static_cast<i64>(target_.lanes(1)));
  return least;
}

ProductPrices Rates::products(const Spec& spec, u64 rows, u64 vecs) const {
  const auto [first, second] = factors_of(spec);
  ProductPrices prices;
  if (!is_operand(first) || !is_operand(second)) {
    for (auto& of : prices) of.fill({lane_elements(Dtype::kI8), 0});
    return prices;
  }
  const Operand &a = spec.operand[first], &b = spec.operand[second];
  const Dtype sum = computed_dtype(spec);
  const u8 v = unit_dim(spec.out());
  // Of factors that are widened in different ways, either may be what a buffer has vectors of.
  std::array<bool, kWidenings> may{};
  bool widened = false;
  for (const Operand* x : {&a, &b}) {
    may[static_cast<size_t>(widening_of(x->dtype, sum, target_))] = true;
    widened |= x->dtype != sum && has_dim(x->dims, v);
  }
  const Takers& t = takers(a.dtype, b.dtype, sum);
  for (bool grouped : {false, true}) prices[grouped].fill({t.products[grouped], kInfinite});
  const size_t at = tile_index(rows, vecs);
  for (u32 left = t.rows[true]; left != 0; left &= left - 1) {
    const size_t i = static_cast<size_t>(std::countr_zero(left));
    const OfDot& of = of_dot(i);
    for (bool narrow : {false, true}) {
      i64 units = kInfinite;
      if (!widened || dots()[i].group > 1)
        units = of[0][narrow][at];
      else
        for (size_t way = 1; way < kWidenings; way++)
          if (may[way]) units = std::min(units, of[way][narrow][at]);
      for (bool grouped : {false, true})
        if ((t.rows[grouped] >> i & 1) != 0)
          prices[grouped][narrow].units = std::min(prices[grouped][narrow].units, units);
    }
  }
  return prices;
}

bool Rates::tiles_take(const Spec& spec) const {
  const auto [first, second] = factors_of(spec);
  if (!is_operand(first) || !is_operand(second)) return target_.tiles.count != 0;
  return takers(spec.operand[first].dtype, spec.operand[second].dtype, computed_dtype(spec)).tiles;
}

// In the layout of a copy, dimensions may be one: of up to three either columns or rows run along a
// single one, of more any results may be a block. Those that both factors have are in none: where
// one factor has no other, blocks are one column wide.
BlockPrice Rates::block(const MemoryWay& way, const Spec& spec) const {
  const DimMask kept = static_cast<DimMask>(spec.all_dims() & ~spec.reduced());
  const auto [first, second] = factors_of(spec);
  const DimMask a = static_cast<DimMask>(dims_of(spec, first) & kept);
  const DimMask b = static_cast<DimMask>(dims_of(spec, second) & kept);
  const bool one_column = (a & ~b) == 0 || (b & ~a) == 0;
  const u64 results = points_of(spec, one_column ? static_cast<DimMask>(a ^ b) : kept);
  BlockPrice least = way.block(results, results, target_);
  if (std::popcount(kept) > 3 && !one_column) {
    least.whole = results;
    return least;
  }
  least.group = least.result = kInfinite, least.whole = 0;
  const auto add = [&](u64 rows, u64 columns) {
    const BlockPrice one = way.block(rows, columns, target_);
    least.group = std::min(least.group, one.group);
    least.result = std::min(least.result, one.result);
    least.whole = std::max(least.whole, one.whole);
  };
  if (one_column) {
    add(results, 1);
    add(1, results);
    return least;
  }
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(kept, d)) {
      add(results / spec.size[d], spec.size[d]);
      add(spec.size[d], results / spec.size[d]);
    }
  return least;
}

i64 Rates::group_units(const MemoryWay& way, const Spec& spec) const {
  if (!way.block) return way.group_units;
  const i64 units = block(way, spec).group;
  return units >= kInfinite >> kFraction ? kInfinite : units << kFraction;
}

double Rates::least_product(Dtype a, Dtype b, Dtype sum, u32 lanes) const {
  auto units = [](i64 fixed) { return static_cast<double>(fixed) / (1 << kFraction); };
  const double fma = units(rate(~u64{0}, ~u64{0}));
  const bool plain = a == Dtype::kF32 && b == Dtype::kF32;
  double vector = is_integer(sum) ? kInfinite : fma;  // any factor may be widened in a copy
  u32 together = 1;                                   // products of a lane in one step
  if (!plain) {
    const Takers& t = takers(a, b, sum);
    for (u32 left = t.rows[0] | t.rows[1]; left != 0; left &= left - 1) {
      const size_t i = static_cast<size_t>(std::countr_zero(left));
      for (const auto& of : of_dot(i))
        if (!of[false].empty())
          vector = std::min(
              vector, std::max(units(of[false].back()), dots()[i].form == DotForm::kFma ? fma : 0));
    }
    together = std::max(t.products[0], t.products[1]);
  }
  double least = vector / lanes;
  for (const MemoryWay& way : memory_ways_) {
    if (way.tiles && !takers(a, b, sum).tiles) continue;
    double one = units(way.group_units) / (way.group * together);
    if (way.along_reduced && !way.tiles && !plain) one = std::max(one, vector / way.group);
    least = std::min(least, one);
  }
  return least;
}

void Rates::find_moves(const Target& target) {
  const Form copy{target.prices.op[0], target.prices.scalar_op[0], true, true};
  const u64 lanes = target.lanes(kElementBytes);
  Form lone_copy = copy;
  lone_copy.fastest = false;
  i64 lone_call = kInfinite;
  for (const Rate& way : ways(Duty::kStore))
    if (!way.fastest) lone_call = std::min(lone_call, way.call);
  for (bool loads : {false, true}) {
    TileMoves& m = moves_[loads];
    const Duty bring = loads ? Duty::kLoad : Duty::kFill;
    const bool bare = !loads && !tiles_add_;  // nobody has to clear them
    const i64 store = cell(Duty::kStore, copy, lanes, lanes);
    auto add = [&](i64 stored, i64 brought) {
      return bare ? stored : saturating_add(stored, brought);
    };
    m.vector = add(store, cell(bring, copy, lanes, lanes));
    m.lone = add(lone(Duty::kStore, lone_copy), lone(bring, lone_copy));
    m.single = add(lone(Duty::kStore, copy), lone(bring, copy));
    m.calls = add(call(Duty::kStore), call(bring));
    m.lone_calls = add(lone_call, call(bring));
    m.alone = saturating_add(m.single, m.calls);
    m.alone = saturating_add(m.alone, call(Duty::kTile) + target.prices.loop / 2);
    for (u64 columns = 1; columns < std::min<u64>(lanes, m.odd.size()); columns++)
      m.odd[columns] = cell(Duty::kStore, copy, columns, lanes) - store;
  }
}

void Rates::find_tiles(const Target& target) {
  rate_.assign(static_cast<size_t>((registers_ + 1) * (registers_ + 1)), kInfinite);
  largest_.assign(rate_.size(), 1);
  streamed_.assign(registers_ + 1, kInfinite);
  for (u64 rows = 1; rows <= registers_; rows++)
    for (u64 vecs = 1; vecs <= registers_; vecs++) {
      i64 best = std::min(rate(rows - 1, vecs), rate(rows, vecs - 1));
      u32 most = std::max(largest(rows - 1, vecs), largest(rows, vecs - 1));
      const u64 size = rows * vecs;
      for (const Rate& way : ways(Duty::kTile)) {
        if (size + (way.extra ? way.extra(rows, vecs, target) : 0) > registers_) continue;
        const i64 step = way.step ? way.step(rows, vecs, target) : 0;
        best = std::min(best, (step << kFraction) / static_cast<i64>(size));
        most = std::max(most, static_cast<u32>(size));
        const u64 steps = 64, lines = steps * vecs * target.vector_bytes / kLineBytes;
        const i64 streamed = streaming_units(steps, step, rows + vecs, lines, target);
        const i64 each = (streamed << kFraction) / static_cast<i64>(steps * size);
        streamed_[vecs] = std::min(streamed_[vecs], each);
      }
      rate_[tile_index(rows, vecs)] = best;
      largest_[tile_index(rows, vecs)] = most;
    }
}

i64 Rates::cell(Duty duty, const Form& form, u64 columns, u64 lanes) const {
  i64 best = kInfinite;
  for (const Rate& way : ways(duty)) {
    if (!fits(way, form)) continue;
    const i64 vector = vector_units(way, form) + (columns < lanes ? way.odd : 0);
    best = std::min(best, vector + static_cast<i64>(columns) * element_units(way, form));
  }
  return best;
}

i64 Rates::lone(Duty duty, const Form& form) const { return cell(duty, form, 1, 1); }

// The ways of a program that share a row pay for the row at least once each. Whatever they are, the
// one of them with the largest row price is followed by cells that cost at least the least of those
// with no larger one.
i64 Rates::row(Duty duty, const Form& form, u64 columns, u64 lanes, i64 alone) const {
  i64 best = kInfinite, cells = saturating_mul(columns, alone);
  for (const Rate& way : ways(duty)) {
    if (!fits(way, form)) continue;
    const i64 c = saturating_add(saturating_mul(columns / lanes, vector_units(way, form)),
                                 saturating_mul(columns, element_units(way, form)));
    cells = std::min(cells, c);
    best = std::min(best, saturating_add(way.row, cells));
  }
  return best;
}

// A result of which ways with a price for each result take some elements pays that price; of others
// all elements are taken by ways without, which turn them around or take them one by one.
i64 Rates::reduced(const Form& form, u64 results, u64 points, u64 lanes, i64 turned,
                   bool alone) const {
  i64 row = kInfinite, any = kInfinite, without = kInfinite;
  for (const Rate& way : ways(Duty::kReduce)) {
    const i64 ops = reduced_ops(way, form.together) * form.ops / 16;
    const i64 vector = alone ? std::max(way.vector, ops) : ops;
    const i64 element = element_units(way, form) + (way.along ? turned : 0);
    const i64 c =
        saturating_add(saturating_mul(points / lanes, vector), saturating_mul(points, element));
    any = std::min(any, c);
    if (way.row == 0)
      without = std::min(without, c);
    else
      row = std::min(row, way.row);
  }
  return std::min(without, saturating_add(any, saturating_mul(results, row)));
}

StepPrices Rates::steps(i64 ops, i64 scalar_ops, u64 vecs, u64 lanes) const {
  const Form form{ops, scalar_ops, true, true};
  const i64 all = static_cast<i64>(lanes);
  StepPrices p;
  for (const Rate& way : ways(Duty::kLoad)) {
    const i64 vector = vector_units(way, form), element = element_units(way, form);
    p.on_tile = std::min(p.on_tile, vector + all * element);
    p.on_lone = std::min(p.on_lone, vector + element);
  }
  const Form copy{target_.prices.op[0], target_.prices.scalar_op[0], true, true};
  for (const Rate& way : ways(Duty::kStore))
    p.stored = std::min(p.stored, vector_units(way, form) - vector_units(way, copy) +
                                      element_units(way, form) - element_units(way, copy));
  for (const Rate& way : ways(Duty::kMap)) {
    const bool asks = way.fastest || way.along;  // or the result is alone in its loop
    p.alone = std::min(p.alone, vector_units(way, form) + element_units(way, form) +
                                    (asks ? call(Duty::kMap) + loop_ : 0));
  }
  p.vector = saturating_mul(lanes, p.alone);
  for (const Rate& way : ways(Duty::kMap)) {
    p.vector = std::min(p.vector, vector_units(way, form) + all * element_units(way, form));
    p.row =
        std::min(p.row, saturating_add(way.row, saturating_mul(vecs, p.vector)));  // as in row()
  }
  return p;
}

}  // namespace morello

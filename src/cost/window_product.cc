// SPDX-License-Identifier: MIT
// The microkernel of products whose vectors run along windows: of one channel, as in depthwise
// convolutions by NCHW, the places of an image times a number for each term.
#include "cost/window_product.hh"

#include <algorithm>
#include <bit>

#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

constexpr u32 kMostColumn = 7;  // in registers

/// The reduced dimension along which places, of which vectors are, are two elements apart, and
/// terms one.
u8 terms_apart(const Spec& spec, const Operand& image, u8 v) {
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& x = spec.window[w];
    if (image.has_window(w) && is_apart(x, unit_dim(image), v) &&
        has_dim(spec.reduced(), x.outer) && spec.size[x.outer] > 1)
      return x.outer;
  }
  return kNoDim;
}

/// How many rows of the image the places along `rows` of a tile have, with terms along `across`.
u64 rows_read(const Spec& spec, const Operand& image, DimMask rows, u8 across) {
  const u64 all = points_of(spec, rows), column = across == kNoDim ? 1 : spec.size[across];
  for (int w = 0; w < kMaxWindows && std::popcount(rows) == 1; w++) {
    const Window& x = spec.window[w];
    const u8 m = static_cast<u8>(std::countr_zero(rows));
    if (!image.has_window(w) || x.before != 0 || x.after != 0) continue;
    const bool outer = x.outer == m && x.inner == across && x.dilation == 1;
    if (!outer && (x.inner != m || x.outer != across || x.step != 1)) continue;
    return std::min(all * column, (outer ? x.step : x.dilation) * (all - 1) + column);
  }
  return all * column;
}

bool applies(const Spec& spec, const Target& t) { return window_roles(spec, t).has_value(); }

u32 extra(const Spec& spec, const Target& t) {
  const WindowRoles r = *window_roles(spec, t);
  const bool tail = spec.size[r.v] % computed_lanes(spec, t) != 0;
  return std::max(window_registers(r) + (tail && !t.has_masks),
                  outer_product_registers(r.rows, r.vecs, tail, t));
}

i64 cost(const Spec& spec, const Target& t) {
  const WindowRoles r = *window_roles(spec, t);
  const Operand &image = spec.operand[r.image], &weights = spec.operand[r.weights];
  const u64 points = points_of(spec, spec.reduced()), sums = r.rows * r.vecs * points;
  // Rows of windows begin anywhere: what crosses lines is two loads.
  const u64 terms = spec.size[r.terms], vectors = r.read_rows * r.vecs;
  const u64 made = vectors * terms,
            read = !r.apart ? made : 2 * vectors * (r.pairs ? ceil_div(terms, 2) : terms);
  const u64 loads = read + read * t.vector_bytes / kLineBytes + points;
  const auto at_rate = [](u64 n, u32 per_cycle) {
    return static_cast<i64>(n) * kUnitsPerCycle / per_cycle;
  };
  i64 c = std::max({at_rate(loads, t.loads_per_cycle),
                    at_rate(sums + (r.apart ? made : 0), t.vector_per_cycle),
                    saturating_mul(points, outer_product_step(r.rows, r.vecs, t))});
  // An outer product of as many results widens a number for each row of them.
  if (image.dtype != Dtype::kF32) c += static_cast<i64>(read) * t.prices.widen;
  if (weights.dtype != Dtype::kF32) c += static_cast<i64>(points * r.rows) * t.prices.widen;
  if (r.apart)  // results come to the order in which they are summed, and back
    c = saturating_add(c, saturating_mul(2 * r.rows * r.vecs, t.prices.op[0]));
  c = saturating_add(c, t.prices.call);
  return saturating_add(
      c, saturating_add(traffic_units(spec, image, t), traffic_units(spec, weights, t)));
}

}  // namespace

std::optional<WindowRoles> window_roles(const Spec& spec, const Target& t) {
  if (!adds_floats_to_tile(spec)) return {};
  const Operand& out = spec.out();
  WindowRoles r;
  r.v = unit_dim(out);
  if (r.v == kNoDim || std::popcount(spec.reduced()) > 2) return {};
  r.image = factors_of(spec)[0], r.weights = factors_of(spec)[1];
  if (!has_dim(spec.operand[r.image].dims, r.v)) std::swap(r.image, r.weights);
  const Operand &image = spec.operand[r.image], &weights = spec.operand[r.weights];
  if ((weights.dims & out.dims) != 0 || (out.dims & ~image.dims) != 0) return {};
  if (!is_float_in_memory(image) || !is_float_in_memory(weights)) return {};
  r.terms = terms_apart(spec, image, r.v);
  r.apart = r.terms != kNoDim;
  const DimMask rows = static_cast<DimMask>(out.dims & ~(1u << r.v));
  if (!r.apart) {
    // What is one row, and one sum, is an outer product.
    if (unit_dim(image) != r.v || (std::popcount(spec.reduced()) == 1 && rows == 0)) return {};
    r.terms = static_cast<u8>(std::bit_width(spec.reduced()) - 1);
  }
  if (const u32 across = spec.reduced() & ~(1u << r.terms); across != 0) {
    r.across = static_cast<u8>(std::countr_zero(across));
    r.column = spec.size[r.across];
  }
  if (r.column > kMostColumn) return {};
  r.pairs = r.apart;  // where this leaves nearly half of the registers for results
  if (window_registers(r) > t.vector_registers / 2 + 1) r.pairs = false;
  r.rows = points_of(spec, rows);
  r.vecs = ceil_div(spec.size[r.v], computed_lanes(spec, t));
  r.read_rows = rows_read(spec, image, rows, r.across);
  return r;
}

u32 window_registers(const WindowRoles& r) {
  return 1 + r.apart + r.pairs + r.column * (1 + r.pairs);
}

extern const Microkernel kWindowProduct = {
    MicrokernelId::kWindowProduct, applies, extra, cost, whole, outer_product_rate};

}  // namespace morello

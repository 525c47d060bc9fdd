// SPDX-License-Identifier: MIT
#include "cost/turn.hh"

#include "cost/model.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Do steps behind the product read what has vectors as the output has? The buffer has others.
bool reads_places(const Spec& spec, u8 v) {
  for (int s = 1; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (is_operand(in) && has_dim(spec.operand[in].dims, v)) return true;
  return false;
}

/// The factor that vectors of the output's run along, and the other, which they do not; or both
/// factors of a batch whose members are next to each other in the output. Null: there are no such.
struct Factors {
  const Operand *places = nullptr, *channels = nullptr;
  bool batch = false;
};
Factors factors(const Spec& spec) {
  const Operand& out = spec.out();
  const u8 v = unit_dim(out);
  if (v == kNoDim || out.access != Access::kOut || out.level <= Level::kL1 || out.layout.packed() ||
      !is_chain(spec) || !contraction_of(spec) || reads_places(spec, v))
    return {};
  const auto [first, second] = factors_of(spec);
  if (!is_operand(first) || !is_operand(second)) return {};
  const Operand &a = spec.operand[first], &b = spec.operand[second];
  if (!has_dim(a.dims, v) && !has_dim(b.dims, v)) return {};
  if (has_dim(a.dims, v) && has_dim(b.dims, v)) return {&a, &b, true};
  return has_dim(a.dims, v) ? Factors{&a, &b} : Factors{&b, &a};
}

constexpr u32 kLeastTurned = 4;  // fewer are lanes of no vector

/// Of a batch along what one factor has alone, outside of windows, in which parts have the same.
bool may_be_turned(const Spec& spec, const Factors& factors, u8 d) {
  const bool of_places = has_dim(factors.places->dims, d);
  if (!factors.batch) return has_dim(factors.channels->dims, d) && !of_places;
  return has_dim(factors.channels->dims, d) != of_places && !has_dim(window_dims(spec), d);
}

/// Has a factor of a batch its members apart, so that vectors of these are copied together? Or are
/// there less than a vector?
bool wastes_vectors(const Spec& spec, const Factors& factors, const Target& target) {
  const u8 v = unit_dim(spec.out());
  return unit_dim(*factors.places) != v || unit_dim(*factors.channels) != v ||
         spec.size[v] < target.lanes(kElementBytes);
}

/// Have rows of places that run along the output's vectors many unused lanes, or elements apart?
bool wastes_lanes(const Spec& spec, const Operand& places, const Target& target) {
  constexpr u64 kMostUnused = 15;  // of which one lane may be
  const u8 v = unit_dim(spec.out());
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& window = spec.window[w];
    if (!places.has_window(w) || (window.outer != v && window.inner != v)) continue;
    const u64 lanes = target.lanes(kElementBytes), size = spec.size[v];
    return (window.outer == v ? window.step : window.dilation) > 1 ||
           kMostUnused * (round_up(size, lanes) - size) > size;
  }
  return false;
}

}  // namespace

u8 turned_dim(const Spec& spec) {
  const Factors f = factors(spec);
  if (f.places == nullptr) return kNoDim;
  const Layout& layout = spec.out().layout;
  for (int i = layout.count() - 1; i >= 0; i--) {
    const u8 d = layout.dim[i];
    if (may_be_turned(spec, f, d) && spec.size[d] >= kLeastTurned) return d;
  }
  return kNoDim;
}

bool may_turn(const Spec& spec, const Target& target) {
  if (turned_dim(spec) == kNoDim || spec.out().contig < 2) return false;
  const Factors f = factors(spec);
  if (f.batch) return wastes_vectors(spec, f, target);
  return unit_dim(*f.places) == kNoDim || wastes_lanes(spec, *f.places, target);
}

bool part_may_turn(const Spec& spec, const Target& target) {
  const Factors f = factors(spec);
  if (f.places == nullptr || spec.out().contig < 2) return false;
  bool turns = false;
  for (u8 d = 0; d < spec.rank; d++)
    turns = turns || (spec.size[d] >= kLeastTurned && has_dim(spec.out().dims, d) &&
                      may_be_turned(spec, f, d));
  // Copies of factors may have members apart.
  if (f.batch) return turns;
  const u8 unit = unit_dim(*f.places);
  const bool cut = unit != unit_dim(spec.out()) && !has_dim(spec.reduced(), unit);
  return turns && (unit == kNoDim || cut || wastes_lanes(spec, *f.places, target));
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "cost/turn.hh"

#include "cost/model.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// The factor that vectors of the output's run along, and the other, which they do not. Null: both
/// do, or there are no such factors.
struct Factors {
  const Operand *places = nullptr, *channels = nullptr;
};
Factors factors(const Spec& spec) {
  const Operand& out = spec.out();
  const u8 v = unit_dim(out);
  if (v == kNoDim || out.access != Access::kOut || out.level <= Level::kL1 || out.layout.packed() ||
      !is_single(spec) || !contraction_of(spec))
    return {};
  const auto [first, second] = factors_of(spec);
  if (!is_operand(first) || !is_operand(second)) return {};
  const Operand &a = spec.operand[first], &b = spec.operand[second];
  if (has_dim(a.dims, v) == has_dim(b.dims, v)) return {};
  return has_dim(a.dims, v) ? Factors{&a, &b} : Factors{&b, &a};
}

}  // namespace

u8 turned_dim(const Spec& spec) {
  constexpr u32 kLeast = 4;  // fewer are lanes of no vector
  const auto [places, channels] = factors(spec);
  if (places == nullptr) return kNoDim;
  const Layout& layout = spec.out().layout;
  for (int i = layout.count() - 1; i >= 0; i--) {
    const u8 d = layout.dim[i];
    if (!has_dim(channels->dims, d) || has_dim(places->dims, d)) continue;
    return spec.size[d] >= kLeast ? d : kNoDim;
  }
  return kNoDim;
}

bool may_turn(const Spec& spec, const Target& target) {
  constexpr u64 kMostUnused = 15;  // of which one lane may be
  if (turned_dim(spec) == kNoDim || spec.out().contig < 2) return false;
  const Operand& x = *factors(spec).places;
  const u8 v = unit_dim(spec.out());
  if (unit_dim(x) == kNoDim) return true;
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& window = spec.window[w];
    if (!x.has_window(w) || (window.outer != v && window.inner != v)) continue;
    const u64 lanes = target.lanes(kElementBytes), size = spec.size[v];
    return (window.outer == v ? window.step : window.dilation) > 1 ||
           kMostUnused * (round_up(size, lanes) - size) > size;
  }
  return false;
}

}  // namespace morello

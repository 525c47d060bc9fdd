// SPDX-License-Identifier: MIT
#include "spec/terms.hh"

#include <limits>
#include <optional>

#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// The places of a window, its terms, which are neighbours along its axis, and the dimension whose
/// elements lie between two of them.
struct Terms {
  int operand = 0;
  u8 place = 0, term = 0, inside = 0;
  u32 step = 0;  // from place to place, in elements
};

/// The entry of a dimension that is in no blocks.
int entry_of(const Layout& layout, u8 dim) {
  for (int i = 0, n = layout.count(); i < n; i++)
    if (layout.dim[i] == dim && layout.block[i] == 0) return i;
  return -1;
}

/// Is each entry from this one on in the operand's run?
bool in_run(const Operand& x, int entry) { return x.layout.count() - entry <= x.contig; }

/// The operand that alone has a window; -1: several have.
int owner_of(const Spec& spec, int window) {
  int owner = -1;
  for (int o = 0; o < spec.operand_count; o++) {
    if (!spec.operand[o].has_window(window)) continue;
    if (owner >= 0) return -1;
    owner = o;
  }
  return owner;
}

/// Does an operand step along both as along one?
bool steps_alike(const Spec& spec, const Operand& x, const Terms& t) {
  if (has_dim(x.dims, t.term) != has_dim(x.dims, t.inside)) return false;
  if (!has_dim(x.dims, t.term)) return true;
  for (int w = 0; w < kMaxWindows; w++)
    if (x.has_window(w) && (spec.window[w].outer == t.term || spec.window[w].inner == t.term ||
                            spec.window[w].outer == t.inside || spec.window[w].inner == t.inside))
      return false;
  const int at = entry_of(x.layout, t.term);
  return x.layout.dim[at + 1] == t.inside && x.layout.block[at + 1] == 0 && in_run(x, at) &&
         x.layout.block_of(t.term) == 1 && spec.size[t.inside] % x.layout.block_of(t.inside) == 0;
}

std::optional<Terms> terms_of(const Spec& spec, int window) {
  const Window& w = spec.window[window];
  const int owner = w.used() && !is_bordered(w) ? owner_of(spec, window) : -1;
  if (owner < 0 || spec.diagonal.used()) return std::nullopt;
  const Operand& x = spec.operand[owner];
  const bool outer = has_dim(spec.reduced(), w.outer);  // terms are
  if (outer == has_dim(spec.reduced(), w.inner) || (outer ? w.step : w.dilation) != 1)
    return std::nullopt;
  const int axis = entry_of(x.layout, w.outer);
  if (x.layout.packed() || axis + 1 >= x.layout.count() || !in_run(x, axis)) return std::nullopt;
  Terms t{owner, outer ? w.inner : w.outer, outer ? w.outer : w.inner, x.layout.dim[axis + 1]};
  for (int other = 0; other < kMaxWindows; other++)
    if (x.has_window(other) &&
        (spec.window[other].outer == t.inside || spec.window[other].inner == t.inside))
      return std::nullopt;
  const u64 step = u64{outer ? w.dilation : w.step} * spec.size[t.inside];
  if (step > std::numeric_limits<u16>::max()) return std::nullopt;
  t.step = static_cast<u32>(step);
  for (int o = 0; o < spec.operand_count; o++)
    if (o != owner && !steps_alike(spec, spec.operand[o], t)) return std::nullopt;
  for (int s = 0; s < spec.stage_count; s++)
    if (has_dim(spec.stage[s].reduce, t.term) != has_dim(spec.stage[s].reduce, t.inside))
      return std::nullopt;
  return t;
}

/// Takes a dimension out of an operand in whose run it is.
void forget_dim(Operand& x, u8 dim, int entry) {
  x.dims = static_cast<DimMask>(x.dims & ~(1u << dim));
  x.layout.erase(entry);
  x.contig--;
}

/// Takes the dimensions out that are of size 1 now; `binding` goes on to bind the others.
void drop_merged(Spec& spec, Binding& binding) {
  Binding kept;
  drop_unit_dims(spec, &kept);
  const Binding whole = binding;
  for (int d = 0; d < kMaxDims; d++) binding.dim[d] = d < spec.rank ? whole.dim[kept.dim[d]] : 0;
}

/// Is the next dimension inside of this one, in one run?
bool are_one(const Spec& spec, const Operand& x, u8 dim) {
  const int at = entry_of(x.layout, dim);
  return x.windows == 0 && at >= 0 && x.layout.dim[at + 1] == dim + 1 &&
         x.layout.block[at + 1] == 0 && in_run(x, at) && x.layout.block_of(dim) == 1 &&
         x.layout.block_of(static_cast<u8>(dim + 1)) == 1 &&
         u64{spec.size[dim]} * spec.size[dim + 1] <= std::numeric_limits<i32>::max();
}

}  // namespace

void merge_terms(Spec& spec, Binding& binding) {
  bool merged = false;
  for (int w = 0; w < kMaxWindows; w++) {
    const std::optional<Terms> t = terms_of(spec, w);
    if (!t) continue;
    merged = true;
    for (int o = 0; o < spec.operand_count; o++) {
      Operand& x = spec.operand[o];
      if (!has_dim(x.dims, t->term)) continue;
      forget_dim(x, t->term, entry_of(x.layout, o == t->operand ? spec.window[w].outer : t->term));
    }
    spec.size[t->inside] *= spec.size[t->term];
    spec.size[t->term] = 1;
    spec.window[w] = {t->inside, t->place, 1, static_cast<u16>(t->step), 0, 0};
  }
  if (merged) drop_merged(spec, binding);
}

void merge_runs(Spec& copy, Binding& binding) {
  bool merged = false;
  for (int d = 0; d + 1 < copy.rank; d++) {
    const u8 dim = static_cast<u8>(d);
    if (!are_one(copy, copy.operand[0], dim) || !are_one(copy, copy.operand[1], dim)) continue;
    merged = true;
    for (int o = 0; o < 2; o++)
      forget_dim(copy.operand[o], dim, entry_of(copy.operand[o].layout, dim));
    copy.size[d + 1] *= copy.size[d];
    copy.size[d] = 1;
  }
  if (merged) drop_merged(copy, binding);
}

}  // namespace morello

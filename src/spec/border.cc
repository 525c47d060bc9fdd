// SPDX-License-Identifier: MIT
#include "spec/border.hh"

#include <algorithm>

#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/terms.hh"
#include "spec/view.hh"
#include "support/number.hh"

namespace morello {
namespace {

/// Elements before those of the operand, along one axis.
u32 before_axis(const Spec& spec, const Operand& x, u8 axis) {
  for (int w = 0; w < kMaxWindows; w++)
    if (x.has_window(w) && spec.window[w].outer == axis) return spec.window[w].before;
  return 0;
}

}  // namespace

int bordered_operand(const Spec& spec) {
  for (int o = 0; spec.window[0].used() && o < spec.operand_count; o++)
    if (is_bordered(spec, spec.operand[o])) return o;
  return -1;
}

DimMask bordered_dims(const Spec& spec) {
  DimMask dims = 0;
  for (const Window& w : spec.window)
    if (is_bordered(w)) dims = static_cast<DimMask>(dims | 1u << w.outer | 1u << w.inner);
  return dims;
}

const Stage& reader_of(const Spec& spec, int operand) {
  int s = 0;
  auto reads = [&](const Stage& stage) {
    return std::find(stage.in.begin(), stage.in.end(), operand) != stage.in.end();
  };
  while (!reads(spec.stage[s])) s++;
  return spec.stage[s];
}

double border_value(const Spec& spec, int operand) {
  const Stage& reader = reader_of(spec, operand);
  const Dtype dtype = spec.operand[operand].dtype;
  return rounded(dtype, identity_of(reader.op, reader.dtype));
}

Spec with_borders_inside(const Spec& spec, int operand) {
  Spec whole = spec;
  for (int w = 0; w < kMaxWindows; w++)
    if (spec.operand[operand].has_window(w)) whole.window[w].before = whole.window[w].after = 0;
  return whole;
}

Operand padded_operand(const Spec& spec, int operand, Level level, const Layout& layout) {
  Operand x = spec.operand[operand];
  x.level = level;
  x.layout = layout;
  x.contig = static_cast<u8>(x.layout.count());
  set_pitch(x, 0);
  return x;
}

bool is_padded(const Spec& spec, int operand, const Operand& padded) {
  const Operand& x = spec.operand[operand];
  const Layout &layout = padded.layout, &from = x.layout;
  for (int w = 0; w < kMaxWindows; w++)
    if (x.has_window(w) && layout.block_of(spec.window[w].outer) > 1) return false;
  const int blocks = layout.packed() ? 1 : 0, count = layout.count() - blocks;
  DimMask dims = 0, wanted = 0;
  for (int i = 0; i < count; i++)
    if (layout.block[i] == 0) dims = static_cast<DimMask>(dims | 1u << layout.dim[i]);
  for (int i = 0, n = from.count(); i < n; i++)
    wanted = static_cast<DimMask>(wanted | 1u << from.dim[i]);
  return !from.packed() && count == from.count() && dims == wanted &&
         (blocks == 0 || (layout.block[count] != 0 && has_dim(dims, layout.dim[count]))) &&
         padded == padded_operand(spec, operand, padded.level, layout);
}

PaddedPart border_fill(const Spec& spec, int operand, const Operand& padded) {
  const Dtype dtype = reader_of(spec, operand).dtype;
  const u32 bits = bits_of_number(dtype, border_value(spec, operand));
  // One run, whatever the axes are.
  Spec m;
  m.serial = true;
  m.rank = m.operand_count = m.stage_count = 1;
  m.stage[0] = {.op = Op::kFill, .dtype = dtype, .out = 0, .constant = bits};
  m.size[0] = static_cast<u32>(dense_elements(with_borders_inside(spec, operand), padded));
  m.operand[0] = dense_operand(m, padded.dtype, padded.level, Access::kOut, 1,
                               layout_in_order(std::array<u8, 1>{0}));
  Binding b{};
  b.dim[0] = dim_of_axis(spec, padded, padded.layout.fastest());
  b.operand[0] = new_buffer(0);
  assert_canonical(m);
  return {m, b};
}

View border_run(const Spec& spec, const Operand& padded) {
  View run;
  run.dim[dim_of_axis(spec, padded, padded.layout.fastest())].stride[0] = 1;
  return run;
}

PaddedPart border_copy(const Spec& spec, int operand, const Operand& padded) {
  const Operand& x = spec.operand[operand];
  Operand inner = padded;
  const Spec whole = with_borders_inside(spec, operand);
  const PhysicalDims physical = physical_dims(whole, padded);
  const int count = physical.count;
  u64 run = size_of(x.dtype);  // bytes
  for (int i = count - 1; i >= 0; i--) {
    const u8 axis = padded.layout.dim[i];
    run *= physical.size[i];
    if (axis_size(whole, padded, axis) == axis_size(spec, x, axis) || inner.contig <= count - i)
      continue;
    inner.contig = static_cast<u8>(count - i);
    set_pitch(inner, run);
  }
  PaddedPart copy;
  copy.spec = move_spec(spec, operand, inner, true, &copy.binding);
  merge_runs(copy.spec, copy.binding);
  assert_canonical(copy.spec);
  return copy;
}

PaddedPart border_rest(const Spec& spec, int operand, const Operand& padded) {
  PaddedPart rest{with_borders_inside(spec, operand), identity_binding()};
  rest.binding.operand[operand] = new_buffer(0);
  rest.spec.operand[operand] = padded;
  Binding b;
  drop_unit_dims(rest.spec, &b);
  forget_pitch(rest.spec.operand[operand]);
  rest.binding.dim = b.dim;
  merge_terms(rest.spec, rest.binding);
  assert_canonical(rest.spec);
  return rest;
}

u64 inner_offset(const Spec& spec, int operand, const Operand& padded) {
  const Operand& x = spec.operand[operand];
  const View view = dense_view(with_borders_inside(spec, operand), padded);
  u64 offset = 0;
  for (int i = 0, n = x.layout.count(); i < n; i++) {
    const u8 axis = x.layout.dim[i];
    const u8 d = dim_of_axis(spec, x, axis);
    offset += before_axis(spec, x, axis) * static_cast<u64>(view.dim[d].stride[0]);
  }
  return offset;
}

namespace {

/// A window with borders as its places, each of which reads some elements, one dilation apart.
struct WindowPlaces {
  int window = 0;
  Ref operand = 0;
  u8 dim = 0, reduced = 0;
  u32 size = 0, depth = 0;
  u32 block = 1;  // the largest of the reduced dimension that another operand has
  i64 step = 0, dilation = 0, before = 0, axis = 0;
};

/// REQUIRES: window `w` of operand `o` has borders.
std::optional<WindowPlaces> places_of(const Spec& spec, int o, int w) {
  if (has_free_operand(spec) || register_operand(spec) >= 0) return std::nullopt;
  const Window& window = spec.window[w];
  WindowPlaces p{w, static_cast<Ref>(o), window.outer, window.inner};
  p.step = window.step, p.dilation = window.dilation;
  if (!has_dim(parallel_dims(spec), p.dim)) {
    std::swap(p.dim, p.reduced);
    std::swap(p.step, p.dilation);
  }
  const Stage& reader = reader_of(spec, o);
  if (!has_dim(parallel_dims(spec), p.dim) || !has_dim(reader.reduce, p.reduced))
    return std::nullopt;
  for (int s = 0; s < spec.stage_count; s++)
    if (&spec.stage[s] != &reader && has_dim(spec.stage[s].reduce, p.reduced)) return std::nullopt;
  for (int other = 0; other < spec.operand_count; other++) {
    const Operand& x = spec.operand[other];
    if (other == o || !has_dim(x.dims, p.reduced)) continue;
    if (x.windows != 0 || x.access != Access::kIn) return std::nullopt;
    p.block = std::max(p.block, x.layout.block_of(p.reduced));
  }
  p.size = spec.size[p.dim], p.depth = spec.size[p.reduced];
  p.before = window.before;
  p.axis = axis_size(spec, spec.operand[o], window.outer);
  return p;
}

/// Of the first window with borders.
std::optional<WindowPlaces> bordered_places(const Spec& spec) {
  const int o = bordered_operand(spec);
  if (o < 0) return std::nullopt;
  int w = 0;
  while (!spec.operand[o].has_window(w) || !is_bordered(spec.window[w])) w++;
  return places_of(spec, o, w);
}

/// `count` places from `first` on: where they begin in the axis, and what is left of each.
struct PlacesPart {
  i64 begin = 0, before = 0, after = 0, depth = 0;
  i64 skipped = 0;  // elements of each place in front of them
};

std::optional<PlacesPart> part_of(const WindowPlaces& w, u32 first, u32 count) {
  const i64 at = w.step * first - w.before;
  if (count == 1) {
    const i64 skipped = at < 0 ? (-at + w.dilation - 1) / w.dilation : 0;
    const i64 end = std::min(i64{w.depth}, (w.axis - at + w.dilation - 1) / w.dilation);
    if (w.axis <= at || end <= skipped || skipped % w.block != 0) return std::nullopt;
    return PlacesPart{at + skipped * w.dilation, 0, 0, end - skipped, skipped};
  }
  const i64 end = at + w.step * (count - 1) + w.dilation * (w.depth - 1) + 1;
  PlacesPart part{std::max(at, i64{0}), std::max(-at, i64{0}), std::max(end - w.axis, i64{0}),
                  w.depth};
  if (std::min(end, w.axis) - part.begin < 2) return std::nullopt;
  return part;
}

bool may_divide(const Spec& spec, const WindowPlaces& w, u32 size) {
  if (size < 1 || size >= w.size) return false;
  for (int o = 0; o < spec.operand_count; o++)
    if (size % spec.operand[o].layout.block_of(w.dim) != 0) return false;
  const std::optional<PlacesPart> first = part_of(w, 0, size);
  return first && first->begin == 0 && part_of(w, size, w.size - size);
}

/// The window whose terms are a dimension, if they may be summed in turns: of one sum of products,
/// which the output holds as it is computed.
std::optional<WindowPlaces> bordered_terms(const Spec& spec, u8 reduced) {
  const int o = bordered_operand(spec);
  if (o < 0 || !is_single(spec) || !contraction_of(spec)) return std::nullopt;
  if (spec.out().dtype != spec.stage[0].dtype) return std::nullopt;
  for (int w = 0; w < kMaxWindows; w++) {
    if (!spec.operand[o].has_window(w) || !is_bordered(spec.window[w])) continue;
    const std::optional<WindowPlaces> p = places_of(spec, o, w);
    if (p && p->reduced == reduced) return p;
  }
  return std::nullopt;
}

/// Terms from `begin` to `end` of all places that have one of them inside.
struct TermsPart {
  u32 begin = 0, depth = 0;
  i64 first = 0, count = 0;  // places
  i64 at = 0;                // of what is read in the axis
  i64 before = 0, after = 0;
};

/// Nothing if they have none inside, or would be no canonical window.
std::optional<TermsPart> part_of_terms(const WindowPlaces& w, u32 begin, u32 end) {
  const i64 low = w.dilation * begin - w.before, high = w.dilation * (end - 1) - w.before;
  const i64 first = high < 0 ? (-high + w.step - 1) / w.step : 0;
  const i64 last = low < w.axis ? std::min(i64{w.size}, (w.axis - low + w.step - 1) / w.step) : 0;
  if (last <= first) return std::nullopt;
  const i64 at = low + w.step * first, past = high + w.step * (last - 1) + 1;
  TermsPart part{begin, end - begin, first, last - first};
  part.at = std::max(at, i64{0});
  part.before = std::max(-at, i64{0});
  part.after = std::max(past - w.axis, i64{0});
  const bool window = part.depth > 1 && part.count > 1;
  if (!window && (part.before | part.after) != 0) return std::nullopt;
  if (window && std::min(past, w.axis) - part.at < 2) return std::nullopt;
  return part;
}

/// The part that all places have some terms of, whose sums begin, and the other one, which adds to
/// them.
std::optional<std::array<TermsPart, 2>> parts_of_terms(const Spec& spec, const WindowPlaces& w,
                                                       u32 size) {
  if (size < 1 || size >= w.depth || w.block != 1) return std::nullopt;
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].layout.block_of(w.dim) > 1) return std::nullopt;
  std::optional<TermsPart> a = part_of_terms(w, 0, size), b = part_of_terms(w, size, w.depth);
  if (!a || !b) return std::nullopt;
  if (a->count != w.size) std::swap(a, b);
  if (a->count != w.size) return std::nullopt;
  return std::array{*a, *b};
}

/// REQUIRES: may_divide_border().
TermsPart part_of_terms(const Spec& spec, u8 dim, u32 size, bool first) {
  return (*parts_of_terms(spec, *bordered_terms(spec, dim), size))[first ? 0 : 1];
}

}  // namespace

std::optional<BorderCut> term_cut(const Spec& spec) {
  for (const Window& window : spec.window) {
    for (u8 dim : {window.outer, window.inner}) {
      if (!is_bordered(window)) continue;
      const std::optional<WindowPlaces> w = bordered_terms(spec, dim);
      if (!w || w->dim == unit_dim(spec.out())) continue;
      const u32 size = w->before > 0 ? 1 : w->depth - 1;
      if (parts_of_terms(spec, *w, size)) return BorderCut{dim, size, w->dim};
    }
  }
  return std::nullopt;
}

std::optional<BorderCut> border_cut(const Spec& spec) {
  const std::optional<WindowPlaces> w = bordered_places(spec);
  if (!w) return std::nullopt;
  const u32 size = w->before > 0 ? 1 : w->size - 1;
  if (!may_divide(spec, *w, size)) return std::nullopt;
  return BorderCut{w->dim, size, w->dim};
}

bool begins_inside(const Spec& spec) {
  const std::optional<WindowPlaces> w = bordered_places(spec);
  return w && w->before == 0;
}

bool may_divide_border(const Spec& spec, u8 dim, u32 size) {
  if (const std::optional<WindowPlaces> w = bordered_terms(spec, dim))
    return parts_of_terms(spec, *w, size).has_value();
  const std::optional<WindowPlaces> w = bordered_places(spec);
  return w && w->dim == dim && may_divide(spec, *w, size);
}

namespace {

PaddedPart finish_part(const Spec& spec, PaddedPart part) {
  become_part(spec, part.spec, &part.binding);
  merge_terms(part.spec, part.binding);
  assert_canonical(part.spec);
  return part;
}

}  // namespace

PaddedPart part_of_border(const Spec& spec, u8 dim, u32 size, bool first) {
  if (const std::optional<WindowPlaces> w = bordered_terms(spec, dim)) {
    const TermsPart cut = part_of_terms(spec, dim, size, first);
    PaddedPart part{spec, {}};
    part.spec.size[w->dim] = static_cast<u32>(cut.count);
    part.spec.size[dim] = cut.depth;
    Window& window = part.spec.window[w->window];
    window.before = static_cast<u16>(cut.before);
    window.after = static_cast<u16>(cut.after);
    if (!first) part.spec.out().access = Access::kInOut;
    return finish_part(spec, part);
  }
  const WindowPlaces w = *bordered_places(spec);
  const u32 count = first ? size : w.size - size;
  const PlacesPart cut = *part_of(w, first ? 0 : size, count);
  PaddedPart part{spec, {}};
  part.spec.size[dim] = count;
  part.spec.size[w.reduced] = static_cast<u32>(cut.depth);
  Window& window = part.spec.window[w.window];
  window.before = static_cast<u16>(cut.before);
  window.after = static_cast<u16>(cut.after);
  return finish_part(spec, part);
}

i64 elements_to_part(const Spec& spec, int operand, const View& view, u8 dim, u32 size,
                     bool first) {
  const DimMask dims = spec.operand[operand].dims;
  if (const std::optional<WindowPlaces> w = bordered_terms(spec, dim)) {
    const TermsPart part = part_of_terms(spec, dim, size, first);
    if (w->operand == operand) return part.at * (view.dim[w->dim].stride[0] / w->step);
    return (has_dim(dims, dim) ? view.dim[dim].at(part.begin) : 0) +
           (has_dim(dims, w->dim) ? view.dim[w->dim].at(part.first) : 0);
  }
  const std::optional<WindowPlaces> w = bordered_places(spec);
  const bool places = w && w->dim == dim;
  if (places && w->operand == operand)
    return first ? 0
                 : part_of(*w, size, w->size - size)->begin * (view.dim[dim].stride[0] / w->step);
  i64 to = first || !has_dim(dims, dim) ? 0 : view.dim[dim].at(size);
  if (places && has_dim(dims, w->reduced)) {
    const PlacesPart part = *part_of(*w, first ? 0 : size, first ? size : w->size - size);
    to += view.dim[w->reduced].at(part.skipped);
  }
  return to;
}

u64 inside_points(const Spec& spec, DimMask dims) {
  u64 points = points_of(spec, dims);
  for (const Window& w : spec.window) {
    if (!is_bordered(w) || !has_dim(dims, w.outer) || !has_dim(dims, w.inner)) continue;
    const i64 outer = spec.size[w.outer], inner = spec.size[w.inner];
    const i64 axis = w.step * (outer - 1) + w.dilation * (inner - 1) + 1 - w.before - w.after;
    i64 inside = 0;
    for (i64 i = 0; i < inner; i++) {
      const i64 at = i * w.dilation - w.before;  // of the first of those with this one
      const i64 skipped = at < 0 ? (-at + w.step - 1) / w.step : 0;
      const i64 end = at < axis ? std::min(outer, (axis - at + w.step - 1) / w.step) : 0;
      inside += std::max(i64{0}, end - skipped);
    }
    points = points / static_cast<u64>(outer * inner) * static_cast<u64>(inside);
  }
  return points;
}

bool has_whole_places(const Spec& spec) {
  for (const Window& w : spec.window) {
    if (!is_bordered(w)) continue;
    const DimMask parallel = parallel_dims(spec);
    const bool swapped = !has_dim(parallel, w.outer);
    const i64 places = spec.size[swapped ? w.inner : w.outer], step = swapped ? w.dilation : w.step,
              span = i64{swapped ? w.step : w.dilation} *
                         (spec.size[swapped ? w.outer : w.inner] - 1) +
                     1,
              axis = step * (places - 1) + span - w.before - w.after;
    const i64 at = round_up(w.before, static_cast<u64>(step)) - w.before;  // the first inside
    if (at + w.before > step * (places - 1) || at + span > axis) return false;
  }
  return true;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "spec/border.hh"

#include <algorithm>

#include "spec/canonical.hh"
#include "spec/roles.hh"
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

Operand padded_operand(const Spec& spec, int operand, Level level) {
  Operand x = spec.operand[operand];
  x.level = level;
  x.contig = static_cast<u8>(x.layout.count());
  set_pitch(x, 0);
  return x;
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

PaddedPart border_copy(const Spec& spec, int operand, const Operand& padded) {
  const Operand& x = spec.operand[operand];
  Operand inner = padded;
  const Spec whole = with_borders_inside(spec, operand);
  const int count = x.layout.count();
  u64 run = size_of(x.dtype);  // bytes
  for (int i = count - 1; i >= 0; i--) {
    const u8 axis = x.layout.dim[i];
    const u32 size = axis_size(whole, padded, axis);
    run *= size;
    if (size == axis_size(spec, x, axis) || inner.contig <= count - i) continue;
    inner.contig = static_cast<u8>(count - i);
    set_pitch(inner, run);
  }
  PaddedPart copy;
  copy.spec = move_spec(spec, operand, inner, true, &copy.binding);
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

}  // namespace morello

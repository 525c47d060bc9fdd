// SPDX-License-Identifier: MIT
// View: where the elements of an operand are, for consumers of the Impl tree (interpreter and
// plan). The search never sees one: it knows only the class of a layout, not its strides.
#ifndef MORELLO_SPEC_VIEW_HH
#define MORELLO_SPEC_VIEW_HH

#include <array>

#include "spec/spec.hh"

namespace morello {

/// Element i of a dimension is at i * stride, or, with pack > 0, at i/pack * stride + i%pack *
/// inner.
struct DimView {
  i64 stride = 0;
  u32 pack = 0;
  i64 inner = 0;
  i64 at(i64 i) const { return pack ? i / pack * stride + i % pack * inner : i * stride; }
  friend bool operator==(const DimView&, const DimView&) = default;
};

/// Indexed by the dimensions of a Spec; in elements, relative to the start of the tile.
struct View {
  std::array<DimView, kMaxDims> dim{};
};

/// Strides of a new buffer in `operand`'s layout, dense.
View dense_view(const Spec& spec, const Operand& operand);
/// Elements that a dense buffer of `operand` has, including the padding of its last panel.
u64 dense_elements(const Spec& spec, const Operand& operand);
/// The parent's view seen through the dimensions of a child, whose sizes are `child.size`.
View bind_view(const View& parent, const Spec& child, const Binding& binding);

}  // namespace morello

#endif

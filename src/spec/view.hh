// SPDX-License-Identifier: MIT
// View: where the elements of an operand are, for consumers of the Impl tree (interpreter and
// plan). The search never sees one: it knows only the class of a layout, not its strides.
#ifndef MORELLO_SPEC_VIEW_HH
#define MORELLO_SPEC_VIEW_HH

#include <array>

#include "spec/spec.hh"

namespace morello {

/// Where the elements of one dimension are. Element i is at i * stride[0]; with block[0] > 0 it is
/// at i % block[0] * stride[0] + i / block[0] * stride[1], and so on with block[1] and stride[2].
/// Elements, not bytes.
struct DimView {
  std::array<i64, kMaxPieces> stride{};     // fast to slow
  std::array<u32, kMaxPieces - 1> block{};  // elements; 0: there is no slower piece

  bool plain() const { return block[0] == 0; }
  i64 at(i64 i) const {
    if (block[0] == 0) return i * stride[0];
    const i64 inner = i % block[0] * stride[0];
    if (block[1] == 0) return inner + i / block[0] * stride[1];
    return inner + i % block[1] / block[0] * stride[1] + i / block[1] * stride[2];
  }
  /// Every multiple of this many elements begins a block of each piece.
  u32 aligned() const { return block[1] ? block[1] : block[0] ? block[0] : 1; }
  friend bool operator==(const DimView&, const DimView&) = default;
};

/// Indexed by the dimensions of a Spec; in elements, relative to the start of the tile.
struct View {
  std::array<DimView, kMaxDims> dim{};
  /// Of a tensor of the user's: elements of it before that start. Elsewhere 0.
  i64 begin = 0;
  friend bool operator==(const View&, const View&) = default;
};

/// Of what a kernel is given: where a layout is chosen, that is packed, and begins where it does.
inline i64 begin_bytes(const Operand& operand, const View& view) {
  return operand.free_layout ? 0 : view.begin * i64{size_of(operand.dtype)};
}

/// Strides of a new buffer in `operand`'s layout, dense.
View dense_view(const Spec& spec, const Operand& operand);
/// Elements that a dense buffer of `operand` has, including the padding of its last blocks.
u64 dense_elements(const Spec& spec, const Operand& operand);
/// The parent's view seen through the dimensions of a child, whose sizes are `child.size`.
View bind_view(const View& parent, const Spec& child, const Binding& binding);

}  // namespace morello

#endif

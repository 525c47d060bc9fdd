// SPDX-License-Identifier: MIT
#include "spec/view.hh"

namespace morello {

View dense_view(const Spec& spec, const Operand& operand) {
  View v;
  const PhysicalDims p = physical_dims(spec, operand);
  std::array<u8, kMaxDims> pieces{};
  std::array<u32, kMaxDims> counted{};  // elements of the pieces so far
  counted.fill(1);
  i64 stride = 1;
  for (int i = p.count - 1; i >= 0; i--) {
    const u8 d = operand.layout.dim[i], piece = pieces[d]++;
    DimView& view = v.dim[d];
    view.stride[piece] = stride;
    if (operand.layout.block[i] != 0) view.block[piece] = counted[d] *= operand.layout.block[i];
    stride *= p.size[i];
  }
  for (int w = 0; w < kMaxWindows; w++) {
    if (!operand.has_window(w)) continue;
    const Window& window = spec.window[w];
    const i64 axis = v.dim[window.outer].stride[0];
    v.dim[window.outer].stride[0] = axis * window.step;
    v.dim[window.inner].stride[0] = axis * window.dilation;
  }
  return v;
}

u64 dense_elements(const Spec& spec, const Operand& operand) {
  const PhysicalDims p = physical_dims(spec, operand);
  u64 n = 1;
  for (int i = 0; i < p.count; i++) n *= p.size[i];
  return n;
}

View bind_view(const View& parent, const Spec& child, const Binding& binding) {
  View v;
  for (int d = 0; d < child.rank; d++) {
    v.dim[d] = parent.dim[binding.dim[d]];
    DimView& view = v.dim[d];
    for (int piece = kMaxPieces - 2; piece >= 0; piece--)
      if (view.block[piece] && child.size[d] <= view.block[piece]) {  // within one block
        view.block[piece] = 0;
        view.stride[piece + 1] = 0;
      }
  }
  return v;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "spec/view.hh"

namespace morello {

View dense_view(const Spec& spec, const Operand& operand) {
  View v;
  const Layout& l = operand.layout;
  i64 stride = 1;
  if (l.packed()) {
    v.dim[l.pack_dim].pack = l.pack;
    v.dim[l.pack_dim].inner = 1;
    stride = l.pack;
  }
  for (int i = l.rank() - 1; i >= 0; i--) {
    u8 d = l.order[i];
    v.dim[d].stride = stride;
    stride *= static_cast<i64>(d == l.pack_dim ? ceil_div(spec.size[d], l.pack) : spec.size[d]);
  }
  return v;
}

u64 dense_elements(const Spec& spec, const Operand& operand) {
  u64 n = 1;
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(operand.dims, d))
      n *=
          d == operand.layout.pack_dim ? round_up(spec.size[d], operand.layout.pack) : spec.size[d];
  return n;
}

View bind_view(const View& parent, const Spec& child, const Binding& binding) {
  View v;
  for (int d = 0; d < child.rank; d++) {
    v.dim[d] = parent.dim[binding.dim[d]];
    DimView& dv = v.dim[d];
    if (dv.pack && child.size[d] <= dv.pack) dv = {dv.inner, 0, 0};  // within one panel
  }
  return v;
}

}  // namespace morello

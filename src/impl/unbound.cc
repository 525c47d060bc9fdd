// SPDX-License-Identifier: MIT
#include "impl/unbound.hh"

namespace morello {

Unbound unbind(const Spec& child, const Binding& binding) {
  Unbound u;
  u.size.fill(1);
  auto map_mask = [&](DimMask mask) {
    DimMask m = 0;
    for (int d = 0; d < child.rank; d++)
      if (has_dim(mask, d)) m = static_cast<DimMask>(m | 1u << binding.dim[d]);
    return m;
  };
  for (int d = 0; d < child.rank; d++) u.size[binding.dim[d]] = child.size[d];
  for (int o = 0; o < child.operand_count; o++) {
    int slot = slot_of(binding.operand[o]);
    Operand operand = child.operand[o];
    operand.dims = map_mask(operand.dims);
    for (u8& d : operand.layout.dim)
      if (d != kNoDim) d = binding.dim[d];
    u.operand[slot] = operand;
    u.used[slot] = true;
  }
  for (int w = 0; w < kMaxWindows; w++) {
    u.window[w] = child.window[w];
    if (!u.window[w].used()) continue;
    u.window[w].outer = binding.dim[u.window[w].outer];
    u.window[w].inner = binding.dim[u.window[w].inner];
  }
  u.diagonal = child.diagonal;
  if (child.diagonal.used()) {
    u.diagonal.column = binding.dim[child.diagonal.column];
    if (child.diagonal.row != kNoDim) u.diagonal.row = binding.dim[child.diagonal.row];
  }
  u.stage_count = child.stage_count;
  auto map_ref = [&](Ref ref) {
    return is_operand(ref) ? ref_of_slot(slot_of(binding.operand[ref])) : ref;
  };
  for (int s = 0; s < child.stage_count; s++) {
    Stage& stage = u.stage[s] = child.stage[s];
    for (Ref& in : stage.in) in = map_ref(in);
    stage.out = map_ref(stage.out);
    stage.reduce = map_mask(stage.reduce);
  }
  return u;
}

}  // namespace morello

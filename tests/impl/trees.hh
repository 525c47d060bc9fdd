// SPDX-License-Identifier: MIT
// Hand-made Impl trees for the tests of this layer.
#ifndef MORELLO_TESTS_IMPL_TREES_HH
#define MORELLO_TESTS_IMPL_TREES_HH

#include "../support/random_tree.hh"
#include "../support/stages.hh"
#include "impl/microkernel_id.hh"

namespace morello::testing {

/// out[m,n] = (or +=) a[m,k] * b[k,n], dense, row-major. Dimensions of size 1 are dropped.
inline Problem matmul(u32 m, u32 n, u32 k, Access access) {
  Problem p;
  Spec& s = p.spec;
  s.rank = 3;
  s.size = {m, n, k};
  s.operand_count = 3;
  set_stages(s, {stage_of_op(Op::kMulAdd, 0, 1, 0b100)});
  constexpr DimMask kDims[] = {0b101, 0b110, 0b011};
  constexpr std::array<std::array<u8, 2>, 3> kOrder = {{{0, 2}, {2, 1}, {0, 1}}};
  for (int o = 0; o < 3; o++) {
    const Layout layout = layout_in_order(kOrder[o]);
    s.operand[o] = dense_operand(s, Dtype::kF32, Level::kMemory, o < 2 ? Access::kIn : access,
                                 kDims[o], layout);
  }
  drop_unit_dims(s, nullptr);
  for (int o = 0; o < 3; o++) {
    p.views[o] = dense_view(s, s.operand[o]);
    p.data[o].assign(dense_elements(s, s.operand[o]), 0);
  }
  return p;
}

inline ImplNode leaf(const Spec& spec, MicrokernelId id) {
  return {spec, Select{static_cast<u16>(id)}, {}, 160, {}};
}

/// A loop over `dim` with a leaf for the tile, and one for the remainder if there is one.
inline ImplTree tiled(const Spec& spec, u8 dim, u32 size, MicrokernelId id) {
  ImplTree tree;
  tree.target = fixed_target(Isa::kAvx2);
  u64 trips = spec.size[dim] / size;
  u32 rest = spec.size[dim] % size;
  tree.nodes.push_back({spec, Loop{dim, size, trips, false}, {}, 0, {}});
  for (u32 piece : {size, rest}) {
    if (!piece) continue;
    Binding binding;
    NodeId child = static_cast<NodeId>(tree.nodes.size());
    tree.nodes.push_back(leaf(tile(spec, dim, piece, &binding), id));
    tree.nodes[0].children.push_back({child, binding});
  }
  tree.nodes[0].cost = static_cast<i64>(trips + (rest != 0)) * 160 + 48;
  return tree;
}

/// The output in a register tile, around a leaf.
inline ImplTree in_registers(const Spec& spec) {
  ImplTree tree;
  tree.target = fixed_target(Isa::kAvx2);
  u8 out = static_cast<u8>(spec.out_index());
  Operand placed = dense_operand(spec, Dtype::kF32, Level::kRegister, spec.out().access,
                                 spec.out().dims, spec.out().layout);
  tree.nodes.push_back({spec, Move{out, false, placed}, {}, 500, {}});
  auto add = [&](const Spec& child, const Binding& binding, MicrokernelId id) {
    tree.nodes[0].children.push_back({static_cast<NodeId>(tree.nodes.size()), binding});
    tree.nodes.push_back(leaf(child, id));
  };
  Binding binding;
  if (spec.out().access == Access::kInOut) {
    Spec in = move_spec(spec, out, placed, true, &binding);
    add(in, binding, MicrokernelId::kMap);
  }
  Spec body = spec;
  body.out() = placed;
  binding = identity_binding();
  binding.operand[out] = new_buffer(0);
  add(body, binding, MicrokernelId::kOuterProduct);
  Spec back = move_spec(spec, out, placed, false, &binding);
  add(back, binding, MicrokernelId::kMap);
  return tree;
}

}  // namespace morello::testing

#endif

// SPDX-License-Identifier: MIT
// Free layouts: an input that the caller will bring into whatever layout is cheapest.
#include "actions/placement.hh"

namespace morello {
namespace {

void list_choose(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  int o = 0;
  while (o < spec.operand_count && !spec.operand[o].free_layout) o++;
  if (o == spec.operand_count) return;
  const bool windows = spec.operand[o].windows != 0;  // whose axes cannot be told apart
  const Factor factor = free_factor(spec, o);
  each_layout(factor.product, factor.operand, context, [&](LayoutOption option, u32 panel) {
    if (windows && option != LayoutOption::kSame) return;
    out.add({ActionKind::kChoose, static_cast<u8>(o), {}, option, panel});
  });
}

Operand chosen(const Spec& spec, const Action& a) {
  const Operand& x = spec.operand[a.arg];
  const Factor factor = free_factor(spec, a.arg);
  Layout layout = layout_of(factor.product, factor.operand, a.option, a.size).layout;
  return dense_operand(spec, x.dtype, x.level, x.access, x.dims, layout, x.windows);
}

bool derive_choose(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                   Derivation& d) {
  d.count = 1;
  d.child[0] = {spec, limits, 1, identity_binding()};
  d.child[0].spec.operand[a.arg] = chosen(spec, a);
  forget_pitch(d.child[0].spec.operand[a.arg]);
  if (spec.operand[a.arg].windows != 0) drop_windows(d.child[0].spec);
  return true;
}

decltype(ImplNode::kind) choose_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Choose{a.arg, chosen(spec, a)};
}

}  // namespace

extern const Rewrite kChooseRewrite = {ActionKind::kChoose, list_choose, derive_choose,
                                       choose_node,         nullptr,     kBorders | kDiagonal};

}  // namespace morello

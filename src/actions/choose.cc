// SPDX-License-Identifier: MIT
// Free layouts: an input that the caller will bring into whatever layout is cheapest.
#include "actions/placement.hh"
#include "spec/gather.hh"

namespace morello {
namespace {

/// The factor of another product with the same other factor, over the same dimensions and of the
/// same type, that is in panels already. Null: there is none.
const Operand* like_factor(const Spec& spec, int operand) {
  const auto partner_of = [&](int factor) {  // in its only product
    Ref partner = kNoRef;
    for (int s = 0; s < spec.stage_count; s++) {
      const Stage& stage = spec.stage[s];
      for (int i : {0, 1})
        if (stage.op == Op::kMulAdd && stage.in[i] == factor)
          partner = partner == kNoRef ? stage.in[1 - i] : static_cast<Ref>(factor);
    }
    return partner == factor ? kNoRef : partner;
  };
  const Operand& x = spec.operand[operand];
  const Ref partner = partner_of(operand);
  if (is_chain(spec) || partner == kNoRef) return nullptr;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& other = spec.operand[o];
    if (o != operand && other.layout.packed() && other.dims == x.dims && other.dtype == x.dtype &&
        other.windows == x.windows && partner_of(o) == partner)
      return &other;
  }
  return nullptr;
}

Operand chosen(const Spec& spec, const Action& a) {
  const Operand& x = spec.operand[a.arg];
  const Factor factor = free_factor(spec, a.arg);
  Layout layout = layout_of(factor.product, factor.operand, a.option, a.size).layout;
  return dense_operand(spec, x.dtype, x.level, x.access, x.dims, layout, x.windows);
}

void list_choose(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  int o = 0;
  while (o < spec.operand_count && !spec.operand[o].free_layout) o++;
  if (o == spec.operand_count) return;
  // Axes of windows cannot be told apart, and places that are gathered are not in blocks.
  const bool same = spec.operand[o].windows != 0 || has_dim(gathered_operands(spec), o);
  const Factor factor = free_factor(spec, o);
  const Operand* like =
      context.restricts(Restriction::kLikeLayouts) ? like_factor(spec, o) : nullptr;
  each_layout(factor.product, factor.operand, context, [&](LayoutOption option, u32 panel) {
    if (same && option != LayoutOption::kSame) return;
    if (like && layout_of(factor.product, factor.operand, option, panel).layout != like->layout)
      return;
    const Action a{ActionKind::kChoose, static_cast<u8>(o), {}, option, panel};
    if (!lacks_groups(spec, o, chosen(spec, a), context)) out.add(a);
  });
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

extern const Rewrite kChooseRewrite = {
    ActionKind::kChoose, list_choose, derive_choose,
    choose_node,         nullptr,     kBorders | kDiagonal | kGathers};

}  // namespace morello

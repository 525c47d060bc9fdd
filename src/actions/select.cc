// SPDX-License-Identifier: MIT
// Leaves: one microkernel for the whole Spec.
#include "actions/placement.hh"
#include "cost/microkernel.hh"

namespace morello {
namespace {

void list_select(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  if (has_free_operand(spec)) return;
  for (const Microkernel* kernel : context.microkernels)
    if (kernel->applies(spec, *context.target))
      out.add({ActionKind::kSelect, static_cast<u8>(kernel->id), {}, {}, 0});
}

bool lists_select(const Spec& spec, const Limits&, const Action& a, const ActionContext& context) {
  const size_t index = a.arg - size_t{1};  // beyond all for 0
  return index < context.microkernels.size() && !has_free_operand(spec) &&
         a == Action{ActionKind::kSelect, a.arg, {}, {}, 0} &&
         context.microkernels[index]->applies(spec, *context.target);
}

bool derive_select(const Spec& spec, const Limits& limits, const Action& a, const ActionContext& c,
                   Derivation& d) {
  const Microkernel& kernel = *c.microkernels[a.arg - 1u];
  d.level = Level::kRegister;
  d.amount = kernel.registers(spec, *c.target);
  if (d.amount > limits.at(Level::kRegister)) return false;
  d.own = kernel.cost(spec, *c.target);
  return true;
}

decltype(ImplNode::kind) select_node(const Spec&, const Action& a, const ActionContext&) {
  return Select{a.arg};
}

}  // namespace

extern const Rewrite kSelectRewrite = {ActionKind::kSelect, list_select, derive_select, select_node,
                                       lists_select};

}  // namespace morello

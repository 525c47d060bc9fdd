// SPDX-License-Identifier: MIT
// What gathers at one place: the program takes the index, and goes on with the operand there. All
// places of an index are loops before.
#include "actions/action.hh"
#include "spec/gather.hh"

namespace morello {
namespace {

void list_index(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (const int stage = gather_at_one_place(spec); stage >= 0)
    out.add({ActionKind::kIndex, static_cast<u8>(stage), {}, {}, 0});
}

bool derive_index(const Spec& spec, const Limits& limits, const Action& a, const ActionContext& c,
                  Derivation& d) {
  Gathered part = gathered(spec, a.arg);
  d.child[d.count++] = {part.spec, limits, 1, part.binding};
  d.own = c.target->prices.loop;
  return true;
}

decltype(ImplNode::kind) index_node(const Spec&, const Action& a, const ActionContext&) {
  return Index{a.arg};
}

}  // namespace

extern const Rewrite kIndexRewrite = {
    ActionKind::kIndex, list_index, derive_index,
    index_node,         nullptr,    kGathers | kBorders | kDiagonal};

}  // namespace morello

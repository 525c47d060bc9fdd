// SPDX-License-Identifier: MIT
#include "actions/action.hh"

#include "actions/narrow.hh"
#include "spec/border.hh"
#include "spec/gather.hh"
#include "spec/rescale.hh"
#include "spec/roles.hh"

namespace morello {

namespace {

constexpr bool in_order() {
  int next = 1;
#define MORELLO_ACTION(number, name) \
  if (number != next++) return false;
#include "actions/actions.def"
#undef MORELLO_ACTION
  return next <= 32;  // ActionContext::disabled has a bit for each
}
static_assert(in_order());

const Rewrite& rewrite_of(ActionKind kind) { return *rewrites()[static_cast<size_t>(kind) - 1]; }

/// Blocks of rows come one after the other, and what each needs comes near for it alone
/// (Restriction::kFewBlocks).
bool list_blocks(const Spec& spec, const Limits& limits, const ActionContext& context,
                 ActionList& out) {
  if (is_chain(spec) || !context.restricts(Restriction::kFewBlocks)) return false;
  const u8 dim = dim_of_blocks(spec);
  if (dim == kNoDim) return false;
  for (ActionKind kind : {ActionKind::kTile, ActionKind::kParallelTile}) {
    const Action one{kind, dim, {}, {}, 1};
    const Rewrite& rewrite = rewrite_of(kind);
    if (may_be_listed(rewrite, 0, context) && rewrite.lists(spec, limits, one, context))
      out.add(one);
  }
  return out.size() > 0;
}

}  // namespace

std::span<const Rewrite* const> rewrites() {
  static constexpr std::array kAll = {
#define MORELLO_ACTION(number, name) &k##name##Rewrite,
#include "actions/actions.def"
#undef MORELLO_ACTION
  };
  return kAll;
}

u64 order_of(const Action& a) {
  return static_cast<u64>(a.kind) << 56 | static_cast<u64>(a.arg) << 48 |
         static_cast<u64>(a.level) << 40 | static_cast<u64>(a.option) << 32 |
         (0xffffffffu - a.size);
}

u8 specials_of(const Spec& spec) {
  return static_cast<u8>((bordered_operand(spec) >= 0 ? kBorders : 0) |
                         (spec.diagonal.used() ? kDiagonal : 0) | (gathers(spec) ? kGathers : 0));
}

bool may_be_listed(const Rewrite& rewrite, u8 specials, const ActionContext& context) {
  if (context.disabled >> static_cast<int>(rewrite.kind) & 1) return false;
  return (specials & ~rewrite.knows) == 0;
}

void list_actions(const Spec& spec, const Limits& limits, const ActionContext& context,
                  ActionList& out) {
  out.clear();
  const u8 specials = specials_of(spec);
  if (specials == 0)
    if (const std::optional<Action> sure = sure_action(spec, context)) return out.add(*sure);
  if (list_blocks(spec, limits, context, out)) return;
  for (const Rewrite* rewrite : rewrites())
    if (may_be_listed(*rewrite, specials, context)) rewrite->list(spec, limits, context, out);
  keep_first_move(spec, context, out);
}

bool preview(const Spec& spec, const Limits& limits, const Action& action,
             const ActionContext& context, Derivation& out) {
  out.count = 0;
  out.own = 0;
  out.level = Level::kMemory;
  out.amount = 0;
  return rewrite_of(action.kind).derive(spec, limits, action, context, out);
}

ImplNode apply(const Spec& spec, const Action& action, const ActionContext& context,
               const Derivation& derivation) {
  ImplNode node{spec, rewrite_of(action.kind).node(spec, action, context), {}, 0, {}};
  node.children.reserve(static_cast<size_t>(derivation.count));
  for (int i = 0; i < derivation.count; i++)
    node.children.push_back({static_cast<NodeId>(i), derivation.child[i].binding});
  return node;
}

Limits peaks_of(const Derivation& derivation, std::span<const Limits> children) {
  Limits peaks;
  for (const Limits& p : children) peaks = max_of(peaks, p);
  return add(peaks, derivation.level, derivation.amount);
}

}  // namespace morello

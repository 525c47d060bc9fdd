// SPDX-License-Identifier: MIT
#include "search/apart.hh"

#include <array>

#include "spec/roles.hh"

namespace morello {
namespace {

using StageMask = u32;
static_assert(kMaxStages <= 32);

bool is_product(const Stage& stage) {
  return stage.op == Op::kMulAdd && stage.in[0] != stage.in[1];
}

/// The first stage whose value is to be there before what reads it: a product, or a reduction of
/// products, reads what products or reductions made; or a step joins what two products made. -1:
/// there is none. A reduction by itself, such as a norm's, is no part: what it combines is in L1.
int first_cut(const Spec& spec) {
  if (is_chain(spec)) return -1;
  std::array<StageMask, kMaxStages> reductions{}, products{};  // that are in values
  int first = -1;
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    for (Ref in : stage.in) {
      if (!is_value(in)) continue;
      const int source = stage_of(in);
      const bool feeds = is_reduction(stage) && reductions[source] != 0 &&
                         (is_product(stage) || products[source] != 0);
      const bool joins =
          (products[source] & ~products[s]) != 0 && (products[s] & ~products[source]) != 0;
      if ((feeds || joins) && (first < 0 || source < first)) first = source;
      reductions[s] |= reductions[source];
      products[s] |= products[source];
    }
    if (is_reduction(stage)) reductions[s] |= 1u << s;
    if (is_product(stage)) products[s] |= 1u << s;
  }
  return first;
}

}  // namespace

bool Apart::serves(const Spec& spec) { return first_cut(spec) >= 0; }

void Apart::list(const Spec& spec, const Limits& limits, ActionList& out) const {
  if (const int stage = has_free_operand(spec) ? -1 : first_cut(spec); stage >= 0) {
    ActionList all;
    list_actions(spec, limits, parts_.whole(), all);
    const Action* far = nullptr;
    for (const Action& a : all)
      if (a.kind == ActionKind::kBufferize && a.arg == stage && (!far || far->level < a.level))
        far = &a;
    if (far) {
      out.clear();
      return out.add(*far);
    }
  }
  parts_.list(spec, limits, out);
}

}  // namespace morello

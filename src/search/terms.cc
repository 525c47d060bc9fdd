// SPDX-License-Identifier: MIT
#include "search/terms.hh"

#include <optional>

#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Products of a result and a term, from which it costs little to bring sums for each term.
constexpr u64 kDeep = 128;

bool is_panel(const Action& a) {
  return a.kind == ActionKind::kChoose &&
         (a.option == LayoutOption::kPanels || a.option == LayoutOption::kGroupedPanels);
}

/// Of a Spec with borders.
bool leads_to_terms(const Spec& spec, const Action& a) {
  if (a.kind == ActionKind::kBufferize || a.kind == ActionKind::kView) return true;
  if (a.kind == ActionKind::kWiden) return a.arg == spec.out_index();
  const std::optional<BorderCut> cut = term_cut(spec);
  return a.kind == ActionKind::kDivide && cut && a.arg == cut->dim;
}

}  // namespace

bool Terms::serves(const Spec& spec) {
  const int operand = bordered_operand(spec);
  const auto depth = [&] {
    return points_of(spec, static_cast<DimMask>(spec.reduced() & ~window_dims(spec)));
  };
  return operand >= 0 && is_chain(spec) && reader_of(spec, operand).op == Op::kMulAdd &&
         !has_dim(bordered_dims(spec), unit_dim(spec.out())) && depth() >= kDeep;
}

void Terms::list(const Spec& spec, const Limits& limits, ActionList& out) const {
  if (bordered_operand(spec) >= 0) {
    const bool chooses = has_free_operand(spec);
    ActionList all;
    if (chooses)
      parts_.list(spec, limits, all);
    else
      list_actions(spec, limits, parts_.whole(), all);
    out.clear();
    for (const Action& a : all)
      if (chooses ? is_panel(a) : leads_to_terms(spec, a)) out.add(a);
    if (out.size() > 0) return;
  }
  parts_.list(spec, limits, out);
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Where operands may be put: shared by the actions that move them.
#ifndef MORELLO_ACTIONS_PLACEMENT_HH
#define MORELLO_ACTIONS_PLACEMENT_HH

#include "actions/action.hh"

namespace morello {

/// A contraction or reduction at stage 0: what register tiles and packing exist for.
inline bool combines(const Spec& spec) {
  return spec.stage[0].op == Op::kMulAdd || spec.reduced() != 0;
}

inline bool has_register_operand(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister) return true;
  return false;
}
inline bool has_free_operand(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].free_layout) return true;
  return false;
}

/// Does dimension `dim` index both factors of the contraction?
inline bool both_have(const Spec& spec, u8 dim) {
  const Stage& s = spec.stage[0];
  return s.op == Op::kMulAdd && has_dim(spec.operand[s.in0].dims, dim) &&
         has_dim(spec.operand[s.in1].dims, dim);
}

/// Cache lines that a tile takes away from a cache when it stays there. Runs at a distance that is
/// a multiple of a power of two fall into few sets: each then takes the lines up to the next one's.
u64 resident_lines(const Spec& spec, const Operand& operand, Level cache);

/// The layout that `option` stands for, or nothing where it says no more than another option does.
struct LayoutChoice {
  bool valid = false;
  Layout layout;
};
LayoutChoice layout_of(const Spec& spec, int operand, LayoutOption option, u32 panel);
/// Calls add(option, panel) for every choice that makes sense for the operand.
template <class F>
void each_layout(const Spec& spec, int operand, const ActionContext& context, F&& add) {
  auto order = [&](LayoutOption option) {
    if (layout_of(spec, operand, option, 0).valid) add(option, 0u);
  };
  order(LayoutOption::kSame);
  // Only where microkernels read it better than as it is: rows by broadcasts, at any stride;
  // columns in vectors, unless both factors have them.
  const Operand& x = spec.operand[operand];
  u8 unit = unit_dim(x), v = unit_dim(spec.out());
  bool all = !context.restricts(Restriction::kLayouts);
  if (all || unit != v || unit == kNoDim || both_have(spec, v)) order(LayoutOption::kReducedFast);
  if (all || !has_dim(spec.reduced(), unit) || has_dim(x.dims, v))
    order(LayoutOption::kReducedSlow);
  u32 lanes = context.target->lanes(size_of(spec.operand[operand].dtype));
  bool along_vectors = v != kNoDim && has_dim(spec.operand[operand].dims, v);
  auto panels = [&](u32 panel) {
    if (layout_of(spec, operand, LayoutOption::kPanels, panel).valid)
      add(LayoutOption::kPanels, panel);
  };
  if (along_vectors)
    for (u32 n : {1u, 2u, 3u, 4u}) panels(n * lanes);
  else if (!has_dim(spec.reduced(), unit_dim(spec.operand[operand])))
    // Rows are read one element at a time: where they run along a reduced dimension they are good
    // as they are, and panels would say no more.
    for (u32 n : {4u, 6u, 8u, 12u}) panels(n);
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What actions, prices, bounds and emitters ask of a Spec, derived from its stages and access maps:
// which parts operands and dimensions have in it. Nobody else looks for "the first stage" or "the
// first operand".
#ifndef MORELLO_SPEC_ROLES_HH
#define MORELLO_SPEC_ROLES_HH

#include "spec/spec.hh"
#include "support/number.hh"

namespace morello {

// ---- stages

/// The stage that multiplies and adds, if there is one.
inline const Stage* contraction_of(const Spec& spec) {
  for (int s = 0; s < spec.stage_count; s++)
    if (spec.stage[s].op == Op::kMulAdd) return &spec.stage[s];
  return nullptr;
}
/// What it multiplies. REQUIRES: there is a contraction.
inline std::array<Ref, 2> factors_of(const Spec& spec) {
  const Stage& product = *contraction_of(spec);
  return {product.in[0], product.in[1]};
}
/// A stage multiplies and adds, or reduces: what register tiles and packed copies exist for. Others
/// are maps: every element of the output comes from one of each input.
inline bool combines(const Spec& spec) { return spec.reduced() != 0 || contraction_of(spec); }

/// One stage that may combine, but gathers nothing, then elementwise ones that each read the value
/// of the stage before and no other value; the last one writes the only output. Today's actions
/// other than tiles and moves, and all microkernels, are for chains.
bool is_chain_of_stages(const Spec& spec);
inline bool is_chain(const Spec& spec) {
  if (spec.stage_count > 1) return is_chain_of_stages(spec);
  return (spec.reduced() & spec.out().dims) == 0 && spec.stage[0].op != Op::kGather;
}
/// Elementwise stages that each read the value of the stage before, or none, and no other value;
/// then a reduction that writes the last output; or one sum of squares. What the reduction combines
/// may be an output as well; nothing else is.
bool is_fold(const Spec& spec);
/// The operand that what a fold combines is written to; kNoRef if it is not.
/// REQUIRES: is_fold().
inline Ref kept_by_fold(const Spec& spec) {
  return spec.stage_count < 2 ? kNoRef : spec.stage[spec.stage_count - 2].out;
}
/// The last stage, but for the last one, whose value has fewer dimensions than the output: in an
/// elementwise chain, what may be computed once for all elements that it is broadcast to. -1: none.
int broadcast_stage(const Spec& spec);
/// The first stage of a chain. REQUIRES: is_chain().
inline const Stage& head_of(const Spec& spec) { return spec.stage[0]; }
/// The operand that the head reads first: of a reduction or a copy, the only one.
inline Ref source_of(const Spec& spec) { return head_of(spec).in[0]; }
/// A chain without steps.
inline bool is_single(const Spec& spec) { return spec.stage_count == 1; }

/// What a reduction starts from.
inline u32 neutral_bits(const Stage& stage) {
  return bits_of_number(stage.dtype, identity_of(stage.op, stage.dtype));
}

// ---- values

/// By any stage.
bool is_read(const Spec& spec, Ref ref);

/// The dimensions of an operand, or of a stage's value.
DimMask dims_of(const Spec& spec, Ref ref);
/// The element type that a chain begins in, and its lanes in a vector: those of the computation,
/// whatever the operands are converted from and to.
inline Dtype computed_dtype(const Spec& spec) { return computed_in(head_of(spec).dtype); }
inline u32 computed_lanes(const Spec& spec, const Target& target) {
  return target.lanes(size_of(computed_dtype(spec)));
}

/// The dimensions that a stage runs over: those of what it reads, and those that it combines.
DimMask dims_of(const Spec& spec, const Stage& stage);
/// The same of all stages.
std::array<DimMask, kMaxStages> dims_of_stages(const Spec& spec);
/// Does dimension `dim` index both factors of the contraction?
inline bool both_have(const Spec& spec, u8 dim) {
  const Stage* s = contraction_of(spec);
  return s && has_dim(dims_of(spec, s->in[0]), dim) && has_dim(dims_of(spec, s->in[1]), dim);
}
/// Points of some of its dimensions, saturating.
u64 points_of(const Spec& spec, DimMask dims);

// ---- the output

/// The value of a reduction is combined with what the output held: it is kInOut, and no stage
/// reads it.
inline bool accumulates(const Spec& spec, const Stage& stage) {
  if (!is_operand(stage.out) || spec.operand[stage.out].access != Access::kInOut) return false;
  return is_reduction(stage) && !is_read(spec, stage.out);
}
/// A step of a chain reads what the output held before.
inline bool reads_output_late(const Spec& spec) {
  return spec.stage_count > 1 && spec.out().access == Access::kInOut &&
         !accumulates(spec, spec.stage[spec.stage_count - 1]);
}

// ---- dimensions

/// Every output has them and no stage combines along them: parts of the Spec along them are apart.
DimMask parallel_dims(const Spec& spec);
/// Do both factors have the dimension that vectors of results run along? Each lane is a product of
/// its own then, and no microkernel multiplies groups.
inline bool both_have_vectors(const Spec& spec) {
  const u8 v = unit_dim(spec.out());
  return v != kNoDim && both_have(spec, v);
}
/// Are all places of the operand's windows read?
bool has_all_places(const Spec& spec, const Operand& operand);
/// The dimensions of all windows.
DimMask window_dims(const Spec& spec);
/// Every stage runs over them: a tile repeats nothing.
DimMask inner_dims(const Spec& spec);
/// Computing the Spec on one part of such a dimension and then on the other, into the same outputs,
/// computes the whole: all that has the dimension adds to outputs in the end.
DimMask fold_dims(const Spec& spec);

// ---- operands

/// The operand in registers; -1 if there is none. Two: that of the first stage that reads one.
inline int register_operand(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister) return o;
  return -1;
}
inline bool has_free_operand(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].free_layout) return true;
  return false;
}
/// An input in registers, whole: what a step or a copy from a register tile reads. -1: there is
/// none.
inline int register_input(const Spec& spec) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister && spec.operand[o].access == Access::kIn)
      return o;
  return -1;
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What vectors hold of elements in memory: which conversions microkernels know, the registers that
// they take, and what they cost. codegen/x64/vectors has the instructions.
#ifndef MORELLO_COST_HELD_HH
#define MORELLO_COST_HELD_HH

#include "spec/roles.hh"
#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// The element type of a chain's lanes in a stage: what it is computed in. A copy in memory that
/// converts nothing holds the elements as they are. A value of 16 bits is held as the f32 that it
/// is.
inline Dtype held_in(const Spec& spec, const Stage& stage) {
  const Dtype computed = computed_in(stage.dtype);
  if (stage.op != Op::kCopy || !is_single(spec)) return computed;
  const Dtype from = spec.operand[source_of(spec)].dtype;
  return from == spec.out().dtype && stage.dtype == computed_in(from) ? from : computed;
}

/// Does the stage round its lanes, and leave them f32? An output of the stage's element type rounds
/// when it is stored.
inline bool rounds_lanes(const Spec& spec, const Stage& stage) {
  if (!is_narrow_float(stage.dtype)) return false;
  return !is_operand(stage.out) || spec.operand[stage.out].dtype != stage.dtype;
}

/// Do loads, stores and rounded lanes know all the conversions? Stages are computed in 4 bytes,
/// register tiles have what is computed, and numbers are rounded once: of stages of 16 bits only
/// copies.
bool is_convertible(const Spec& spec);

/// An operand is loaded or stored as it is.
constexpr bool is_plain(Dtype memory, Dtype held) { return memory == held && size_of(held) == 4; }

/// Does a copy leave narrow elements as they are, or are they all the same? Where they are next to
/// each other on both sides, they need not become lanes.
bool moves_narrow(const Spec& spec);
/// The same for a leaf whose rows move whole: vectors of them have as many elements as there is
/// room for.
bool moves_rows(const Spec& spec);
/// Elements of a vector of results.
u32 moved_lanes(const Spec& spec, const Target& target);
/// The copy, or fill, as one of i32, without what is left of a row.
/// REQUIRES: moves_rows(spec).
Spec move_of_lanes(const Spec& spec);
/// Bytes of a row that are left.
inline u32 left_of_row(const Spec& spec) {
  return spec.size[unit_dim(spec.out())] * size_of(spec.out().dtype) % 4;
}

/// bf16 as f32: the bits in the upper halves of lanes. Which bytes go where is in a register, if a
/// microkernel has one for it (Vectors::ready_widening()); else it takes an instruction more.
constexpr bool widens_by_order(Dtype memory, Dtype held, const Target& target) {
  return memory == Dtype::kBf16 && held == Dtype::kF32 && target.permutes_words;
}
/// f32 as bf16 by one instruction, but for denormal numbers, which it takes to be zero.
constexpr bool narrows_natively(Dtype memory, Dtype held, const Target& target) {
  return memory == Dtype::kBf16 && held == Dtype::kF32 &&
         includes(target.required, features(Feature::kAvx512Bf16));
}
/// The same as widens_by_order(), of what is rounded by several instructions. Without mask
/// registers the order is in memory.
constexpr bool narrows_by_order(Dtype memory, Dtype held, const Target& target) {
  return widens_by_order(memory, held, target) && target.has_masks &&
         !narrows_natively(memory, held, target);
}

/// Vector registers that storing what is held takes, besides those of a vector that is stored in
/// parts.
u32 narrowing_registers(Dtype to, Dtype held, const Target& target);

/// Units of the conversions of one vector of each operand in memory, or of one element, and of
/// lanes that stages round.
i64 conversion_units(const Spec& spec, const Target& target);
/// Of what a stage reads and writes, whoever computes it: only factors are copied to wider types.
/// 0: copies may leave elements as they are.
i64 least_conversion(const Spec& spec, const Stage& stage, const Target& target);
/// What it has of rounding what the stage writes.
i64 least_rounding(const Spec& spec, const Stage& stage, const Target& target);
/// Of a vector that is held in another type than it is stored in.
i64 widening_units(Dtype from, Dtype held, const Target& target);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What a Spec means: a direct, slow evaluation on any machine. Reference for kernels, leaf of the
// interpreter.
#ifndef MORELLO_IMPL_EVALUATE_HH
#define MORELLO_IMPL_EVALUATE_HH

#include <array>
#include <span>

#include "spec/spec.hh"
#include "spec/view.hh"

namespace morello {

/// Where each operand's elements are.
using Views = std::array<View, kMaxOperands>;

/// Computes `spec`. `operands[i]` points to element 0 of operand i, whose elements are where
/// `views[i]` says. Works for every Spec of f32 operands, whatever their levels and layouts.
///
/// - The first stage is computed in double precision over the whole reduction; the value of every
/// stage
///   is then rounded once to f32. An elementwise chain so has exactly one right answer.
/// - An output that is kInOut is combined with the reduced value, if the only stage is a
///   multiply-add or has the form of a reduction (one input of kAdd, kMax or kMin), and is an
///   ordinary input otherwise.
/// - kMax is `a > b ? a : b` and kMin `a < b ? a : b`; reductions put the running value in a.
///
/// REQUIRES: every operand is f32; the output has every dimension that is not reduced, overlaps no
/// input but itself, and is not read if it is kOut.
void evaluate(const Spec& spec, const Views& views, void* const* operands);

/// The same value for single elements of the output, given by their offsets in it, in elements;
/// writes `values`, not the output. Returns how many offsets, from the first, are elements: values
/// are computed if all are.
/// REQUIRES: as evaluate(); the output's view has strides only (it is a user's tensor).
size_t evaluate_at(const Spec& spec, const Views& views, const void* const* operands,
                   std::span<const i64> offsets, double* values);

/// True if stage 0 combines values over reduced dimensions, of which tiling may have left none.
bool is_reduction(const Stage& stage);

}  // namespace morello

#endif

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
/// `views[i]` says. Works for every canonical Spec, whatever its element types, levels and layouts.
///
/// - What a stage reads is converted to what it computes in, i32 or f32, when it is loaded: without
///   loss, but for i32, which f32 rounds. What it writes is converted when it is stored: the
///   nearest number, ties to even; integers at most and at least what there is, and 0 for NaN.
/// - A stage is computed in double precision, a reduction over all of it, and its value then
///   rounded once to the stage's element type: an elementwise chain so has exactly one right
///   answer. Integers are modulo 2^32.
/// - An output that is kInOut is combined with the value of a reduction that is written to it, if
///   no stage reads it, and is an ordinary input otherwise.
/// - kFastMax is `a > b ? a : b` and kFastMin `a < b ? a : b`; reductions put the running value in
/// a.
///
/// REQUIRES: canonical; no output overlaps another operand, or itself, or is read if it is kOut.
void evaluate(const Spec& spec, const Views& views, void* const* operands);

/// The same value for single elements of output `output`, an operand, given by their offsets in it,
/// in elements; writes `values`, not the output. Returns how many offsets, from the first, are
/// elements: values are computed if all are. REQUIRES: as evaluate(); the output's view has plain
/// strides (it is a user's tensor). Of a chain it has all dimensions that are not reduced.
size_t evaluate_at(const Spec& spec, const Views& views, const void* const* operands, int output,
                   std::span<const i64> offsets, double* values);
/// Of the last output.
inline size_t evaluate_at(const Spec& spec, const Views& views, const void* const* operands,
                          std::span<const i64> offsets, double* values) {
  return evaluate_at(spec, views, operands, spec.out_index(), offsets, values);
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Evaluation of Specs of any form: stage by stage, each value in whole.
#ifndef MORELLO_IMPL_EVALUATE_VALUES_HH
#define MORELLO_IMPL_EVALUATE_VALUES_HH

#include "impl/evaluate.hh"

namespace morello {

/// As evaluate(). Takes 8 bytes per element of the values.
void evaluate_values(const Spec& spec, const Views& views, void* const* operands);
/// As evaluate_at(), of the last output, which has plain strides; writes nothing but `values`.
size_t evaluate_values_at(const Spec& spec, const Views& views, void* const* operands, int output,
                          std::span<const i64> offsets, double* values);

}  // namespace morello

#endif

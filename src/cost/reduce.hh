// SPDX-License-Identifier: MIT
// How reductions over rows read them: what their price and their code have in common.
#ifndef MORELLO_COST_REDUCE_HH
#define MORELLO_COST_REDUCE_HH

#include "spec/spec.hh"

namespace morello {

/// Along the vectors of the output the input moves by two elements, and along the reduced dimension
/// by one: pools that halve a row. Vectors are made of every second element of two then.
/// REQUIRES: a reduction of one dimension.
bool reads_every_second(const Spec& spec);

/// Registers of that besides the result's and those of the operation: two vectors as they are read,
/// two of every second element, and where halves of 512 bits go.
inline constexpr u32 kSecondRegisters = 5;

}  // namespace morello

#endif

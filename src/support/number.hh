// SPDX-License-Identifier: MIT
// Numbers of every element type as doubles, which hold all of them exactly, and back.
#ifndef MORELLO_SUPPORT_NUMBER_HH
#define MORELLO_SUPPORT_NUMBER_HH

#include "support/dtype.hh"

namespace morello {

/// The number that the low bits of `bits` are.
double number_of_bits(Dtype dtype, u32 bits);

/// The nearest number of the element type: ties to even, past the largest infinity, or for integers
/// the largest and smallest; NaN is 0 there. A NaN has the sign, and is quiet.
u32 bits_of_number(Dtype dtype, double value);
inline double rounded(Dtype dtype, double value) {
  return number_of_bits(dtype, bits_of_number(dtype, value));
}
/// The same, but modulo 2^32: what sums and products of integers are.
/// REQUIRES: an integer below 2^63.
double wrapped_i32(double value);

/// Element `index` of an array.
double load_number(Dtype dtype, const void* array, i64 index);
void store_number(Dtype dtype, void* array, i64 index, double value);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Elements of every type as doubles, which hold all of them, and back.
#ifndef MORELLO_CAPI_TOOLS_ELEMENT_HH
#define MORELLO_CAPI_TOOLS_ELEMENT_HH

#include <cstddef>
#include <cstdint>

#include "morello/morello.h"

namespace morello::tools {

/// Bytes; 0 for numbers that are no morello_dtype.
size_t size_of(int32_t dtype);
/// As in Specs: "f32".
const char* dtype_name(int32_t dtype);
bool is_integer(int32_t dtype);
/// The most that two neighbours near `value` are apart.
double spacing(int32_t dtype, double value);

double load(int32_t dtype, const void* array, size_t index);
/// The nearest element, ties to even; integers at most and at least what there is, 0 for NaN.
void store(int32_t dtype, void* array, size_t index, double value);

}  // namespace morello::tools

#endif

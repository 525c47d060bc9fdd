// SPDX-License-Identifier: MIT
// Element types. Numbers are those of morello_dtype and are pinned (ABI and table files).
#ifndef MORELLO_SUPPORT_DTYPE_HH
#define MORELLO_SUPPORT_DTYPE_HH

#include <optional>
#include <string_view>

#include "morello/morello.h"
#include "support/types.hh"

namespace morello {

enum class Dtype : u8 {
#define MORELLO_DTYPE(constant, name, number, ...) constant = number,
#include "support/dtypes.def"
#undef MORELLO_DTYPE
};

/// The rows by number, a nibble each: bytes, and 8 for integers. Searches ask for these more than
/// for anything else.
consteval u64 rows_of_dtypes() {
  u64 rows = 0;
#define MORELLO_DTYPE(constant, name, number, bytes, integer)                \
  static_assert((number) < 16 && (bytes) < 8, "a nibble each, and 16 rows"); \
  rows |= u64{(bytes) | ((integer) ? 8u : 0u)} << 4 * (number);
#include "support/dtypes.def"
#undef MORELLO_DTYPE
  return rows;
}

/// Bytes.
constexpr u32 size_of(Dtype d) {
  return static_cast<u32>(rows_of_dtypes() >> 4 * static_cast<u32>(d)) & 7;
}

constexpr std::string_view name_of(Dtype d) {
  switch (d) {
#define MORELLO_DTYPE(constant, name, ...) \
  case Dtype::constant:                    \
    return name;
#include "support/dtypes.def"
#undef MORELLO_DTYPE
  }
  return "?";
}

constexpr bool is_integer(Dtype d) {
  return (rows_of_dtypes() >> 4 * static_cast<u32>(d) & 8) != 0;
}

/// The element type that values of this one are computed and summed in.
constexpr Dtype computed_in(Dtype d) { return is_integer(d) ? Dtype::kI32 : Dtype::kF32; }
/// What one is converted in to another: integers as such if both are.
constexpr Dtype copied_in(Dtype from, Dtype to) {
  return is_integer(from) && is_integer(to) ? Dtype::kI32 : Dtype::kF32;
}
/// What is written to it is rounded to f32 before: nothing converts an i32 to 16 bits exactly.
constexpr bool is_narrow_float(Dtype d) {
  return !is_integer(d) && size_of(d) < size_of(Dtype::kF32);
}

/// Every element type, for parsers and messages.
inline constexpr Dtype kAllDtypes[] = {
#define MORELLO_DTYPE(constant, ...) Dtype::constant,
#include "support/dtypes.def"
#undef MORELLO_DTYPE
};
/// What a wider one has to look at, for nothing else says so: computed_in(), set_dtypes() in
/// spec/lower.cc, Stage::constant, and the bits of support/number.hh.
constexpr bool dtypes_fit_32_bits() {
  for (Dtype d : kAllDtypes)
    if (size_of(d) > sizeof(u32)) return false;
  return true;
}
static_assert(dtypes_fit_32_bits());

constexpr std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (Dtype d : kAllDtypes)
    if (name_of(d) == name) return d;
  return std::nullopt;
}

}  // namespace morello

#endif

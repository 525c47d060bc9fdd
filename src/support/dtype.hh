// SPDX-License-Identifier: MIT
// Element types. Numbers are those of morello_dtype and are pinned (ABI and table files).
#ifndef MORELLO_SUPPORT_DTYPE_HH
#define MORELLO_SUPPORT_DTYPE_HH

#include <optional>
#include <string_view>

#include "support/types.hh"

namespace morello {

enum class Dtype : u8 { kF32 = 1, kBf16 = 2, kF16 = 3, kI8 = 4, kU8 = 5, kI32 = 6 };

constexpr u32 size_of(Dtype d) {
  switch (d) {
    case Dtype::kF32:
    case Dtype::kI32:
      return 4;
    case Dtype::kBf16:
    case Dtype::kF16:
      return 2;
    case Dtype::kI8:
    case Dtype::kU8:
      return 1;
  }
  return 0;
}

constexpr std::string_view name_of(Dtype d) {
  switch (d) {
    case Dtype::kF32:
      return "f32";
    case Dtype::kBf16:
      return "bf16";
    case Dtype::kF16:
      return "f16";
    case Dtype::kI8:
      return "i8";
    case Dtype::kU8:
      return "u8";
    case Dtype::kI32:
      return "i32";
  }
  return "?";
}

constexpr bool is_integer(Dtype d) {
  return d == Dtype::kI8 || d == Dtype::kU8 || d == Dtype::kI32;
}
/// The element type that values of this one are computed and summed in.
constexpr Dtype computed_in(Dtype d) { return is_integer(d) ? Dtype::kI32 : Dtype::kF32; }

/// Every element type, for parsers and messages.
inline constexpr Dtype kAllDtypes[] = {Dtype::kF32, Dtype::kBf16, Dtype::kF16,
                                       Dtype::kI8,  Dtype::kU8,   Dtype::kI32};
/// Those that this version computes. Messages name no other: it would only be the next error.
inline constexpr Dtype kComputedDtypes[] = {Dtype::kF32};

constexpr std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (Dtype d : kAllDtypes)
    if (name_of(d) == name) return d;
  return std::nullopt;
}

}  // namespace morello

#endif

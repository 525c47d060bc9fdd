// SPDX-License-Identifier: MIT
#include "support/number.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace morello {
namespace {

/// A binary float of 16 bits, cut like those of IEEE 754.
struct Form {
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  u32 sign() const { return 1u << (exponent_bits + fraction_bits); }
  u32 infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
};
constexpr Form kBf16 = {8, 7}, kF16 = {5, 10};

double decode(const Form& form, u32 bits) {
  const u32 fraction = bits & ((1u << form.fraction_bits) - 1);
  const u32 exponent = (bits & (form.sign() - 1)) >> form.fraction_bits;
  double value;
  if (exponent == (1u << form.exponent_bits) - 1)
    value = fraction ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - form.bias() - form.fraction_bits);
  else
    value = std::ldexp(fraction | 1u << form.fraction_bits,
                       static_cast<int>(exponent) - form.bias() - form.fraction_bits);
  return bits & form.sign() ? -value : value;
}

u32 encode(const Form& form, double value) {
  const u32 sign = std::signbit(value) ? form.sign() : 0;
  if (std::isnan(value)) return sign | form.infinity() | 1u << (form.fraction_bits - 1);
  value = std::fabs(value);
  if (std::isinf(value)) return sign | form.infinity();
  // In steps of the last digit, of which numbers below the smallest normal one have the same.
  const int least = 1 - form.bias();
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  const double steps = std::nearbyint(std::ldexp(value, form.fraction_bits - exponent));
  // The hidden digit adds one to the exponent, as does a carry.
  const u64 bits =
      (static_cast<u64>(exponent - least) << form.fraction_bits) + static_cast<u64>(steps);
  return sign | static_cast<u32>(std::min<u64>(bits, form.infinity()));
}

template <class T>
u32 nearest_integer(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  value = std::nearbyint(value);
  const T number = value <= Limits::min()   ? Limits::min()
                   : value >= Limits::max() ? Limits::max()
                                            : static_cast<T>(value);
  return static_cast<u32>(static_cast<std::make_unsigned_t<T>>(number));
}

}  // namespace

double number_of_bits(Dtype dtype, u32 bits) {
  switch (dtype) {
    case Dtype::kF32:
      return std::bit_cast<float>(bits);
    case Dtype::kBf16:
      return decode(kBf16, bits & 0xffff);
    case Dtype::kF16:
      return decode(kF16, bits & 0xffff);
    case Dtype::kI8:
      return static_cast<i8>(bits);
    case Dtype::kU8:
      return static_cast<u8>(bits);
    case Dtype::kI32:
      return static_cast<i32>(bits);
  }
  return 0;
}

u32 bits_of_number(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::kF32:
      return std::bit_cast<u32>(static_cast<float>(value));
    case Dtype::kBf16:
      return encode(kBf16, value);
    case Dtype::kF16:
      return encode(kF16, value);
    case Dtype::kI8:
      return nearest_integer<i8>(value);
    case Dtype::kU8:
      return nearest_integer<u8>(value);
    case Dtype::kI32:
      return nearest_integer<i32>(value);
  }
  return 0;
}

double wrapped_i32(double value) {
  return static_cast<i32>(static_cast<u32>(static_cast<u64>(static_cast<i64>(value))));
}

double load_number(Dtype dtype, const void* array, i64 index) {
  const u32 bytes = size_of(dtype);
  u32 bits = 0;
  std::memcpy(&bits, static_cast<const char*>(array) + index * bytes, bytes);
  return number_of_bits(dtype, bits);
}

void store_number(Dtype dtype, void* array, i64 index, double value) {
  const u32 bytes = size_of(dtype), bits = bits_of_number(dtype, value);
  std::memcpy(static_cast<char*>(array) + index * bytes, &bits, bytes);
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "element.hh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace morello::tools {
namespace {

/// Floats of 16 bits: digits of the fraction, exponent of the smallest normal number.
struct Half {
  int digits, least;
};
constexpr Half kBf16 = {7, -126}, kF16 = {10, -14};

double decode(const Half& half, uint16_t bits) {
  const int fraction = bits & ((1 << half.digits) - 1), exponent = (bits & 0x7fff) >> half.digits;
  double value = std::ldexp(exponent == 0 ? fraction : fraction | 1 << half.digits,
                            std::max(exponent, 1) - 1 + half.least - half.digits);
  if (exponent == 0x7fff >> half.digits)
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  return (bits & 0x8000) != 0 ? -value : value;
}

uint16_t encode(const Half& half, double value) {
  const int infinity = (0x7fff >> half.digits) << half.digits;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  int bits = infinity;
  if (std::isnan(value)) {
    bits = infinity | 1 << (half.digits - 1);
  } else if (std::isfinite(value)) {
    const double size = std::fabs(value);
    const int exponent = size == 0 ? half.least : std::max(std::ilogb(size), half.least);
    const double steps = std::nearbyint(std::ldexp(size, half.digits - exponent));
    const double sum = std::ldexp(exponent - half.least, half.digits) + steps;
    bits = static_cast<int>(std::min<double>(sum, infinity));
  }
  return static_cast<uint16_t>(sign | bits);
}

template <typename T>
double load_as(const void* array, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const T*>(array) + index, sizeof value);
  return static_cast<double>(value);
}

template <typename T>
void store_as(void* array, size_t index, T value) {
  std::memcpy(static_cast<T*>(array) + index, &value, sizeof value);
}

template <typename T>
T to_integer(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  return static_cast<T>(std::nearbyint(std::clamp<double>(value, Limits::min(), Limits::max())));
}

}  // namespace

size_t size_of(int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
    case MORELLO_I32:
      return 4;
    case MORELLO_BF16:
    case MORELLO_F16:
      return 2;
    case MORELLO_I8:
    case MORELLO_U8:
      return 1;
    default:
      return 0;
  }
}

const char* dtype_name(int32_t dtype) {
  constexpr const char* kNames[] = {"?", "f32", "bf16", "f16", "i8", "u8", "i32"};
  return kNames[dtype >= MORELLO_F32 && dtype <= MORELLO_I32 ? dtype : 0];
}

bool is_integer(int32_t dtype) {
  return dtype == MORELLO_I8 || dtype == MORELLO_U8 || dtype == MORELLO_I32;
}

double spacing(int32_t dtype, double value) {
  if (is_integer(dtype)) return 1;
  const double size = std::isfinite(value) ? std::fabs(value) : 0;
  if (dtype == MORELLO_BF16) return std::max(std::ldexp(size, -7), 0x1p-133);
  if (dtype == MORELLO_F16) return std::max(std::ldexp(size, -10), 0x1p-24);
  return std::max(std::ldexp(size, -23), 0x1p-149);
}

double load(int32_t dtype, const void* array, size_t index) {
  switch (dtype) {
    case MORELLO_BF16:
      return decode(kBf16, static_cast<const uint16_t*>(array)[index]);
    case MORELLO_F16:
      return decode(kF16, static_cast<const uint16_t*>(array)[index]);
    case MORELLO_I8:
      return load_as<int8_t>(array, index);
    case MORELLO_U8:
      return load_as<uint8_t>(array, index);
    case MORELLO_I32:
      return load_as<int32_t>(array, index);
    default:
      return load_as<float>(array, index);
  }
}

void store(int32_t dtype, void* array, size_t index, double value) {
  switch (dtype) {
    case MORELLO_BF16:
      return store_as(array, index, encode(kBf16, value));
    case MORELLO_F16:
      return store_as(array, index, encode(kF16, value));
    case MORELLO_I8:
      return store_as(array, index, to_integer<int8_t>(value));
    case MORELLO_U8:
      return store_as(array, index, to_integer<uint8_t>(value));
    case MORELLO_I32:
      return store_as(array, index, to_integer<int32_t>(value));
    default:
      return store_as(array, index, static_cast<float>(value));
  }
}

}  // namespace morello::tools

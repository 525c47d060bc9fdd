// SPDX-License-Identifier: MIT
// Bits of elements as numbers, and back, without what the machine converts.
#include <bit>
#include <cmath>

#include "reference.hh"

namespace morello::testing {
namespace {

double decode_f16(u32 h) {
  const u32 sign = (h & 0x8000) << 16, exponent = h >> 10 & 0x1f, fraction = h & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {
    const double value = static_cast<double>(fraction) / 16777216;  // 2^-24
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Of the bits of a double, all but the `keep` highest are cut off, to the nearest even.
u64 cut(u64 bits, int drop) {
  if (drop > 62) return 0;
  const u64 half = u64{1} << (drop - 1), rest = bits & (2 * half - 1);
  const u64 kept = bits >> drop;
  return kept + (rest > half || (rest == half && (kept & 1)));
}

/// A float of 16 bits with so many of fraction; the smallest normal one is 2^least.
u32 encode_16(double value, int fraction, int least) {
  const u64 bits = std::bit_cast<u64>(value);
  const u32 sign = static_cast<u32>(bits >> 63) << 15;
  const u32 infinity = (0x7fffu >> fraction) << fraction;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const u64 mantissa = bits & ((u64{1} << 52) - 1);
  if (exponent == 1024) return sign | infinity | (mantissa ? 1u << (fraction - 1) : 0);
  if (exponent < least - fraction - 1) return sign;
  u64 magnitude;
  if (exponent < least)  // the hidden digit, shifted in
    magnitude = cut(mantissa | u64{1} << 52, 52 - fraction + (least - exponent));
  else
    magnitude = cut(static_cast<u64>(exponent - least + 1) << 52 | mantissa, 52 - fraction);
  return sign | (magnitude >= infinity ? infinity : static_cast<u32>(magnitude));
}

/// To even, without the rounding mode of the machine.
double to_integer(double value, double low, double high) {
  if (value != value) return 0;
  if (value <= low) return low;
  if (value >= high) return high;
  double below = std::floor(value);
  const double rest = value - below;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0)) below += 1;
  return below;
}

}  // namespace

double decoded(Dtype dtype, u32 bits) {
  switch (dtype) {
    case Dtype::kF32:
      return std::bit_cast<float>(bits);
    case Dtype::kBf16:
      return std::bit_cast<float>(bits << 16);
    case Dtype::kF16:
      return decode_f16(bits & 0xffff);
    case Dtype::kI8:
      return static_cast<double>((bits & 0xff) ^ 0x80) - 128;
    case Dtype::kU8:
      return bits & 0xff;
    case Dtype::kI32:
      return static_cast<i32>(bits);
  }
  return 0;
}

u32 encoded(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::kF32:
      return std::bit_cast<u32>(static_cast<float>(value));
    case Dtype::kBf16:
      return encode_16(value, 7, -126);
    case Dtype::kF16:
      return encode_16(value, 10, -14);
    case Dtype::kI8:
      return static_cast<u32>(static_cast<i32>(to_integer(value, -128, 127))) & 0xff;
    case Dtype::kU8:
      return static_cast<u32>(to_integer(value, 0, 255));
    case Dtype::kI32:
      return static_cast<u32>(static_cast<i32>(to_integer(value, -2147483648.0, 2147483647)));
  }
  return 0;
}

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
#include "converter.hh"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "support/number.hh"

namespace morello::testing {
namespace {

u32 element(Dtype dtype, const std::vector<char>& data, u32 index) {
  u32 bits = 0;
  std::memcpy(&bits, data.data() + size_t{index} * size_of(dtype), size_of(dtype));
  return bits;
}

/// The bits of a NaN that are the same in all of its kind: the sign, the exponent, and of quiet
/// ones the first of the others.
u32 nan_bits(Dtype dtype, bool quiet) {
  switch (dtype) {
    case Dtype::kF32:
      return quiet ? 0xffc00000 : 0xff800000;
    case Dtype::kBf16:
      return quiet ? 0xffc0 : 0xff80;
    default:
      return quiet ? 0xfe00 : 0xfc00;
  }
}

}  // namespace

std::vector<char> consecutive_bits(Dtype dtype, u64 first, u32 count) {
  std::vector<char> data(size_t{count} * size_of(dtype));
  for (u32 i = 0; i < count; i++) {
    const u32 bits = static_cast<u32>(first + i);
    std::memcpy(data.data() + size_t{i} * size_of(dtype), &bits, size_of(dtype));
  }
  return data;
}

std::vector<u32> converted(Dtype from, Dtype to, const std::vector<char>& in, u32 count) {
  std::vector<u32> all(count);
  for (u32 i = 0; i < count; i++) {
    double x = number_of_bits(from, element(from, in, i));
    if (!is_integer(to)) x = static_cast<float>(x);  // what it is computed in
    all[i] = bits_of_number(to, x);
  }
  return all;
}

std::string compare_converted(Dtype from, Dtype to, const std::vector<char>& in,
                              const std::vector<u32>& expected, const std::vector<char>& out) {
  for (u32 i = 0; i < expected.size(); i++) {
    const u32 bits = element(from, in, i), got = element(to, out, i);
    u32 compared = ~0u >> (32 - 8 * size_of(to));
    if (std::isnan(number_of_bits(from, bits)) && !is_integer(to)) {
      compared = nan_bits(to, size_of(to) < size_of(from));
      if (!std::isnan(number_of_bits(to, got))) compared = ~0u;
    }
    if (((got ^ expected[i]) & compared) == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s %#x becomes %s %#x, and not %#x",
                  std::string(name_of(from)).c_str(), bits, std::string(name_of(to)).c_str(), got,
                  expected[i]);
    return text;
  }
  return "";
}

}  // namespace morello::testing

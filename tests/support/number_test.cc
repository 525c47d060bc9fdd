// SPDX-License-Identifier: MIT
// Conversions: every number of 8 and 16 bits in both directions, and everything that is halfway
// between two of them, against conversions by bits and against those of the machine.
#include "support/number.hh"
#include "target/isa.hh"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "reference.hh"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace morello {
namespace {

using testing::decoded;
using testing::encoded;

constexpr Dtype kNarrow[] = {Dtype::kBf16, Dtype::kF16, Dtype::kI8, Dtype::kU8};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<u64>(a) == std::bit_cast<u64>(b);
}

/// Both conversions of `value`, which must agree.
void check(Dtype dtype, double value) {
  const u32 bits = bits_of_number(dtype, value);
  if (bits != encoded(dtype, value))
    FAIL(name_of(dtype) << " of " << value << ": " << bits << ", not " << encoded(dtype, value));
}

/// And of its neighbours.
void check_near(Dtype dtype, double value) {
  check(dtype, value);
  check(dtype, std::nextafter(value, 1e300));
  check(dtype, std::nextafter(value, -1e300));
}

TEST_SUITE_BEGIN("support");

TEST_CASE("every number of 8 and 16 bits is what its bits say, and comes back") {
  for (Dtype dtype : kNarrow) {
    const u32 count = size_of(dtype) == 1 ? 256 : 65536;
    for (u32 bits = 0; bits < count; bits++) {
      const double value = number_of_bits(dtype, bits);
      REQUIRE(same(value, decoded(dtype, bits)));
      check(dtype, value);
      if (!std::isnan(value)) {
        REQUIRE(bits_of_number(dtype, value) == bits);
      } else {  // stays one, with its sign, and is quiet
        const u32 back = bits_of_number(dtype, value);
        REQUIRE(std::isnan(number_of_bits(dtype, back)));
      }
      REQUIRE(rounded(dtype, std::isnan(value) ? 0 : value) == (std::isnan(value) ? 0 : value));
    }
  }
}

TEST_CASE("what is between two numbers goes to the nearest, ties to even") {
  for (Dtype dtype : kNarrow) {
    const u32 half = size_of(dtype) == 1 ? 128 : 32768;
    for (u32 bits = 0; bits + 1 < half; bits++) {
      const double a = number_of_bits(dtype, bits), b = number_of_bits(dtype, bits + 1);
      if (std::isnan(a) || std::isnan(b)) continue;
      const double middle = std::isinf(b) ? 0 : a + (b - a) / 2;
      check_near(dtype, a), check_near(dtype, -a);
      check_near(dtype, middle), check_near(dtype, -middle);
    }
  }
}

TEST_CASE("overflow, the smallest numbers and what is no number") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK(bits_of_number(Dtype::kF16, 65519.99) == 0x7bff);
  CHECK(bits_of_number(Dtype::kF16, 65520) == 0x7c00);
  CHECK(bits_of_number(Dtype::kF16, -1e300) == 0xfc00);
  CHECK(bits_of_number(Dtype::kBf16, 3.3961775292304957e38) == 0x7f80);  // halfway past the largest
  CHECK(bits_of_number(Dtype::kBf16, 3.39e38) == 0x7f7f);
  CHECK(bits_of_number(Dtype::kF16, 0x1p-25) == 0);
  CHECK(bits_of_number(Dtype::kF16, 0x1.0000000000001p-25) == 1);
  CHECK(bits_of_number(Dtype::kF16, -0x1p-1074) == 0x8000);
  CHECK(bits_of_number(Dtype::kF16, 0x1.ffep-15) ==
        0x0400);  // carries into the smallest normal one
  CHECK(bits_of_number(Dtype::kBf16, kNan) == 0x7fc0);
  CHECK(bits_of_number(Dtype::kF16, -kNan) == 0xfe00);
  CHECK(bits_of_number(Dtype::kI8, 127.5) == 127);
  CHECK(bits_of_number(Dtype::kI8, -1e9) == 0x80);
  CHECK(bits_of_number(Dtype::kU8, -0.5) == 0);
  CHECK(bits_of_number(Dtype::kU8, kInfinity) == 255);
  CHECK(bits_of_number(Dtype::kI8, kNan) == 0);
  CHECK(bits_of_number(Dtype::kI32, 2147483647.5) == 0x7fffffff);
  CHECK(bits_of_number(Dtype::kI32, -kInfinity) == 0x80000000);
  CHECK(bits_of_number(Dtype::kI32, 2.5) == 2);
  for (double value : {0x1p-1074, 1e-310, 1e300, -1e300, kInfinity, -kInfinity, kNan, -kNan, -0.0})
    for (Dtype dtype : kAllDtypes) check(dtype, value);
  CHECK(wrapped_i32(2147483648.0) == -2147483648.0);
  CHECK(wrapped_i32(-4294967297.0) == -1);
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) u32 machine_bits(float value) {
  return static_cast<u32>(_mm_extract_epi16(
      _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), 0));
}
__attribute__((target("f16c"))) float machine_number(u32 bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
}
#endif

TEST_CASE("f16 is what the machine makes of it") {
#if defined(__x86_64__)
  if (!includes(read_machine().features, features(Feature::kF16c))) {
    MESSAGE("skipped: the machine has no F16C");
    return;
  }
  for (u32 bits = 0; bits < 65536; bits++) {
    const float value = machine_number(bits);
    REQUIRE(same(number_of_bits(Dtype::kF16, bits), value));
    if (!std::isnan(value)) REQUIRE(machine_bits(value) == bits);
  }
  // Every 2^11th float, and what is around the numbers and the middles between them.
  for (u64 i = 0; i < u64{1} << 32; i += 2039) {
    const float value = std::bit_cast<float>(static_cast<u32>(i));
    if (std::isnan(value)) continue;
    if (bits_of_number(Dtype::kF16, value) != machine_bits(value)) FAIL("f16 of " << value);
  }
  for (u32 bits = 0; bits < 0x7bff; bits++) {
    const float a = machine_number(bits), middle = a + (machine_number(bits + 1) - a) / 2;
    for (float x : {a, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)})
      if (bits_of_number(Dtype::kF16, x) != machine_bits(x)) FAIL("f16 of " << x);
  }
#else
  MESSAGE("skipped: not an x86-64 machine");
#endif
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

// SPDX-License-Identifier: MIT
// The judge of results: takes what rounding allows in each element type, and nothing else.
#include "compare.hh"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "reference.hh"
#include "spec/statement.hh"

namespace morello::testing {
namespace {

/// What the judge says of one output element, computed from operands of one element each.
struct Case {
  Spec spec;
  Views views;
  std::array<std::vector<u32>, kMaxOperands> bits;

  /// Each operand has the same number everywhere.
  Case(std::string_view text, std::initializer_list<double> numbers) {
    const Lowered lowered = *lower(*parse(text));
    spec = lowered.spec;
    views = lowered.view;
    size_t o = 0;
    for (double number : numbers) {
      const Dtype dtype = spec.operand[o].dtype;
      bits[o].assign(lowered.bytes[o] / 4 + 1, 0);
      for (i64 i = 0; i < static_cast<i64>(lowered.bytes[o] / size_of(dtype)); i++)
        store(o, i, number);
      o++;
    }
  }
  void store(size_t o, i64 index, double number) {
    const size_t bytes = size_of(spec.operand[o].dtype);
    const u32 b = encoded(spec.operand[o].dtype, number);
    std::memcpy(reinterpret_cast<char*>(bits[o].data()) + index * static_cast<i64>(bytes), &b,
                bytes);
  }

  bool takes(double result, Denormals denormals = Denormals::kKept) const {
    std::array<const void*, kMaxOperands> pointers{};
    for (size_t o = 0; o < spec.operand_count; o++) pointers[o] = bits[o].data();
    const u32 out = encoded(spec.out().dtype, result);
    return compare(expect(spec, views, pointers.data(), denormals), spec.out().dtype, &out).empty();
  }
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_SUITE_BEGIN("support");

TEST_CASE("the judge takes sums of floats within the bound, as the output rounds them") {
  const Case f32("matmul f32[1,100] f32[100,1]", {0.1f, 3});
  const double sum = 100 * static_cast<double>(0.1f) * 3;
  CHECK(f32.takes(sum));
  CHECK(f32.takes(sum * (1 + 100 * 0x1p-24)));
  CHECK_FALSE(f32.takes(sum * (1 + 110 * 0x1p-24)));
  CHECK_FALSE(f32.takes(sum * (1 - 110 * 0x1p-24)));
  const Case bf16("matmul bf16[1,100] bf16[100,1]", {1, 1.5});
  CHECK(bf16.takes(150));
  CHECK_FALSE(bf16.takes(151));
  CHECK_FALSE(bf16.takes(149));
  // The sum is half way between two numbers of the output: either is right.
  const Case half("matmul f32[1,2] f32[2,1] -> bf16[1,1]", {1, 128.5});
  CHECK(half.takes(256));
  CHECK(half.takes(258));
  CHECK_FALSE(half.takes(260));
}

TEST_CASE("the judge takes nothing but the result where no sum of floats is") {
  const Case wraps("matmul i32[1,3] i32[3,1]", {65536, 32768});
  CHECK(wraps.takes(-2147483648.0));
  CHECK_FALSE(wraps.takes(-2147483647.0));
  const Case saturates("matmul u8[1,3] i8[3,1] -> i8[1,1]", {255, -128});
  CHECK(saturates.takes(-128));
  CHECK_FALSE(saturates.takes(-127));
  const Case scaled("matmul u8[1,3] i8[3,1] * f32[] -> u8[1,1]", {5, 1, 0.5});
  CHECK(scaled.takes(8));  // 7.5, to even
  CHECK_FALSE(scaled.takes(7));
  const Case rounds("matmul i32[1,1] i8[1,1] * f32[] -> f32[1,1]", {16777217, 1, 1});
  CHECK(rounds.takes(16777216));
  const Case chain("mul bf16[1] bf16[1] + f32[1] -> f32[1]", {1.5, 1.5, 0.25});
  CHECK(chain.takes(2.5));
  CHECK_FALSE(chain.takes(2.5 + 0x1p-22));
  const Case nothing("move f32[1] -> i8[1]", {kNan});
  CHECK(nothing.takes(0));
  CHECK_FALSE(nothing.takes(1));
}

TEST_CASE("the judge wants NaN and infinity where they belong") {
  Case sum("matmul f32[1,3] bf16[3,1] -> f32[1,1]", {1, 1});
  CHECK_FALSE(sum.takes(kNan));
  sum.store(1, 2, kInfinity);
  CHECK(sum.takes(kInfinity));
  CHECK_FALSE(sum.takes(kNan));
  sum.store(1, 1, -kInfinity);
  CHECK(sum.takes(kNan));
  CHECK_FALSE(sum.takes(kInfinity));
  CHECK_FALSE(sum.takes(3));
  const Case over("matmul f32[1,3] f32[3,1] * f32[] -> f32[1,1]", {1e30, 1e30, 1e-30});
  CHECK(over.takes(kInfinity));
  CHECK_FALSE(over.takes(1e30));
}

TEST_CASE("the judge takes flushed denormals where they are allowed, and nowhere else") {
  const Case products("matmul bf16[1,4] bf16[4,1] -> f32[1,1]", {0x1p-70, 0x1p-60});
  CHECK(products.takes(0x1p-128));
  CHECK_FALSE(products.takes(0));
  CHECK(products.takes(0, Denormals::kFlushed));
  const Case factors("matmul bf16[1,4] bf16[4,1] -> f32[1,1]", {0x1p-130, 0x1p100});
  CHECK(factors.takes(0x1p-28));
  CHECK_FALSE(factors.takes(0));
  CHECK(factors.takes(0, Denormals::kFlushed));
  CHECK_FALSE(factors.takes(0x1p-26, Denormals::kFlushed));
  const Case mixed("matmul f32[1,4] bf16[4,1] -> f32[1,1]", {0x1p-70, 0x1p-60});
  CHECK_FALSE(mixed.takes(0, Denormals::kFlushed));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello::testing

// SPDX-License-Identifier: MIT
// What docs/numerics.md promises of kernels beside the error of sums, which every test of kernels
// judges: sums of bytes at their extremes, NaN and infinities, denormals, the same bits again.
#include <doctest/doctest.h>

#include <span>

#include "kernel_case.hh"
#include "rounds.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

/// Odd sizes, so that groups of 2 and 4 along k have a rest, in each layout of the weights.
constexpr const char* kFloatProducts[] = {
    "matmul bf16[5,37] bf16[37,19] -> f32[5,19]",
    "matmul bf16[1,67] bf16[67,33]{0,1} -> bf16[1,33]",
    "matmul f32[3,37] bf16[37,19]{0,1} -> f32[3,19]",
    "matmul f32[1,131] bf16[131,70] -> f32[1,70]",
    "matmul f16[5,33] f16[33,18] -> f16[5,18]",
    "matmul f32[7,21] f32[21,35] -> f32[7,35]",
    "matmul f32[2,37] i8[37,19] * f32[1,19] -> f32[2,19]",
    "matmul bf16[8,34] bf16[34,32]{*} += f32[8,32]",
    "matmul bf16[33,75] bf16[75,50]{0,1} -> f32[33,50]",
};
constexpr const char* kIntegerProducts[] = {
    "matmul u8[5,37] i8[37,19] -> i32[5,19]",
    "matmul i8[4,35] i8[35,33]{0,1} -> i32[4,33]",
    // By columns, of which groups become lanes, whole ones and last ones of 1, 2 and 3 bytes.
    "matmul u8[40,96] i8[96,50]{0,1} -> i32[40,50]",
    "matmul u8[40,97] i8[97,48]{0,1} -> i32[40,48]",
    "matmul i8[33,74] i8[74,51]{0,1} -> i32[33,51]",
    "matmul u8[40,39] i8[39,131]{0,1} += i32[40,131]",
    "matmul u8[3,2050] i8[2050,17] -> i32[3,17]",
    "matmul u8[6,129] u8[129,40]{0,1} += i32[6,40]",
    "matmul i8[1,66] u8[66,65] -> i32[1,65]",
    "matmul i8[13,66] i8[66,70] -> i32[13,70]",
    "matmul i8[1,131] i8[131,70] += i32[1,70]",
    "matmul i8[6,2051] i8[2051,33]{*} -> i32[6,33]",
    "matmul i32[3,9] i8[9,17] -> i32[3,17]",
    "matmul u8[5,37] i8[37,19] + i32[19] * f32[19] + f32[] -> u8[5,19]",
    "matmul i8[5,37] i8[37,19] * f32[1,19] -> max f32[] -> min f32[] -> i8[5,19]",
    "matmul u8[5,37] i8[37,19] * f32[1,19] -> bf16[5,19]",
    "matmul u8[5,37] i8[37,19] -> f16[5,19]",
};
constexpr const char* kElementwise[] = {
    "add i8[3,70] u8[70] -> relu -> i8[3,70]",
    "mul bf16[5,33] bf16[33] -> bf16[5,33]",
    "move f32[777] -> u8[777]",
    "move i32[777] -> f16[777]",
    "div i8[65] u8[65] + f32[65] -> i8[65]",
    "transpose bf16[33,65]",
    "reduce_sum u8[9,300] axis=1",
    "exp bf16[5,37] -> gelu -> bf16[5,37]",
    "tanh f16[777] -> silu -> f32[777]",
    "add i8[70] u8[70] -> sigmoid * f32[] -> round -> u8[70]",
    "reduce_max bf16[40,37] axis=0",
};

void check(const char* text, Values values, u64 seed) {
  for (morello_isa isa : all_usable_isas()) {
    std::string wrong;
    check_kernel({text, isa, 1, seed, values, 0}, false, wrong);
    CHECK(wrong == "");
  }
}

TEST_CASE("sums of products of integers are exact at their extremes, modulo 2^32") {
  for (const char* text : kIntegerProducts)
    for (Values values : {Values::kExtreme, Values::kUniform}) check(text, values, 3);
}

TEST_CASE("NaN and infinities show in the sums that they belong to, and in no others") {
  for (const char* text : kFloatProducts)
    for (u64 seed : {1, 2, 3}) check(text, Values::kRare, seed);
}

TEST_CASE("denormals are numbers like others, but for what one instruction does") {
  for (const char* text : kFloatProducts) check(text, Values::kTiny, 1);
}

TEST_CASE("conversions of special values round, saturate and keep NaN") {
  for (const char* text : kElementwise)
    if (std::string_view(text).substr(0, 6) != "reduce") check(text, Values::kSpecial, 1);
}

TEST_CASE("integers and elementwise chains have the same bits on every target, by any threads") {
  for (std::span<const char* const> texts :
       {std::span<const char* const>(kIntegerProducts), std::span<const char* const>(kElementwise)})
    for (const char* text : texts) {
      Bytes first;
      for (morello_isa isa : all_usable_isas())
        for (u32 threads : {1u, 3u}) {
          KernelCase c({text, isa, threads, 7, Values::kUniform, 0});
          REQUIRE(c.wrong() == "");
          Bytes out;
          ReverseExecutor reverse;
          REQUIRE(run(c.trial(), c.call(reverse.get()), Guarded::Side::kEnd, &out) == "");
          if (first.empty()) first = out;
          INFO(std::string(text) << " on " << isa_text(isa));
          CHECK(out == first);
        }
    }
}

TEST_CASE("a kernel makes the same bits in each run, on any executor") {
  for (const char* text : kFloatProducts)
    for (morello_isa isa : all_usable_isas()) {
      KernelCase c({text, isa, 3, 7, Values::kUniform, 0});
      REQUIRE(c.wrong() == "");
      ReverseExecutor reverse;
      Bytes first, second;
      REQUIRE(run(c.trial(), c.call(), Guarded::Side::kEnd, &first) == "");
      REQUIRE(run(c.trial(), c.call(reverse.get()), Guarded::Side::kStart, &second) == "");
      CHECK(first == second);
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

// SPDX-License-Identifier: MIT
// Conversions of all numbers of up to 16 bits, and of the edges of i32, to every element type. All
// of f32 are a program of their own: tests/conversions.
#include <doctest/doctest.h>

#include "../support/converter.hh"
#include "cost/held.hh"
#include "harness.hh"

namespace morello::testing {
namespace {

constexpr MicrokernelId kLeaves[] = {MicrokernelId::kMap, MicrokernelId::kScalarMap};

void check_all(Dtype from, const std::vector<char>& in) {
  const u32 count = static_cast<u32>(in.size()) / size_of(from);
  for (Dtype to : kAllDtypes) {
    const std::vector<u32> expected = converted(from, to, in, count);
    for (const Target* target : targets({Dtype::kF32, Dtype::kBf16}))
      for (MicrokernelId leaf : kLeaves) {
        CAPTURE(target->name);
        CAPTURE(name_of(leaf));
        std::vector<char> out(size_t{count} * size_of(to));
        Converter(*target, leaf, from, to, count).run(in.data(), out.data());
        const std::string wrong = compare_converted(from, to, in, expected, out);
        CHECK_MESSAGE(wrong.empty(), wrong);
      }
  }
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("conversions of all numbers of 8 and 16 bits") {
    for (Dtype from : kAllDtypes)
      if (size_of(from) < 4)
        check_all(from, consecutive_bits(from, 0, size_of(from) == 1 ? 256 : 65536));
  }

  TEST_CASE("conversions of the edges of i32") {
    std::vector<char> in;
    for (int bit = 0; bit < 32; bit++) {
      const auto near = consecutive_bits(Dtype::kI32, (u64{1} << bit) - 200, 400);
      in.insert(in.end(), near.begin(), near.end());
    }
    for (u64 i = 0; i < 64; i++) {  // halfway between neighbours in f32, and around
      const auto near = consecutive_bits(Dtype::kI32, (i * 0x05678123) | 0x80, 400);
      in.insert(in.end(), near.begin(), near.end());
    }
    check_all(Dtype::kI32, in);
  }

  TEST_CASE("copies of the same type keep all bits") {
    for (Dtype dtype : kAllDtypes) {
      const u32 count = 65536;
      const std::vector<char> in = consecutive_bits(dtype, 0x7f7f1234, count);
      for (const Target* target : targets({Dtype::kF32, Dtype::kBf16}))
        for (MicrokernelId leaf : kLeaves) {
          std::vector<char> out(in.size());
          Converter(*target, leaf, dtype, dtype, count).run(in.data(), out.data());
          CHECK(in == out);
        }
    }
  }
}

}  // namespace morello::testing

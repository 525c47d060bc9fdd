// SPDX-License-Identifier: MIT
// f32 rounded to bf16 where few numbers of a vector, or of two, are what is rare: denormal numbers
// and NaN take another way than the rest, or another instruction.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "../support/leaf_code.hh"
#include "harness.hh"

namespace morello::testing {
namespace {

/// Without and with a sign: zero; denormal numbers, halfway between two of bf16, a little more, a
/// little less, and rounded up to the first that is none; around the last ones; infinity; NaN.
constexpr u32 kRare[] = {0x00000000, 0x00000001, 0x00007fff, 0x00008000, 0x00008001, 0x00018000,
                         0x00028000, 0x007f7fff, 0x007f8000, 0x007fffff, 0x00800000, 0x00808000,
                         0x00ffffff, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0x7f800000, 0x7f800001,
                         0x7fa00000, 0x7fbfffff, 0x7fc00000, 0x7fffffff};
/// Rows of whole vectors, of pairs of them, and what is left.
constexpr u32 kCounts[] = {1, 2, 3, 5, 8, 11, 16, 23, 32, 37, 48, 64, 71, 130, 256, 333};

bool is_nan(u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/// What becomes of it, to the last bit: NaN as the instruction does it, everywhere.
u16 rounded(u32 bits) {
  if (is_nan(bits)) return static_cast<u16>((bits | 0x400000) >> 16);
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// "", or the first that is wrong.
template <class T>
std::string compare(const std::vector<u32>& in, const std::vector<T>& out, u32 shift) {
  for (size_t i = 0; i < in.size(); i++)
    if (out[i] != static_cast<T>(u32{rounded(in[i])} << shift)) {
      char text[96];
      std::snprintf(text, sizeof text, "number %zu of %zu, %#x, becomes %#x", i, in.size(), in[i],
                    static_cast<unsigned>(out[i]));
      return text;
    }
  return "";
}

/// Rows that `check` has to find right.
template <class F>
void each_row(u32 count, F check) {
  std::mt19937 random(count);
  auto usual = [&] { return 0x3f800000u + (random() & 0x807fffff); };
  std::vector<u32> row(count);
  for (u32 bits : kRare)
    for (u32 sign : {0u, 0x80000000u}) {
      for (u32 at = 0; at < count; at += at < 70 ? 1 : 13) {
        for (u32& x : row) x = usual();
        row[at] = bits | sign;
        check(row);
      }
      for (u32& x : row) x = bits | sign;
      check(row);
    }
  for (int i = 0; i < 200; i++) {
    const u32 usually = 1 + random() % 64;
    for (u32& x : row)
      x = random() % usually == 0 ? kRare[random() % std::size(kRare)] ^ (random() & 0x80000000)
                                  : usual();
    check(row);
  }
}

std::vector<const Target*> targets_of_bf16() { return targets({Dtype::kF32, Dtype::kBf16}); }

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("bf16 of rows in which few numbers are rare") {
    for (const Target* target : targets_of_bf16())
      for (MicrokernelId leaf : {MicrokernelId::kMap, MicrokernelId::kScalarMap})
        for (u32 count : kCounts) {
          CAPTURE(target->name);
          CAPTURE(name_of(leaf));
          const Leaf store(*target, leaf, Op::kCopy, Dtype::kF32, Dtype::kBf16, count);
          const Leaf keep(*target, leaf, Op::kCopy, Dtype::kF32, Dtype::kF32, count, Dtype::kBf16);
          std::vector<u16> stored(count);
          std::vector<u32> kept(count);
          std::string wrong;
          each_row(count, [&](const std::vector<u32>& row) {
            store.run(row.data(), stored.data());
            keep.run(row.data(), kept.data());
            if (wrong.empty()) wrong = compare(row, stored, 0);
            if (wrong.empty()) wrong = compare(row, kept, 16);
          });
          CHECK_MESSAGE(wrong.empty(), wrong);
        }
  }

  TEST_CASE("bf16 of what functions make, vectors side by side") {
    for (const Target* target : targets_of_bf16())
      for (Op op : {Op::kExp, Op::kSigmoid, Op::kNeg})
        for (u32 count : kCounts) {
          CAPTURE(target->name);
          CAPTURE(name_of(op));
          const Leaf exact(*target, MicrokernelId::kMap, op, Dtype::kF32, Dtype::kF32, count);
          const Leaf store(*target, MicrokernelId::kMap, op, Dtype::kF32, Dtype::kBf16, count);
          std::vector<u32> made(count);
          std::vector<u16> stored(count);
          std::mt19937 random(count);
          std::string wrong;
          for (int i = 0; i < 300; i++) {
            std::vector<float> row(count);  // exponentials below -87 are denormal
            for (float& x : row)
              x = random() % 40 == 0 ? NAN : static_cast<float>(random() % 2000) * -0.055f;
            exact.run(row.data(), made.data());
            store.run(row.data(), stored.data());
            if (wrong.empty()) wrong = compare(made, stored, 0);
          }
          CHECK_MESSAGE(wrong.empty(), wrong);
        }
  }

  TEST_CASE("loads of bf16 keep all bits, in rows of any length") {
    for (const Target* target : targets_of_bf16())
      for (u32 count = 1; count < 80; count++) {
        CAPTURE(target->name);
        const Leaf load(*target, MicrokernelId::kMap, Op::kCopy, Dtype::kBf16, Dtype::kF32, count);
        const GuardedMemory in(count * sizeof(u16), GuardedMemory::Side::kEnd, sizeof(u16));
        u16* row = static_cast<u16*>(in.data());
        std::vector<u32> out(count);
        for (u32 first = 0; first < 65536; first += 997) {
          for (u32 i = 0; i < count; i++) row[i] = static_cast<u16>(first + i * 257);
          load.run(row, out.data());
          bool same = true;
          for (u32 i = 0; i < count; i++) same &= out[i] == u32{row[i]} << 16;
          REQUIRE(same);
        }
      }
  }
}

}  // namespace morello::testing

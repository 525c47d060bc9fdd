// SPDX-License-Identifier: MIT
// Tile registers: no bound is above a cost, and what products of few rows or columns take to
// search.
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "../support/scale.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"
#include "support/concat.hh"
#include "twice_as_fast.hh"

namespace morello {
namespace {

/// Of the factors and the sums. Tile registers take the first four.
constexpr std::array kTypes = {std::array{"bf16", "bf16", "f32"}, std::array{"i8", "i8", "i32"},
                               std::array{"u8", "i8", "i32"},     std::array{"u8", "u8", "i32"},
                               std::array{"f32", "bf16", "f32"},  std::array{"bf16", "f32", "f32"},
                               std::array{"f32", "i8", "f32"},    std::array{"f16", "f16", "f32"},
                               std::array{"f32", "f32", "f32"}};

/// Products of sizes around those of registers, in any layout, some with a batch, windows, or
/// steps behind the sums.
std::string random_product(std::mt19937_64& rng, size_t types) {
  constexpr std::array kSizes = {1, 2, 3, 5, 7, 15, 16, 17, 31, 32, 33, 40, 64, 72, 100, 128, 200};
  const auto& [a, b, sum] = kTypes[rng() % types];
  const auto size = [&] { return std::to_string(kSizes[rng() % kSizes.size()]); };
  const std::string m = size(), k = size(), n = size(), h = std::to_string(1 + rng() % 4);
  const char* layout = std::array{"", "{0,1}", "{*}"}[rng() % 3];
  const std::string to = rng() % 2 ? " -> " : " += ";
  const auto of = [](const char* type, const std::string& sizes) {
    return type + ('[' + sizes) + ']';
  };
  switch (rng() % 6) {
    case 0:
      return "einsum \"hmk,hkn->hmn\" " + of(a, h + ',' + m + ',' + k) + ' ' +
             of(b, h + ',' + k + ',' + n) + to + of(sum, h + ',' + m + ',' + n);
    case 1:  // results in any order
      return "einsum \"mk,kn->nm\" " + of(a, m + ',' + k) + ' ' + of(b, k + ',' + n) + layout + to +
             of(sum, n + ',' + m);
    case 2:
      return "conv2d " + of(a, "1,9,17," + h) + ' ' + of(b, h + ",3," + h + ",17") + " nhwc -> " +
             of(sum, "1," + std::to_string(10 - std::stoi(h)) + ",15,17");
    case 3:
      return "matmul " + of(a, m + ',' + k) + ' ' + of(b, k + ',' + n) + layout + " + " +
             of(sum, n) + " -> relu -> " + of(sum, m + ',' + n);
    default:
      return "matmul " + of(a, m + ',' + k) + ' ' + of(b, k + ',' + n) + layout + to +
             of(sum, m + ',' + n);
  }
}

/// What is wrong with the bounds of `text`, or "".
/// @param nearer  bits: operands that are in a cache already; 8: L2 has no room beside them.
std::string wrong_bounds(const std::string& text, std::string_view target, u64 l1, u64 l2,
                         u32 nearer) {
  const Result<Statement> statement = parse(text);
  if (!statement) return statement.error().message;
  Spec spec = lower(*statement)->spec;
  for (int o = 0; o < spec.operand_count; o++) {
    Operand& x = spec.operand[o];
    const bool in = x.access == Access::kIn;
    if ((nearer >> o & 1) == 0 || x.free_layout || footprint(spec, x).bytes > (in ? l2 : l1) / 2)
      continue;
    x.level = in ? Level::kL2 : Level::kL1;
    forget_pitch(x);
  }
  const Target t = with_machine(*find_target(target), l1, l2, 1);
  const std::string wrong =
      testing::against_bounds(spec, t, microkernels(), (nearer >> 8 & 1) != 0, 20000);
  return wrong.empty() ? "" : text + " on " + std::string(target) + ": " + wrong;
}

/// A Spec whose search expands fewer pairs.
struct Known {
  const char *target, *text;
  u64 most;
};

void check_expansions(std::initializer_list<Known> all) {
  for (const Known& known : all) {
    SearchStats stats;
    const Target target = with_machine(*find_target(known.target), 0, 0, 1);
    REQUIRE(synthesize(lower(*parse(known.text))->spec, target, {}, &stats).ok());
    INFO(concat({known.text, " for ", known.target}));
    CHECK(stats.expanded < known.most);
  }
}

TEST_SUITE("search") {
  TEST_CASE("tile registers: no pair costs less than its bound, however fast they are") {
    const u64 seed = 20261130;
    const Target target = with_machine(*find_target("avx512_amx"), 0, 0, 1);
    std::vector<const Microkernel*> faster(microkernels().begin(), microkernels().end());
    faster.push_back(&testing::TwiceAsFast<MicrokernelId::kTileProduct>::kernel);
    for (int i = 0, n = testing::rounds(60); i < n; i++) {
      std::mt19937_64 rng(seed + static_cast<u64>(i));
      const std::string text = random_product(rng, 4);
      const Result<Statement> statement = parse(text);
      REQUIRE_MESSAGE(statement.ok(), text << ": " << statement.error().message);
      const Spec spec = lower(*statement)->spec;
      for (const Microkernels kernels : {microkernels(), Microkernels(faster)}) {
        const std::string wrong = testing::against_bounds(spec, target, kernels);
        CHECK_MESSAGE(wrong == "",
                      "seed " << seed + static_cast<u64>(i) << ": " << text << ": " << wrong);
      }
    }
  }

  TEST_CASE("products of narrow types: no pair costs less than its bound, whatever caches hold") {
    // The second factor is widened in a copy that more rows use than registers have.
    CHECK(wrong_bounds("matmul bf16[72,128] bf16[128,32] += f32[72,32]", "avx2", 32 << 10, 1 << 20,
                       0x107) == "");
    const u64 seed = 20261201;
    for (int i = 0, n = testing::rounds(20); i < n; i++) {
      std::mt19937_64 rng(seed + static_cast<u64>(i));
      const std::string text = random_product(rng, kTypes.size());
      const u64 l1 = u64{4096} << rng() % 5, l2 = l1 << (1 + rng() % 5);
      const u32 nearer = static_cast<u32>(rng());
      for (std::string_view target : {"avx2", "avx512", "avx512_bf16"}) {
        const std::string wrong = wrong_bounds(text, target, l1, l2, nearer);
        CHECK_MESSAGE(wrong == "", "seed " << seed + static_cast<u64>(i) << ": " << wrong);
      }
    }
  }

  TEST_CASE("products by channels: no pair costs less than its bound, whatever caches hold") {
    const u64 seed = 20261202;
    for (int i = 0, n = testing::rounds(20); i < n; i++) {
      std::mt19937_64 rng(seed + static_cast<u64>(i));
      const auto up_to = [&](u64 most) { return 1 + rng() % most; };
      const auto& types = kTypes[rng() % kTypes.size()];
      const u64 window = up_to(4), step = up_to(2), channels = 8 * up_to(9) - rng() % 2;
      const std::string image = std::to_string(window + rng() % 12), of = std::to_string(channels),
                        side = std::to_string(window);
      const std::string text = concat({"conv2d ",   types[0],
                                       "[1,",       image,
                                       ",",         std::to_string(window + rng() % 20),
                                       ",",         of,
                                       "] ",        types[1],
                                       "[",         side,
                                       ",",         side,
                                       ",1,",       of,
                                       "] groups=", of,
                                       " stride=",  std::to_string(step),
                                       " nhwc"});
      const u64 l1 = u64{4096} << rng() % 5, l2 = l1 << (1 + rng() % 5);
      const u32 nearer = static_cast<u32>(rng());
      for (std::string_view target : {"avx2", "avx512_bf16", "avx512_amx"}) {
        const std::string wrong = wrong_bounds(text, target, l1, l2, nearer);
        CHECK_MESSAGE(wrong == "", "seed " << seed + static_cast<u64>(i) << ": " << wrong);
      }
    }
  }

  // Where blocks are smaller than registers, or depths smaller than groups, what is searched is
  // what vectors do: bounds that took tile registers to be free cost ten and more times as much.
  TEST_CASE("tile registers: small products are searched as without them") {
    const Target without = with_machine(*find_target("avx512_bf16"), 0, 0, 1);
    const Target with = with_machine(*find_target("avx512_amx"), 0, 0, 1);
    for (const char* text :
         {"matmul u8[33,63] u8[63,40]{0,1} += i32[33,40]", "matmul i8[9,15] u8[15,18] -> i32[9,18]",
          "matmul u8[2,29] i8[29,16] -> i32[2,16]",
          "matmul bf16[37,24] bf16[24,2]{0,1} -> f32[37,2]"}) {
      const Spec spec = lower(*parse(text))->spec;
      SearchStats fewer, more;
      REQUIRE(synthesize(spec, without, {}, &fewer).ok());
      REQUIRE(synthesize(spec, with, {}, &more).ok());
      INFO(std::string(text));
      CHECK(more.expanded <= 25 * fewer.expanded);
    }
  }

  // Of these a fifth is what they convert. Without it 6,000 to 67,000 states were expanded (AVX2).
  TEST_CASE("elementwise chains of narrow types: what they convert is in their bounds") {
    for (const char* target : {"avx2", "avx512_bf16"})
      for (const char* text : {"exp bf16[1234,384] - bf16[1234,1] + bf16[384] * bf16[1234,1]",
                               "sigmoid bf16[248,2664] - bf16[248,2664] -> tanh - bf16[248,2664]",
                               "relu bf16[696,2056] * bf16[696,1]"}) {
        SearchStats stats;
        REQUIRE(synthesize(lower(*parse(text))->spec, with_machine(*find_target(target), 0, 0, 1),
                           {}, &stats)
                    .ok());
        INFO(concat({text, " for ", target}));
        CHECK(stats.expanded < 1000);
      }
  }

  // Groups of neighbours along the sum are in vectors of another dimension: without that 1.8 to 5.7
  // times as many are expanded.
  TEST_CASE("products of bytes: dot products along the sum need copies of factors in groups") {
    check_expansions({{"avx2", "matmul u8[1,1024] i8[1024,512]{*} -> i32[1,512]", 300},
                      {"avx2", "matmul i8[64,369] i8[369,24] -> i32[64,24]", 600},
                      {"avx512", "matmul u8[100,100] u8[100,100] -> i32[100,100]", 1500},
                      {"avx512", "matmul i8[64,369] i8[369,24] -> i32[64,24]", 8000}});
  }

  // Without it 1.36 to 3.25 times as many are expanded.
  TEST_CASE("products of narrow types: what steps behind them convert is in their bounds") {
    check_expansions(
        {{"avx2", "matmul f32[64,128] f32[128,192] + f32[192] -> relu -> bf16[64,192]", 700},
         {"avx2", "matmul bf16[48,96] bf16[96,320] + bf16[48,320] -> bf16[48,320]", 1500},
         {"avx2", "matmul bf16[64,128] bf16[128,192] + f32[192] -> gelu -> bf16[64,192]", 1300},
         {"avx2", "conv2d bf16[1,9,10,8] bf16[3,3,8,16] nhwc + bf16[16] -> relu", 620},
         {"avx512", "matmul bf16[192,16] bf16[16,432] -> gelu -> bf16[192,432]", 6000}});
  }
}

}  // namespace
}  // namespace morello

// SPDX-License-Identifier: MIT
// Assembly, so that no compiler shortens a loop, and none must know the instruction.
#include "rates.hh"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caps.hh"

namespace morello::bench {
namespace {

// Up to two start per cycle and take up to 6 cycles: 12 must be in flight. AVX2 has 16 registers,
// AVX-512 has 32, of which four are operands and spares.
constexpr double kFew = 12, kMany = 24;

#define MORELLO_FEW(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)
#define MORELLO_MANY(step)                                                                  \
  MORELLO_FEW(step)                                                                         \
  step(12) step(13) step(14) step(15) step(16) step(17) step(18) step(19) step(20) step(21) \
      step(22) step(23)

#define MORELLO_START(i) Vector x##i = zero;
#define MORELLO_STEP(i) \
  asm volatile(MORELLO_TEXT : "+v"(x##i), "=&v"(spare), "=&v"(other) : "v"(a), "v"(b));

#define MORELLO_LOOP(function, isa, vector, text_zero, chains)                 \
  __attribute__((target(isa))) void function(uint64_t steps) {                 \
    using Vector = vector;                                                     \
    const Vector zero = text_zero(), a = zero, b = zero;                       \
    Vector spare = zero, other = zero;                                         \
    chains(MORELLO_START) for (; steps != 0; --steps) { chains(MORELLO_STEP) } \
  }

#define MORELLO_YMM(function) \
  MORELLO_LOOP(function, "avx2,fma", __m256i, _mm256_setzero_si256, MORELLO_FEW)
#define MORELLO_ZMM(function) \
  MORELLO_LOOP(function, "avx512f,avx512bw", __m512i, _mm512_setzero_si512, MORELLO_MANY)

#define MORELLO_TEXT "vfmadd231ps %3, %4, %0"
MORELLO_YMM(fma_ymm)
MORELLO_ZMM(fma_zmm)
#undef MORELLO_TEXT
// Two bf16 of each 32-bit word: widened by a shift and a mask, then multiplied.
#define MORELLO_TEXT                                              \
  "vpslld $16, %3, %1; vpand %3, %4, %2; vfmadd231ps %1, %4, %0;" \
  "vfmadd231ps %2, %4, %0"
MORELLO_YMM(emulated_ymm)
#undef MORELLO_TEXT
#define MORELLO_TEXT "vdpbf16ps %3, %4, %0"
MORELLO_ZMM(bf16_zmm)
#undef MORELLO_TEXT
#define MORELLO_TEXT "vpmaddwd %3, %4, %1; vpaddd %1, %0, %0"
MORELLO_YMM(words_ymm)
MORELLO_ZMM(words_zmm)
#undef MORELLO_TEXT
#define MORELLO_TEXT "vpmaddubsw %3, %4, %1; vpmaddwd %4, %1, %1; vpaddd %1, %0, %0"
MORELLO_YMM(bytes_ymm)
#undef MORELLO_TEXT
#define MORELLO_TEXT "%{vex%} vpdpbusd %3, %4, %0"
MORELLO_YMM(vnni_ymm)
#undef MORELLO_TEXT
#define MORELLO_TEXT "vpdpbusd %3, %4, %0"
MORELLO_ZMM(vnni_zmm)
#undef MORELLO_TEXT

// Four registers of results; all have 16 rows of 64 bytes. Linux gives them to who asks.
constexpr double kTiles = 4 * 16 * 16;

#define MORELLO_TILES(function, isa, product)                               \
  __attribute__((target(isa))) void function(uint64_t steps) {              \
    static const bool given = syscall(SYS_arch_prctl, 0x1023, 18) == 0;     \
    if (!given) return;                                                     \
    alignas(64) unsigned char sizes[64] = {1};                              \
    for (int t = 0; t < 8; ++t) sizes[16 + 2 * t] = 64, sizes[48 + t] = 16; \
    asm volatile("" ::"r"(sizes) : "memory"); /* g++ sees 8 bytes read */   \
    _tile_loadconfig(sizes);                                                \
    for (; steps != 0; --steps) {                                           \
      product(0, 4, 6);                                                     \
      product(1, 4, 7);                                                     \
      product(2, 5, 6);                                                     \
      product(3, 5, 7);                                                     \
    }                                                                       \
    _tile_release();                                                        \
  }
MORELLO_TILES(tiles_bf16, "amx-tile,amx-bf16", _tile_dpbf16ps)
MORELLO_TILES(tiles_bytes, "amx-tile,amx-int8", _tile_dpbusd)

constexpr Rate kRates[] = {
    {"FMA f32, 256 bits", kAvx2, kFloat | kBf16Pair, kFew * 16, fma_ymm},
    {"FMA f32, 512 bits", kAvx512, kFloat | kBf16Pair, kMany * 32, fma_zmm},
    {"bf16 by shift, mask and 2 FMA, 256 bits", kAvx2, kShown, kFew * 32, emulated_ymm},
    {"vdpbf16ps, 512 bits", kAvx512Bf16, kBf16Pair, kMany * 64, bf16_zmm},
    {"vpmaddwd + vpaddd, 256 bits", kAvx2, kInt8, kFew * 32, words_ymm},
    {"vpmaddubsw + vpmaddwd + vpaddd (saturates), 256 bits", kAvx2, kShown, kFew * 64, bytes_ymm},
    {"vpmaddwd + vpaddd, 512 bits", kAvx512, kInt8, kMany * 64, words_zmm},
    {"vpdpbusd, 256 bits", kAvxVnni, kInt8, kFew * 64, vnni_ymm},
    {"vpdpbusd, 512 bits", kAvx512Vnni, kInt8, kMany * 128, vnni_zmm},
    {"tdpbf16ps, 16x16x32", kAmx, kBf16Pair, kTiles * 64, tiles_bf16},
    {"tdpbusd, 16x16x64", kAmx, kInt8, kTiles * 128, tiles_bytes},
};

}  // namespace

std::span<const Rate> rates() { return kRates; }

}  // namespace morello::bench

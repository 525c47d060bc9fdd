// SPDX-License-Identifier: MIT
#include "peak.hh"

#include <immintrin.h>

#include "morello/morello.h"

namespace morello::tools {
namespace {

constexpr uint64_t kStepsPerCall = 256;
// Two fused multiply-adds start per cycle and each takes 4 to 5: 10 must be in flight. With 12 no
// register is spilled, and AVX2 has 16.
constexpr uint64_t kChains = 12;

#define MORELLO_FOR_EACH_CHAIN(do_chain)                                                          \
  do_chain(0) do_chain(1) do_chain(2) do_chain(3) do_chain(4) do_chain(5) do_chain(6) do_chain(7) \
      do_chain(8) do_chain(9) do_chain(10) do_chain(11)

// The empty asm statements keep each chain in a register and the loop from being vectorised,
// shortened or reassociated, at any optimisation level that keeps values in registers.
#define MORELLO_STEP(i)                   \
  x##i = MORELLO_FMA(x##i, scale, shift); \
  asm volatile("" : "+v"(x##i));

__attribute__((target("avx2,fma"))) void peak_avx2(uint64_t steps) {
  const __m256 scale = _mm256_set1_ps(0.999f), shift = _mm256_set1_ps(0.001f);
#define MORELLO_START(i) __m256 x##i = _mm256_set1_ps(1.0f + i);
#define MORELLO_FMA _mm256_fmadd_ps
  MORELLO_FOR_EACH_CHAIN(MORELLO_START)
  for (uint64_t step = 0; step < steps; ++step) {
    MORELLO_FOR_EACH_CHAIN(MORELLO_STEP)
  }
#undef MORELLO_START
#undef MORELLO_FMA
}

__attribute__((target("avx512f"))) void peak_avx512(uint64_t steps) {
  const __m512 scale = _mm512_set1_ps(0.999f), shift = _mm512_set1_ps(0.001f);
#define MORELLO_START(i) __m512 x##i = _mm512_set1_ps(1.0f + i);
#define MORELLO_FMA _mm512_fmadd_ps
  MORELLO_FOR_EACH_CHAIN(MORELLO_START)
  for (uint64_t step = 0; step < steps; ++step) {
    MORELLO_FOR_EACH_CHAIN(MORELLO_STEP)
  }
#undef MORELLO_START
#undef MORELLO_FMA
}

#undef MORELLO_STEP
#undef MORELLO_FOR_EACH_CHAIN

}  // namespace

double fma_peak_flops(int32_t isa) {
  const double lanes = has_512_bits(isa) ? 16 : 8;
  return 2 * lanes * static_cast<double>(kChains * kStepsPerCall);
}

void fma_peak(int32_t isa, uint64_t calls) {
  if (has_512_bits(isa)) {
    peak_avx512(calls * kStepsPerCall);
  } else {
    peak_avx2(calls * kStepsPerCall);
  }
}

}  // namespace morello::tools

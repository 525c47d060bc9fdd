// SPDX-License-Identifier: MIT
// The most floating-point operations that one core does per second, measured: a loop of independent
// fused multiply-adds on registers. Kernels are reported as a share of it.
#ifndef MORELLO_CAPI_TOOLS_PEAK_HH
#define MORELLO_CAPI_TOOLS_PEAK_HH

#include <cstdint>

#include "morello/morello.h"

namespace morello::tools {

/// 512-bit vectors, or 256-bit ones? Everything that the tool measures beside a kernel goes by
/// this. The compiler says if it lacks a target.
constexpr bool has_512_bits(int32_t isa) {
  switch (static_cast<morello_isa>(isa)) {
    case MORELLO_ISA_AVX512:
    case MORELLO_ISA_AVX512_VNNI:
    case MORELLO_ISA_AVX512_BF16:
    case MORELLO_ISA_AVX512_AMX:
      return true;
    case MORELLO_ISA_AVX2:
    case MORELLO_ISA_AVX2_VNNI:
    case MORELLO_ISA_AUTO:
      break;
  }
  return false;
}

/// Floating-point operations of one call of fma_peak().
double fma_peak_flops(int32_t isa);

/// Runs the loop `calls` times. REQUIRES: the CPU has `isa`, which is not AUTO.
void fma_peak(int32_t isa, uint64_t calls);

}  // namespace morello::tools

#endif

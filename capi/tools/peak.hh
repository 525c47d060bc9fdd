// SPDX-License-Identifier: MIT
// The most floating-point operations that one core does per second, measured: a loop of independent
// fused multiply-adds on registers. Kernels are reported as a share of it.
#ifndef MORELLO_CAPI_TOOLS_PEAK_HH
#define MORELLO_CAPI_TOOLS_PEAK_HH

#include <cstdint>

namespace morello::tools {

/// Floating-point operations of one call of fma_peak().
double fma_peak_flops(int32_t isa);

/// Runs the loop `calls` times. REQUIRES: the CPU has `isa`, which is MORELLO_ISA_AVX2 or _AVX512.
void fma_peak(int32_t isa, uint64_t calls);

}  // namespace morello::tools

#endif

// SPDX-License-Identifier: MIT
#include "caps.hh"

#include <cpuid.h>

namespace morello::bench {
namespace {

constexpr uint32_t kAll512 = kAvx2 | kAvx512;

// OpenBLAS chooses by the name of a core; asked itself, an old version takes AVX2 kernels on CPUs
// that are newer than it. Haswell is its AVX2 code, SkylakeX the AVX-512 one for f32, Cooperlake
// differs in bf16 only. The last cap leaves the library itself without one.
constexpr Cap kCaps[] = {
    {"avx2", kAvx2, "avx2", "AVX2", "AVX2", "Haswell", "hsw"},
    {"avx512", kAll512, "avx512", "AVX512_CORE", "AVX512", "SkylakeX", "skx"},
    {"avx512_bf16", kAll512 | kAvx512Vnni | kAvx512Bf16, "avx512_bf16", "AVX512_CORE_BF16",
     "AVX512_E3", "Cooperlake", "cpx"},
    {"avx512_amx", kAll512 | kAvx512Vnni | kAvx512Bf16 | kAmx, "", "AVX512_CORE_AMX", "AVX512_E4",
     "SapphireRapids", "spr"},
};

bool bit(uint32_t value, int number) { return (value >> number & 1) != 0; }

}  // namespace

std::span<const Cap> caps() { return kCaps; }

const Cap* find_cap(const std::string& name) {
  for (const Cap& cap : kCaps) {
    if (name == cap.name) return &cap;
  }
  return nullptr;
}

uint32_t cpu_features() {
  // The compiler's function knows what the system saves, but not every name in every version.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq");
  uint32_t a = 0, b = 0, c = 0, d = 0, features = 0;
  if (avx2) features |= kAvx2;
  if (avx512) features |= kAvx512;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  if (avx512 && bit(d, 22) && bit(d, 24) && bit(d, 25)) features |= kAmx;
  if (avx512 && bit(c, 11)) features |= kAvx512Vnni;
  if (a < 1 || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return features;
  if (avx2 && bit(a, 4)) features |= kAvxVnni;
  if (avx512 && bit(a, 5)) features |= kAvx512Bf16;
  return features;
}

std::vector<std::pair<std::string, std::string>> environment(const Cap& cap, uint32_t threads) {
  const std::string count = std::to_string(threads);
  return {{"MORELLO_MAX_ISA", cap.morello},
          {"ONEDNN_MAX_CPU_ISA", cap.onednn},
          {"DNNL_MAX_CPU_ISA", cap.onednn},
          {"MKL_ENABLE_INSTRUCTIONS", cap.mkl},
          {"MKL_THREADING_LAYER", threads == 1 ? "SEQUENTIAL" : "GNU"},
          {"OPENBLAS_CORETYPE", cap.openblas},
          {"LIBXSMM_TARGET", cap.libxsmm},
          {"OPENBLAS_NUM_THREADS", count},
          {"BLIS_NUM_THREADS", count},
          {"MKL_NUM_THREADS", count},
          {"OMP_NUM_THREADS", count},
          // Threads of one library must not spin while another one is measured.
          {"OMP_WAIT_POLICY", "PASSIVE"},
          {"OMP_DYNAMIC", "FALSE"},
          {"MKL_DYNAMIC", "FALSE"}};
}

}  // namespace morello::bench

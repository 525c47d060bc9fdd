// SPDX-License-Identifier: MIT
// Instruction sets to which every library is capped alike.
#ifndef MORELLO_BENCH_PEERS_CAPS_HH
#define MORELLO_BENCH_PEERS_CAPS_HH

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace morello::bench {

/// What a CPU has, of what caps and rates ask for. Bits.
enum Feature : uint32_t {
  kAvx2 = 1,  // and FMA
  kAvxVnni = 2,
  kAvx512 = 4,  // F, BW, VL and DQ
  kAvx512Vnni = 8,
  kAvx512Bf16 = 16,
  kAmx = 32,  // AMX-TILE, AMX-BF16, AMX-INT8
};

struct Cap {
  const char* name;   // modules that are compiled for it bear it
  uint32_t features;  // what may be used, all of which the CPU must have
  /// Variables that libraries read when they start.
  const char* morello;
  const char* onednn;
  const char* mkl;
  const char* openblas;
  const char* libxsmm;
};

std::span<const Cap> caps();
/// nullptr if there is none of that name.
const Cap* find_cap(const std::string& name);
uint32_t cpu_features();
inline bool usable(const Cap& cap) { return (cap.features & ~cpu_features()) == 0; }

/// The environment of a process in which every library keeps to `cap` and to so many threads.
/// Empty values: to be unset.
std::vector<std::pair<std::string, std::string>> environment(const Cap& cap, uint32_t threads);

}  // namespace morello::bench

#endif

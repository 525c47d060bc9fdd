// SPDX-License-Identifier: MIT
// Loops of one instruction on registers.
#ifndef MORELLO_BENCH_PEERS_RATES_HH
#define MORELLO_BENCH_PEERS_RATES_HH

#include <cstdint>
#include <span>

namespace morello::bench {

/// For which products a rate is a limit. Bits.
enum Product : uint32_t {
  kFloat = 1,     // f32, and any mixture with bf16: widened
  kBf16Pair = 2,  // bf16 x bf16
  kInt8 = 4,      // i8 or u8 x i8
  kShown = 0,     // for none, but worth knowing
};

struct Rate {
  const char* name;
  uint32_t features;  // that it needs
  uint32_t products;
  double operations;  // of one step
  void (*run)(uint64_t steps);
};

std::span<const Rate> rates();

}  // namespace morello::bench

#endif

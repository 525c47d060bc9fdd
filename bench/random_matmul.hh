// SPDX-License-Identifier: MIT
// Random matmuls by seed. random_matmul: M to 16384, N and K to 1024; one in six has a batch, one
// steps, one columns first. uniform_matmul: rows first, every size up to the largest as likely, so
// that most divide nothing.
#ifndef MORELLO_BENCH_RANDOM_MATMUL_HH
#define MORELLO_BENCH_RANDOM_MATMUL_HH

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

namespace morello::bench {

/// Between 1 and `most`, each power of two as likely.
inline uint64_t size_up_to(std::mt19937_64& random, uint64_t most) {
  uint64_t bits = 1;
  while (uint64_t{1} << bits < most) bits++;
  const uint64_t low = uint64_t{1} << random() % bits;
  return std::min(most, low + random() % low);
}

inline std::string random_matmul(uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string m = std::to_string(size_up_to(random, 16384));
  const std::string n = std::to_string(size_up_to(random, 1024));
  const std::string k = std::to_string(size_up_to(random, 1024));
  const uint64_t kind = random() % 6;
  if (kind == 0) {
    const std::string b = std::to_string(2 + random() % 6) + ",";
    return "matmul f32[" + b + m + "," + k + "] f32[" + b + k + "," + n + "]";
  }
  std::string text = "matmul f32[" + m + "," + k + "] f32[" + k + "," + n + "]";
  if (kind == 1) text += " + f32[" + n + "] -> relu";
  if (kind == 2) text += "{0,1}";
  return text;
}

inline std::string uniform_matmul(uint64_t seed, uint64_t most) {
  std::mt19937_64 random(seed);
  const auto size = [&] { return std::to_string(1 + random() % most); };
  const std::string m = size(), k = size(), n = size();
  return "matmul f32[" + m + "," + k + "] f32[" + k + "," + n + "]";
}

}  // namespace morello::bench

#endif

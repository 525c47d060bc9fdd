// SPDX-License-Identifier: MIT
#include "blocks.hh"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>

namespace morello::testing {
namespace {

std::vector<u32> sample_of(const std::vector<u32>& edges, u32 count, u64 seed) {
  std::vector<u32> blocks;
  for (u32 sign : {0u, 0x8000u})
    for (u32 edge : edges) blocks.push_back(sign | edge);
  std::mt19937_64 random(seed);
  while (blocks.size() < count) blocks.push_back(static_cast<u32>(random() % kBlocks));
  return blocks;
}

}  // namespace

void Blocks::report(const std::string& what, size_t wrong) const {
  std::printf("%s%zu of %u blocks of %u numbers, %zu wrong", what.c_str(), list.size(), kBlocks,
              kBlock, wrong);
  if (!all) std::printf("; --seed %llu", static_cast<unsigned long long>(seed));
  std::printf("\n");
}

std::optional<Blocks> read_arguments(int count, char** values, const char* program,
                                     const std::vector<u32>& edges, u32 sample, bool has_only) {
  Blocks blocks;
  blocks.seed = static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
  for (int i = 1; i < count; i++) {
    const std::string_view value = values[i];
    const bool more = i + 1 < count;
    if (value == "--all") {
      blocks.all = true;
    } else if (value == "--seed" && more) {
      blocks.seed = std::strtoull(values[++i], nullptr, 0);
    } else if (value == "--only" && more && has_only) {
      blocks.only = values[++i];
    } else {
      std::printf("usage: %s [--all | --seed N]%s\n", program, has_only ? " [--only NAME]" : "");
      return std::nullopt;
    }
  }
  if (blocks.all) {
    blocks.list.resize(kBlocks);
    std::iota(blocks.list.begin(), blocks.list.end(), 0u);
  } else {
    blocks.list = sample_of(edges, sample, blocks.seed);
  }
  return blocks;
}

void on_all_processors(const std::function<void()>& work) {
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& t : threads) t = std::thread(work);
  for (std::thread& t : threads) t.join();
}

}  // namespace morello::testing

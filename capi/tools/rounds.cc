// SPDX-License-Identifier: MIT
#include "rounds.hh"

#include <algorithm>
#include <chrono>

namespace morello::tools {
namespace {

double seconds_of(const Contender& contender, uint64_t calls) {
  const auto start = std::chrono::steady_clock::now();
  compiler_barrier();
  contender.run(calls);
  compiler_barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Calls that fill a round. Doubling, not dividing: the first calls run cold.
uint64_t calibrate(const Contender& contender, double round_seconds) {
  uint64_t calls = 1;
  for (;;) {
    const double seconds = std::min(seconds_of(contender, calls), seconds_of(contender, calls));
    if (seconds >= round_seconds / 2 || calls >= uint64_t{1} << 40) return calls;
    calls *= seconds > round_seconds / 64 ? 2 : 16;
  }
}

Timing summary(std::vector<double> ns, uint64_t calls) {
  std::sort(ns.begin(), ns.end());
  Timing timing;
  timing.best_ns = ns.front();
  timing.median_ns = ns[ns.size() / 2];
  timing.spread = (ns[(ns.size() - 1) * 9 / 10] - ns.front()) / ns.front();
  timing.calls = calls;
  timing.rounds = ns.size();
  return timing;
}

}  // namespace

std::vector<Timing> measure(const std::vector<Contender>& contenders, const Effort& effort) {
  std::vector<uint64_t> calls;
  for (const Contender& contender : contenders) {
    calls.push_back(calibrate(contender, effort.round_seconds));
  }
  std::vector<std::vector<double>> ns(contenders.size());
  for (uint64_t round = 0; round < effort.rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const double seconds = seconds_of(contenders[i], calls[i]);
      ns[i].push_back(seconds * 1e9 / static_cast<double>(calls[i]));
    }
  }
  std::vector<Timing> timings;
  for (size_t i = 0; i < contenders.size(); ++i) {
    timings.push_back(summary(std::move(ns[i]), calls[i]));
  }
  return timings;
}

}  // namespace morello::tools

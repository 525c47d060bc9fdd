// SPDX-License-Identifier: MIT
#include "rounds.hh"

#include <algorithm>
#include <chrono>

#include "fmt/format.h"

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

}  // namespace

double Timing::spread() const {
  const size_t last = samples.size() - 1;
  return (samples[last - last / 10] - best()) / best();
}

std::string noise(double spread) {
  constexpr double kMost = 0.5;
  if (spread <= kMost) return {};
  return fmt::format(
      "rounds differ by {:.0f}%: the machine did other work, and these figures are noise; measure "
      "again when it is quiet",
      100 * spread);
}

void Timing::add(const Timing& other) {
  samples.insert(samples.end(), other.samples.begin(), other.samples.end());
  std::sort(samples.begin(), samples.end());
}

std::vector<Timing> measure(const std::vector<Contender>& contenders, const Effort& effort) {
  std::vector<Timing> timings(contenders.size());
  for (size_t i = 0; i < contenders.size(); ++i) {
    timings[i].calls = calibrate(contenders[i], effort.round_seconds);
  }
  for (uint64_t round = 0; round < effort.rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const double seconds = seconds_of(contenders[i], timings[i].calls);
      timings[i].samples.push_back(seconds * 1e9 / static_cast<double>(timings[i].calls));
    }
  }
  for (Timing& timing : timings) std::sort(timing.samples.begin(), timing.samples.end());
  return timings;
}

}  // namespace morello::tools

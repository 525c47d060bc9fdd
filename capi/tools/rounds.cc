// SPDX-License-Identifier: MIT
#include "rounds.hh"

#include <algorithm>
#include <chrono>
#include <cmath>

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
  rounds.insert(rounds.end(), other.rounds.begin(), other.rounds.end());
}

Ratio compare(const Timing& timing, const Timing& with) {
  // The order statistics between which the median of any distribution is.
  std::vector<double> ratios;
  const size_t count = std::min(timing.rounds.size(), with.rounds.size());
  for (size_t i = 0; i < count; ++i) ratios.push_back(timing.rounds[i] / with.rounds[i]);
  std::sort(ratios.begin(), ratios.end());
  constexpr double kDeviations = 2.576;  // of 99%
  const double all = static_cast<double>(count);
  const double outside = (all - kDeviations * std::sqrt(all)) / 2 - 1;
  Ratio ratio;
  ratio.median = (ratios[count / 2] + ratios[(count - 1) / 2]) / 2;
  ratio.low = 0;
  ratio.high = HUGE_VAL;
  if (outside < 0) return ratio;
  const size_t at = static_cast<size_t>(outside);
  ratio.low = ratios[at];
  ratio.high = ratios[count - 1 - at];
  return ratio;
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
  for (Timing& timing : timings) {
    timing.rounds = timing.samples;
    std::sort(timing.samples.begin(), timing.samples.end());
  }
  return timings;
}

}  // namespace morello::tools

// SPDX-License-Identifier: MIT
// Measuring on a machine that does other work too: contenders take turns in short rounds, so that a
// change of clock or a noisy neighbour meets them all.
#ifndef MORELLO_CAPI_TOOLS_ROUNDS_HH
#define MORELLO_CAPI_TOOLS_ROUNDS_HH

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace morello::tools {

/// Keeps the compiler from moving memory accesses, or calls whose results nobody reads, across it.
inline void compiler_barrier() { asm volatile("" ::: "memory"); }

struct Contender {
  /// Does the work `calls` times. The loop is the contender's, so that a call costs a call.
  std::function<void(uint64_t calls)> run;
};

/// Nanoseconds of one call, in every round.
struct Timing {
  std::vector<double> samples;      // ascending
  uint64_t calls = 0;               // in one round
  std::vector<double> rounds = {};  // the samples in the order of the rounds

  double best() const { return samples.front(); }
  double median() const { return samples[samples.size() / 2]; }
  /// How far the 90th percentile is above the best round, as a share of it.
  double spread() const;
  /// Adds the rounds of another measurement of the same contender.
  void add(const Timing& other);
};

/// How many times as long as another contender one takes, as far as rounds in which they took turns
/// can tell.
struct Ratio {
  double median = 1;
  double low = 1, high = 1;  // of the true median, in 99 of 100 measurements; 0 and infinity where
                             // there are too few rounds to say
  bool differs() const { return low > 1 || high < 1; }
};
/// REQUIRES: both are results of one measure().
Ratio compare(const Timing& timing, const Timing& with);

/// An empty string, or in words that figures of this spread say nothing.
std::string noise(double spread);

struct Effort {
  uint64_t rounds = 30;
  double round_seconds = 2e-3;  // a round makes as many calls as fit, at least one
};

/// Measures all contenders, interleaved. Results in the order of `contenders`.
std::vector<Timing> measure(const std::vector<Contender>& contenders, const Effort& effort);

}  // namespace morello::tools

#endif

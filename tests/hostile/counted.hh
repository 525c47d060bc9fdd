// SPDX-License-Identifier: MIT
// Counts what this program allocates with operator new, and the CPU time that it takes.
#ifndef MORELLO_TESTS_HOSTILE_COUNTED_HH
#define MORELLO_TESTS_HOSTILE_COUNTED_HH

#include <time.h>

#include "support/types.hh"

namespace morello::testing {

/// Bytes that are allocated now.
u64 live_bytes();
/// The most that were since the last call of forget_peak().
u64 peak_bytes();
void forget_peak();

struct Cost {
  double seconds = 0;  // of CPU time, of this thread
  u64 bytes = 0;       // allocated at the peak, on top of what was before
};

/// Of one call.
template <class F>
Cost cost_of(F&& f) {
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  forget_peak();
  const u64 bytes = live_bytes();
  const double start = now();
  f();
  return {now() - start, peak_bytes() - bytes};
}

}  // namespace morello::testing

#endif

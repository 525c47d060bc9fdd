// SPDX-License-Identifier: MIT
// What a best-first search knows of one (key, limits) pair.
#ifndef MORELLO_SEARCH_PAIR_STATE_HH
#define MORELLO_SEARCH_PAIR_STATE_HH

#include <algorithm>
#include <atomic>

#include "search/open_actions.hh"
#include "support/spin_lock.hh"

namespace morello {

template <class Problem>
struct PairState {
  using Limits = typename Problem::Limits;
  enum class Phase : u8 { kNew, kExpanding, kOpen };

  PairState() : first(0) {}

  bool answers(const Limits& limits) const {
    return solved.load(std::memory_order_acquire) && (!feasible || peaks.within(limits));
  }
  i64 low() const { return low_.load(std::memory_order_relaxed); }
  void raise(i64 low) {
    i64 have = this->low();
    while (have < low && !low_.compare_exchange_weak(have, low, std::memory_order_relaxed)) {
    }
  }

  /// How far beyond f to improve an action. Where bounds have risen little, they end soon, and each
  /// step too far expands what need not be; where they have risen by much they will rise by much
  /// more, and small steps are many. REQUIRES: not solved.
  i64 step(i64 f) const {
    const double from = static_cast<double>(first) + 1;
    const double risen = std::max(0.0, static_cast<double>(f) - from);
    return std::max(i64{1}, static_cast<i64>(risen * std::min(risen / from / 3, 0.25)));
  }

  /// Those who wait should look again. REQUIRES: the lock is held.
  void changed() {
    version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  SpinLock lock;
  std::atomic<bool> solved{false};  // peaks, action and feasible do not change afterwards
  bool feasible = false;
  Phase phase = Phase::kNew;
  std::atomic<u32> version{0};

 private:
  std::atomic<i64> low_{0};

 public:
  OpenActions<Problem> open;
  union {                             // an entry fills a cache line
    i64 first;                        // until it is solved: low() when it was first asked for
    typename Problem::Action action;  // then
  };
  Limits peaks{};
};

}  // namespace morello

#endif

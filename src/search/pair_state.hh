// SPDX-License-Identifier: MIT
// What a best-first search knows of one (key, limits) pair.
#ifndef MORELLO_SEARCH_PAIR_STATE_HH
#define MORELLO_SEARCH_PAIR_STATE_HH

#include <atomic>

#include "search/open_actions.hh"
#include "support/spin_lock.hh"

namespace morello {

template <class Problem>
struct PairState {
  using Limits = typename Problem::Limits;
  enum class Phase : u8 { kNew, kExpanding, kOpen };

  bool answers(const Limits& limits) const {
    return solved.load(std::memory_order_acquire) && (!feasible || peaks.within(limits));
  }
  i64 low() const { return low_.load(std::memory_order_relaxed); }
  void raise(i64 low) {
    i64 have = this->low();
    while (have < low && !low_.compare_exchange_weak(have, low, std::memory_order_relaxed)) {
    }
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
  typename Problem::Action action{};
  Limits peaks{};
};

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// A lock of one byte for what is held for less than a microsecond.
#ifndef MORELLO_SUPPORT_SPIN_LOCK_HH
#define MORELLO_SUPPORT_SPIN_LOCK_HH

#include <atomic>
#include <thread>

namespace morello {

/// Waits a little longer each time, and after a while lets other threads run.
class Backoff {
 public:
  void wait() {
    if (rounds_ < 10) {
      for (int i = 0; i < 1 << rounds_; i++) __builtin_ia32_pause();
      rounds_++;
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int rounds_ = 0;
};

class SpinLock {
 public:
  void lock() {
    Backoff backoff;
    while (held_.exchange(true, std::memory_order_acquire))
      while (held_.load(std::memory_order_relaxed)) backoff.wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// A lock that a forked child does not find held by a thread that stayed behind.
#ifndef MORELLO_SUPPORT_PROCESS_LOCK_HH
#define MORELLO_SUPPORT_PROCESS_LOCK_HH

#include <unistd.h>

#include "support/spin_lock.hh"

namespace morello {

/// For what is seldom, and is left in a state that a child can go on from at every step.
class ProcessLock {
 public:
  void lock() {
    const pid_t us = getpid();
    Backoff backoff;
    for (pid_t holder = 0; !holder_.compare_exchange_weak(holder, us, std::memory_order_acquire);) {
      if (holder != us) continue;  // nobody, or of the process that this one was forked from
      backoff.wait();
      holder = 0;
    }
  }
  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<pid_t> holder_{0};
};

}  // namespace morello

#endif

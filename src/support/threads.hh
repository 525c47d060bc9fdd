// SPDX-License-Identifier: MIT
// Threads: some threads that do one thing together, are always joined, and never end the process.
#ifndef MORELLO_SUPPORT_THREADS_HH
#define MORELLO_SUPPORT_THREADS_HH

#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/types.hh"

namespace morello {

/// Used by the thread that made it. What a thread throws is kept for rethrow().
class Threads {
 public:
  /// `stop` makes the threads end soon. It is called when one of them failed, and before they are
  /// joined because of an exception; it must not throw.
  explicit Threads(std::function<void()> stop) : stop_(std::move(stop)) {}
  ~Threads() {
    if (!threads_.empty()) stop_();
    join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Starts `count` threads that call `body`, or as many as the system has room for.
  /// @return how many there are.
  u32 start(u32 count, std::function<void()> body) {
    body_ = std::move(body);
    try {
      threads_.reserve(count);
      while (threads_.size() < count) threads_.emplace_back([this] { run(); });
    } catch (const std::bad_alloc&) {
    } catch (const std::system_error&) {
    }
    return static_cast<u32>(threads_.size());
  }

  /// Waits for the threads to end.
  void join() noexcept {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  /// Throws what the first thread that failed had thrown, if any did. REQUIRES: joined.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run() noexcept {
    try {
      body_();
    } catch (...) {
      {
        std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      stop_();
    }
  }

  std::function<void()> stop_, body_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::exception_ptr failure_;  // guarded by the mutex until all are joined
};

}  // namespace morello

#endif

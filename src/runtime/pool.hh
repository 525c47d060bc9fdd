// SPDX-License-Identifier: MIT
// Pool: a fixed set of worker threads that share parallel loops with the threads that start them.
#ifndef MORELLO_RUNTIME_POOL_HH
#define MORELLO_RUNTIME_POOL_HH

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "support/result.hh"

namespace morello {

inline constexpr u32 kMaxPoolThreads = 1024;

/// Owned by whoever created it. parallel_for() may be called from any threads at once, also from
/// inside a loop body: the caller always works on its own loop, so it never waits for a free
/// worker.
///
/// A child process that is forked has a copy of the pool, but not its workers, and its mutex and
/// conditions are in whatever state the workers left them in: there loops run on their callers
/// alone, and the destructor touches nothing of that.
class Pool {
 public:
  /// Starts threads-1 workers: the caller of a loop is the last one. REQUIRES: 1 <= threads <=
  /// 1024. Errors: MORELLO_OUT_OF_MEMORY if a thread cannot be started. Throws std::bad_alloc.
  static Result<std::unique_ptr<Pool>> make(u32 threads);
  /// No loop may be running. Ends and joins the workers, unless they are in another process.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  using Body = void (*)(void* arg, size_t index);
  /// Calls body(arg, i) once for each i in [0, count), and returns when all calls have returned.
  void parallel_for(size_t count, Body body, void* arg);

  /// True in a child process that was forked after the pool was made.
  bool was_forked() const;

  const morello_executor& executor() const { return executor_; }
  /// The pool that an executor is of, or nullptr if it is the host's.
  static const Pool* of(const morello_executor& executor);

 private:
  struct Loop;
  Pool();
  static void* worker_entry(void* pool);
  void work();
  void enlist(Loop& loop);
  void retire(Loop& loop);

  /// Never destroyed: that would wait for sleepers, and there are none but in another process.
  template <class T>
  union Kept {
    Kept() : value() {}
    ~Kept() {}
    T value;
  };

  std::mutex mutex_;
  Kept<std::condition_variable> loop_added_;
  Kept<std::condition_variable> loop_left_;
  Loop* first_ = nullptr;      // loops with indices to give out, oldest first
  std::atomic<u32> added_{0};  // counts enlisted loops: what idle workers watch for a moment
  bool ending_ = false;
  const u32 forks_;  // of this process, when the pool was made
  std::vector<pthread_t> workers_;
  morello_executor executor_;
};

}  // namespace morello

#endif

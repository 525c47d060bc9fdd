// SPDX-License-Identifier: MIT
#include "runtime/pool.hh"

#include <immintrin.h>
#include <signal.h>

#include <chrono>
#include <new>

#include "support/concat.hh"

namespace morello {
namespace {

/// How many forks lead from the first pool's process to this one.
std::atomic<u32> forks{0};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

/// `forks`, which is counted from the first call on. Registering throws where it fails, so that a
/// later call tries again.
u32 forks_counted() {
  static const bool counting = [] {
    if (pthread_atfork(nullptr, nullptr, count_fork) != 0) throw std::bad_alloc();
    return true;
  }();
  static_cast<void>(counting);
  return forks.load(std::memory_order_relaxed);
}

// How long an idle worker, or a caller that waits for the last bodies, looks before it sleeps:
// about what a sleep and a wake-up cost in a virtual machine (50 to 80 us on Zen 4; some on the
// metal). Networks of parallel kernels take 1.1 to 1.5 times as long where workers sleep between
// these.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kLooks = 32;  // before the clock is read

template <class Condition>
bool spin_until(Condition condition) {
  const auto looks = [&] {
    for (int i = 0; i < kLooks; i++) {
      if (condition()) return true;
      _mm_pause();
    }
    return false;
  };
  if (looks()) return true;
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  while (std::chrono::steady_clock::now() < end)
    if (looks()) return true;
  return condition();
}

void run_in_pool(void* pool, size_t count, void (*fn)(void*, size_t), void* arg) {
  static_cast<Pool*>(pool)->parallel_for(count, fn, arg);
}

}  // namespace

/// One parallel_for, on its caller's stack. The list and `helpers` change under the pool's mutex.
struct Pool::Loop {
  size_t count;
  Body body;
  void* arg;
  Loop* next_loop = nullptr;
  std::atomic<size_t> next_index{0};
  std::atomic<u32> helpers{0};  // workers inside run()

  bool exhausted() const { return next_index.load(std::memory_order_relaxed) >= count; }
  void run() {
    // Looks before it takes, so that the counter passes `count` by at most one per thread.
    while (!exhausted()) {
      const size_t i = next_index.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      body(arg, i);
    }
  }
};

Pool::Pool() : forks_(forks_counted()), executor_{sizeof(morello_executor), this, run_in_pool} {}

bool Pool::was_forked() const { return forks.load(std::memory_order_relaxed) != forks_; }

const Pool* Pool::of(const morello_executor& executor) {
  return executor.parallel_for == run_in_pool ? static_cast<const Pool*>(executor.user) : nullptr;
}

Result<std::unique_ptr<Pool>> Pool::make(u32 threads) {
  std::unique_ptr<Pool> pool(new Pool);
  pool->workers_.reserve(threads - 1);
  // Signals are for the host's threads: workers start with all of them blocked.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int failure = 0;
  for (u32 i = 1; i < threads && failure == 0; i++) {
    pthread_t thread;
    failure = pthread_create(&thread, nullptr, worker_entry, pool.get());
    if (failure == 0) pool->workers_.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) {
    return Error{MORELLO_OUT_OF_MEMORY,
                 concat({"the system started only ", pool->workers_.size(), " of ", threads - 1,
                         " worker threads; ask for fewer"})};
  }
  return pool;
}

Pool::~Pool() {
  if (was_forked()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    added_.fetch_add(1, std::memory_order_release);
  }
  loop_added_.value.notify_all();
  for (pthread_t worker : workers_) pthread_join(worker, nullptr);
}

void* Pool::worker_entry(void* pool) {
  pthread_setname_np(pthread_self(), "morello");
  static_cast<Pool*>(pool)->work();
  return nullptr;
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    while (first_ != nullptr && first_->exhausted()) first_ = first_->next_loop;
    if (Loop* loop = first_; loop != nullptr) {
      loop->helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      loop->run();
      lock.lock();
      // Release: the caller that sees 0 without the mutex sees all that the bodies wrote.
      if (loop->helpers.fetch_sub(1, std::memory_order_release) == 1) loop_left_.value.notify_all();
      continue;
    }
    const u32 seen = added_.load(std::memory_order_relaxed);
    lock.unlock();
    spin_until([&] { return added_.load(std::memory_order_acquire) != seen; });
    lock.lock();
    loop_added_.value.wait(lock, [&] { return ending_ || first_ != nullptr; });
  }
}

void Pool::enlist(Loop& loop) {
  {
    const std::lock_guard lock(mutex_);
    Loop** end = &first_;
    while (*end != nullptr) end = &(*end)->next_loop;
    *end = &loop;
    added_.fetch_add(1, std::memory_order_release);
  }
  if (loop.count == 2) {
    loop_added_.value.notify_one();
  } else {
    loop_added_.value.notify_all();
  }
}

void Pool::retire(Loop& loop) {
  {
    const std::lock_guard lock(mutex_);
    for (Loop** at = &first_; *at != nullptr; at = &(*at)->next_loop) {
      if (*at != &loop) continue;
      *at = loop.next_loop;
      break;
    }
  }
  // Off the list, no worker can join any more: `helpers` only falls.
  if (spin_until([&] { return loop.helpers.load(std::memory_order_acquire) == 0; })) return;
  std::unique_lock lock(mutex_);
  loop_left_.value.wait(lock, [&] { return loop.helpers.load(std::memory_order_acquire) == 0; });
}

void Pool::parallel_for(size_t count, Body body, void* arg) {
  Loop loop{count, body, arg};
  const bool share = count > 1 && !workers_.empty() && !was_forked();
  if (share) enlist(loop);
  loop.run();
  if (share) retire(loop);
}

}  // namespace morello

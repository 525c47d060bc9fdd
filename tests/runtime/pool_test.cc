// SPDX-License-Identifier: MIT
#include "runtime/pool.hh"

#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <thread>

namespace morello {
namespace {

std::unique_ptr<Pool> make_pool(u32 threads) {
  Result<std::unique_ptr<Pool>> pool = Pool::make(threads);
  REQUIRE(pool.ok());
  return std::move(*pool);
}

/// How often each index was visited.
struct Visits {
  explicit Visits(size_t count) : times(count) {}
  static void visit(void* self, size_t index) {
    static_cast<Visits*>(self)->times.at(index).fetch_add(1, std::memory_order_relaxed);
  }
  bool once_each() const {
    for (const std::atomic<u32>& t : times)
      if (t != 1) return false;
    return true;
  }
  std::vector<std::atomic<u32>> times;
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("every index is visited once, whatever the counts of threads and indices") {
  for (u32 threads : {1u, 2u, 3u, 8u}) {
    const auto pool = make_pool(threads);
    for (size_t count : {0, 1, 2, 3, 7, 64, 1000}) {
      Visits visits(count);
      pool->parallel_for(count, Visits::visit, &visits);
      CHECK(visits.once_each());
    }
  }
}

TEST_CASE("the executor of the C interface is the pool") {
  const auto pool = make_pool(2);
  const morello_executor& executor = pool->executor();
  CHECK(executor.struct_size == sizeof(morello_executor));
  Visits visits(100);
  executor.parallel_for(executor.user, visits.times.size(), Visits::visit, &visits);
  CHECK(visits.once_each());
}

TEST_CASE("what the bodies wrote is visible after the loop") {
  const auto pool = make_pool(4);
  std::vector<size_t> plain(64);
  for (size_t round = 1; round <= 500; round++) {
    struct Job {
      std::vector<size_t>& values;
      size_t round;
    } job{plain, round};
    const auto body = [](void* arg, size_t i) {
      Job& j = *static_cast<Job*>(arg);
      j.values[i] = i * j.round;
    };
    pool->parallel_for(plain.size(), body, &job);
    size_t wrong = 0;
    for (size_t i = 0; i < plain.size(); i++) wrong += plain[i] != i * round;
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("loops of several threads at once share one pool") {
  const auto pool = make_pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; c++) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; round++) {
        Visits visits(17);
        pool->parallel_for(visits.times.size(), Visits::visit, &visits);
        if (!visits.once_each()) wrong++;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("loops inside of loop bodies do not wait for one another") {
  const auto pool = make_pool(3);
  struct Nest {
    Pool& pool;
    std::vector<Visits> inner;
  } nest{*pool, {}};
  for (int i = 0; i < 8; i++) nest.inner.emplace_back(9);
  const auto outer = [](void* arg, size_t i) {
    Nest& n = *static_cast<Nest*>(arg);
    n.pool.parallel_for(n.inner[i].times.size(), Visits::visit, &n.inner[i]);
  };
  for (int round = 0; round < 50; round++) {
    for (Visits& v : nest.inner)
      for (auto& t : v.times) t = 0;
    pool->parallel_for(nest.inner.size(), outer, &nest);
    for (const Visits& v : nest.inner) REQUIRE(v.once_each());
  }
}

TEST_CASE("bodies run on the caller and on workers, which take no signals") {
  const auto pool = make_pool(2);
  struct Meeting {
    std::atomic<int> present{0};
    std::atomic<bool> blocked{true};
    std::thread::id caller = std::this_thread::get_id();
  } meeting;
  // Each body waits for the other, so two threads must have taken part.
  const auto body = [](void* arg, size_t) {
    Meeting& m = *static_cast<Meeting*>(arg);
    m.present++;
    while (m.present < 2) std::this_thread::yield();
    if (std::this_thread::get_id() == m.caller) return;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    m.blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
  };
  pool->parallel_for(2, body, &meeting);
  CHECK(meeting.present == 2);
  CHECK(meeting.blocked);
}

TEST_CASE("a pool that never ran a loop, and one that slept between loops") {
  make_pool(4).reset();
  const auto pool = make_pool(4);
  for (int round = 0; round < 3; round++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Visits visits(50);
    pool->parallel_for(visits.times.size(), Visits::visit, &visits);
    CHECK(visits.once_each());
  }
}

TEST_SUITE_END();

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "support/threads.hh"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>

namespace morello::testing {
namespace {

void wait_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

}  // namespace

TEST_SUITE_BEGIN("support");

TEST_CASE("threads all run, and are joined") {
  std::atomic<u32> runs{0};
  Threads threads([] {});
  CHECK(threads.start(3, [&] { runs++; }) == 3);
  threads.join();
  CHECK(runs == 3);
  threads.rethrow();
}

TEST_CASE("what a thread throws stops the others, and is thrown again") {
  std::atomic<bool> stopped{false};
  std::atomic<u32> number{0};
  Threads threads([&] { stopped = true; });
  threads.start(3, [&] {
    if (number++ == 1) throw std::runtime_error("the second one");
    wait_until(stopped);
  });
  threads.join();
  CHECK(stopped);
  CHECK_THROWS_WITH(threads.rethrow(), "the second one");
}

TEST_CASE("threads are stopped and joined where an exception passes") {
  std::atomic<bool> stopped{false};
  std::atomic<u32> ended{0};
  auto fail = [&] {
    Threads threads([&] { stopped = true; });
    threads.start(2, [&] {
      wait_until(stopped);
      ended++;
    });
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(fail(), std::bad_alloc);
  CHECK(ended == 2);
}

TEST_SUITE_END();

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
// Kernels and threads: one kernel on many threads at once, and parallel kernels on every executor.
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "abi_call.hh"
#include "kernel_case.hh"
#include "rounds.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

/// Runs the kernel `times` times on memory of its own, with a scratch memory of its own or none.
/// True if each run gave the bits of `expected`.
bool run_repeatedly(const KernelCase& c, const Bytes& expected, int times, bool own_scratch,
                    const morello_executor* executor) {
  auto data = c.trial().data;
  int out = c.trial().operand_count - 1;
  std::array<void*, kMaxOperands> operands{};
  for (int o = 0; o <= out; o++) operands[o] = data[o].data();
  Guarded scratch(morello_kernel_scratch_size(c.kernel()), Guarded::Side::kEnd);
  for (int i = 0; i < times; i++) {
    std::memcpy(operands[out], c.trial().data[out].data(), expected.size());
    void* memory = own_scratch && scratch.size() ? scratch.data() : nullptr;
    if (morello_kernel_run(c.kernel(), operands.data(), memory, executor) != MORELLO_OK)
      return false;
    if (std::memcmp(operands[out], expected.data(), expected.size()) != 0) return false;
  }
  return true;
}

/// Four threads at once, two of them with their own scratch memory.
bool run_on_threads(const KernelCase& c, const Bytes& expected, const morello_executor* executor) {
  std::array<bool, 4> right{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < right.size(); t++)
    threads.emplace_back([&, t] { right[t] = run_repeatedly(c, expected, 20, t % 2, executor); });
  for (std::thread& t : threads) t.join();
  return right == std::array<bool, 4>{true, true, true, true};
}

TEST_CASE("one kernel runs on many threads at once") {
  for (morello_isa isa : usable_isas()) {
    for (const char* text :
         {"matmul f32[61,67] f32[67,71] -> f32[61,71]",
          "matmul f32[96,128] f32[128,160] + bias f32[160] -> relu -> f32[96,160]",
          "transpose f32[33,65] -> f32[65,33]", "reduce_sum f32[64,100] axis=1"}) {
      KernelRequest request{text, isa, 1, 1, Values::kUniform, 0};
      INFO(repeat_command(request));
      set_crash_note(repeat_command(request));
      KernelCase c(request);
      REQUIRE(c.wrong() == "");
      Bytes expected;
      REQUIRE(run(c.trial(), c.call(), Guarded::Side::kEnd, &expected) == "");
      CHECK(run_on_threads(c, expected, nullptr));
    }
  }
}

/// Every way to run a parallel kernel gives the same bits. Returns the calls of the executor.
size_t check_executors(const KernelRequest& request) {
  INFO(repeat_command(request));
  set_crash_note(repeat_command(request));
  KernelCase c(request);
  REQUIRE(c.wrong() == "");
  REQUIRE(c.check_runs() == "");
  REQUIRE(c.check_tree() == "");
  Bytes expected;
  REQUIRE(run(c.trial(), c.call(), Guarded::Side::kEnd, &expected) == "");

  ReverseExecutor reverse;
  REQUIRE(c.check_runs(reverse.get()) == "");
  REQUIRE(reverse.wrong() == "");
  CHECK(run_repeatedly(c, expected, 1, true, reverse.get()));

  morello_pool* pool = nullptr;
  REQUIRE(morello_pool_create(request.threads, &pool, nullptr) == MORELLO_OK);
  PoolPtr own(pool);
  REQUIRE(c.check_runs(morello_pool_executor(pool)) == "");
  CHECK(run_repeatedly(c, expected, 20, true, morello_pool_executor(pool)));
  CHECK(run_on_threads(c, expected, morello_pool_executor(pool)));
  return reverse.calls();
}

TEST_CASE("parallel kernels give the same bits on every executor") {
  constexpr const char* kTexts[] = {
      "matmul f32[128,128] f32[128,128] -> f32[128,128]",
      "matmul f32[131,97] f32[97,113] + bias f32[113] -> relu -> f32[131,113]",
      "matmul f32[1,512] f32[512,700] -> f32[1,700]",
      "matmul f32[5,40,30] f32[5,30,50] += f32[5,40,50]",
      "relu f32[200,333] -> f32[200,333]",
      "transpose f32[257,190] -> f32[190,257]",
      "reduce_sum f32[300,257] axis=1 -> f32[300]",
      "reduce_max f32[300,257] axis=0 -> f32[257]",
  };
  for (morello_isa isa : usable_isas()) {
    size_t calls = 0;
    for (const char* text : kTexts)
      for (u32 threads = 2; threads <= 4; threads++)
        calls += check_executors({text, isa, threads, threads, Values::kUniform, 0});
    CHECK(calls > 0);  // some of them are worth starting threads for
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

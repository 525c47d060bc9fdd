// SPDX-License-Identifier: MIT
// What a forked child can do with what its parent made, and what it is told that it cannot.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "../support/sanitized.hh"
#include "buffers.hh"

namespace morello::testing {
namespace {

constexpr unsigned kHangs = 120;  // seconds; what is done here takes milliseconds

/// Runs `body` in a child process, which ends with what it returns; 0 is good.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(kHangs);
    _exit(body());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return -WTERMSIG(status);
  return WEXITSTATUS(status);
}

morello_pool* create_pool(uint32_t threads) {
  morello_pool* pool = nullptr;
  return morello_pool_create(threads, &pool, nullptr) == MORELLO_OK ? pool : nullptr;
}

/// A parallel kernel, its operands, and a pool whose workers have run it.
struct Host {
  ContextPtr context = make_context();
  SpecPtr spec = parse_spec(context.get(), "relu f32[1024,2048] -> f32[1024,2048]");
  KernelPtr kernel;
  PoolPtr pool{create_pool(3)};
  std::unique_ptr<Buffers> buffers;

  Host() {
    morello_options options = default_options();
    options.threads = 3;
    kernel = synthesize(context.get(), spec.get(), &options);
    buffers = std::make_unique<Buffers>(spec.get(), kernel.get(), 1);
    REQUIRE(run_on(pool.get()) == MORELLO_OK);
    REQUIRE(buffers->error() == 0);
  }
  void clear() { std::fill(buffers->output().begin(), buffers->output().end(), NAN); }
  morello_status run_on(const morello_pool* p) {
    return morello_kernel_run(kernel.get(), buffers->operands(), nullptr, morello_pool_executor(p));
  }
};

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a pool in a forked child is refused, and can be released") {
  Host host;
  const int failed = in_child([&] {
    host.clear();
    const std::vector<float>& output = host.buffers->output();
    if (host.run_on(host.pool.get()) != MORELLO_INVALID_ARGUMENT) return 1;
    morello_error* err = nullptr;
    const morello_status status = morello_kernel_run_checked(
        host.kernel.get(), host.buffers->operands(), host.buffers->bytes(), host.buffers->count(),
        nullptr, 0, morello_pool_executor(host.pool.get()), &err);
    if (status != MORELLO_INVALID_ARGUMENT || err == nullptr) return 2;
    if (!contains(morello_error_message(err), "forked")) return 3;
    if (!contains(morello_error_message(err), "morello_pool_create")) return 4;
    morello_error_release(err);
    if (!std::isnan(output.front()) || !std::isnan(output.back())) return 5;
    host.pool.reset();
    return 0;
  });
  CHECK(failed == 0);
  host.clear();
  CHECK(host.run_on(host.pool.get()) == MORELLO_OK);
  CHECK(host.buffers->error() == 0);
}

TEST_CASE("where nobody can be told, loops in a forked child run on their callers") {
  const PoolPtr pool(create_pool(4));
  const morello_executor* executor = morello_pool_executor(pool.get());
  const int failed = in_child([&] {
    std::atomic<size_t> sum{0};
    const auto body = [](void* arg, size_t i) { *static_cast<std::atomic<size_t>*>(arg) += i; };
    executor->parallel_for(executor->user, 100, body, &sum);
    return sum == 4950 ? 0 : 1;
  });
  CHECK(failed == 0);
}

TEST_CASE("forks while the workers are at work, idle, or on the way between") {
  Host host;
  for (int round = 0; round < 50; round++) {
    REQUIRE(host.run_on(host.pool.get()) == MORELLO_OK);
    const int failed = in_child([&] {
      if (host.run_on(host.pool.get()) != MORELLO_INVALID_ARGUMENT) return 1;
      host.pool.reset();
      return 0;
    });
    REQUIRE(failed == 0);
  }
}

TEST_CASE("a forked child goes on with the rest, and has a pool of its own") {
  if (kThreadSanitizer) {
    MESSAGE("skipped: the sanitizer lets no forked child start threads");
    return;
  }
  Host host;
  const int failed = in_child([&] {
    host.clear();
    if (morello_kernel_run(host.kernel.get(), host.buffers->operands(), nullptr, nullptr) !=
        MORELLO_OK)
      return 1;
    if (host.buffers->error() != 0) return 2;
    PoolPtr own(create_pool(3));
    if (!own) return 3;
    host.clear();
    if (host.run_on(own.get()) != MORELLO_OK || host.buffers->error() != 0) return 4;
    morello_options options = default_options();
    options.search_threads = 2;
    morello_spec* spec = nullptr;
    morello_kernel* kernel = nullptr;
    if (morello_spec_parse(host.context.get(), "matmul f32[9,8] f32[8,7] -> f32[9,7]", &spec,
                           nullptr) != MORELLO_OK)
      return 5;
    if (morello_synthesize(host.context.get(), spec, &options, &kernel, nullptr) != MORELLO_OK)
      return 6;
    morello_kernel_release(kernel);
    morello_spec_release(spec);
    const int grandchild = in_child([&] {
      return host.run_on(own.get()) == MORELLO_INVALID_ARGUMENT &&
                     host.run_on(host.pool.get()) == MORELLO_INVALID_ARGUMENT
                 ? 0
                 : 1;
    });
    if (grandchild != 0) return 7;
    own.reset();
    host.pool.reset();
    host.kernel.reset();
    host.spec.reset();
    host.context.reset();
    return 0;
  });
  CHECK(failed == 0);
}

TEST_SUITE_END();

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
// Searches that are watched, shared by threads, cancelled, or ended by a budget.
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "handles.hh"

namespace morello::testing {
namespace {

constexpr const char* kLarge = "matmul f32[1000,1000] f32[1000,1000] -> f32[1000,1000]";
constexpr const char* kMedium = "matmul f32[64,48] f32[48,80] + f32[80] -> f32[64,80]";

morello_options search_options() {
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX2;
  options.search_only = 1;
  return options;
}

Failure fail_to_search(const char* text, const morello_options& options) {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), text);
  return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
    return morello_synthesize(context.get(), spec.get(), &options, k, e);
  });
}

KernelPtr search(const char* text, const morello_options& options) {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), text);
  return synthesize(context.get(), spec.get(), &options);
}

/// What a progress callback saw.
struct Watch {
  std::thread::id thread = std::this_thread::get_id();
  int calls = 0;
  morello_progress last{};
  bool sane = true;
  int32_t cancel = 0;
  int cancel_after = 0;

  static void see(void* user, const morello_progress* p) {
    Watch& w = *static_cast<Watch*>(user);
    w.sane = w.sane && p->struct_size == sizeof(morello_progress) &&
             w.thread == std::this_thread::get_id() && p->states >= w.last.states &&
             p->previews >= w.last.previews && p->microseconds >= w.last.microseconds &&
             p->lower_bound >= w.last.lower_bound && p->lower_bound <= p->best_cost &&
             (w.calls == 0 || p->best_cost <= w.last.best_cost);
    w.last = *p;
    w.calls++;
    if (w.calls == w.cancel_after) __atomic_store_n(&w.cancel, 1, __ATOMIC_RELAXED);
  }
};

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a search reports where it is") {
  for (uint32_t threads : {1u, 2u}) {
    Watch watch;
    morello_options options = search_options();
    options.search_threads = threads;
    options.progress = Watch::see;
    options.progress_user = &watch;
    options.progress_interval = 0;
    const KernelPtr kernel = search(kMedium, options);
    CHECK(watch.calls > 1);
    CHECK(watch.sane);
    const double cost = morello_kernel_cost(kernel.get());
    CHECK(watch.last.best_cost >= cost);
    CHECK(watch.last.lower_bound <= cost);
    const morello_search_stats stats = stats_of(kernel.get());
    CHECK(stats.optimal == 1);
    CHECK(stats.lower_bound == cost);
    CHECK(stats.search_nanoseconds > 0);
    CHECK(stats.lookup_nanoseconds == 0);
  }
}

TEST_CASE("threads that search change nothing but the time") {
  morello_options options = search_options();
  const KernelPtr one = search(kMedium, options);
  for (uint32_t threads : {0u, 2u, 3u}) {
    options.search_threads = threads;
    const KernelPtr several = search(kMedium, options);
    CHECK(text_of(morello_kernel_print, one.get()) == text_of(morello_kernel_print, several.get()));
  }
}

TEST_CASE("a search is cancelled, before and while it runs") {
  Watch watch;
  morello_options options = search_options();
  options.cancel = &watch.cancel;
  watch.cancel = 1;
  const Failure before = fail_to_search(kLarge, options);
  CHECK(before.status == MORELLO_CANCELLED);
  CHECK(contains(before.message, "cancelled"));
  watch.cancel = 0;
  watch.cancel_after = 2;
  options.progress = Watch::see;
  options.progress_user = &watch;
  options.progress_interval = 0;
  CHECK(fail_to_search(kLarge, options).status == MORELLO_CANCELLED);
  CHECK(watch.calls >= 2);
}

TEST_CASE("a search is cancelled by another thread") {
  for (uint32_t threads : {1u, 2u}) {
    std::atomic<bool> started{false};
    int32_t cancel = 0;
    morello_options options = search_options();
    options.search_threads = threads;
    options.cancel = &cancel;
    options.progress = [](void* user, const morello_progress*) {
      *static_cast<std::atomic<bool>*>(user) = true;
    };
    options.progress_user = &started;
    options.progress_interval = 0;
    std::thread other([&] {
      while (!started) std::this_thread::yield();
      __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    });
    const Failure failure = fail_to_search(kLarge, options);
    other.join();
    CHECK(failure.status == MORELLO_CANCELLED);
  }
}

TEST_CASE("what a budget leaves says that it is not proven") {
  for (bool time : {true, false}) {
    morello_options options = search_options();
    (time ? options.time_budget : options.memory_budget) = 1;
    const KernelPtr kernel = search(kLarge, options);
    const morello_search_stats stats = stats_of(kernel.get());
    const double cost = morello_kernel_cost(kernel.get());
    CHECK(stats.optimal == 0);
    CHECK(stats.lower_bound > 0);
    CHECK(stats.lower_bound < cost);
    const std::string text = text_of(morello_kernel_print, kernel.get());
    CHECK(text.rfind("not proven optimal", 0) == 0);
    CHECK(contains(text, "% more"));
  }
  const KernelPtr proven = search(kMedium, search_options());
  CHECK(!contains(text_of(morello_kernel_print, proven.get()), "not proven"));
}

TEST_CASE("options of the first release") {
  const size_t first = offsetof(morello_options, search_threads);
  morello_options options;
  std::memset(&options, 0xff, sizeof(options));  // what is behind them must not be read
  morello_options_init(&options, first);
  CHECK(options.struct_size == first);
  CHECK(options.search_threads == UINT32_MAX);
  options.target = MORELLO_ISA_AVX2;
  options.search_only = 1;
  const KernelPtr kernel = search(kMedium, options);
  CHECK(stats_of(kernel.get()).optimal == 1);
}

TEST_SUITE_END();

}  // namespace morello::testing

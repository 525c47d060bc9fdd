// SPDX-License-Identifier: MIT
// Kernels made from tables through the C interface.
#include <cstring>
#include <thread>

#include "buffers.hh"
#include "tables.hh"
#include "target/isa.hh"

namespace morello::testing {

TEST_SUITE_BEGIN("capi");

TEST_CASE("a covered Spec needs no search") {
  const Shop shop;
  for (const char* text : {kMatmul, kRelu, kFree}) {
    INFO(std::string(text));
    CHECK(morello_table_covers(shop.table.get(), shop.spec(text).get()) == 1);
    const KernelPtr found = shop.looked_up(text), searched = shop.searched(text);
    CHECK(impl_of(found) == impl_of(searched));
    CHECK(morello_kernel_cost(found.get()) == morello_kernel_cost(searched.get()));
    const morello_search_stats stats = stats_of(found.get());
    CHECK(stats.table_use == MORELLO_TABLE_ANSWERED);
    CHECK(stats.table_reason == MORELLO_TABLE_REASON_NONE);
    CHECK(stats.lookup_nanoseconds > 0);
    CHECK(stats.search_nanoseconds == 0);
    CHECK(stats.states == 0);
    CHECK(stats.optimal == 1);
    CHECK(stats.lower_bound == morello_kernel_cost(found.get()));
    CHECK(stats_of(searched.get()).table_use == MORELLO_TABLE_NONE);
  }
}

TEST_CASE("kernels from a table compute what their Specs say") {
  morello_cpu_info info;
  REQUIRE(morello_cpu_info_get(&info, sizeof(info)) == MORELLO_OK);
  REQUIRE_MESSAGE(info.isa != MORELLO_ISA_AUTO, "no kernel can run here");
  REQUIRE_MESSAGE(info.jit == 1, "no kernel can run here");
  const Shop shop;
  morello_options options = shop.options();
  options.search_only = 0;
  for (const char* text : {kMatmul, kRelu, kFree}) {
    const SpecPtr spec = shop.spec(text);
    const KernelPtr kernel = synthesize(shop.context.get(), spec.get(), &options);
    Buffers buffers(spec.get(), kernel.get(), 1);
    CHECK(morello_kernel_run(kernel.get(), buffers.operands(), nullptr, nullptr) == MORELLO_OK);
    CHECK(buffers.error() <= 1e-4f);
    CHECK(stats_of(kernel.get()).table_use == MORELLO_TABLE_ANSWERED);
  }
}

TEST_CASE("a Spec that is not covered is searched for") {
  const Shop shop;
  CHECK(morello_table_covers(shop.table.get(), shop.spec(kOther).get()) == 0);
  const KernelPtr kernel = shop.looked_up(kOther);
  CHECK(impl_of(kernel) == impl_of(shop.searched(kOther)));
  const morello_search_stats stats = stats_of(kernel.get());
  CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
  CHECK(stats.table_reason == MORELLO_TABLE_REASON_SPEC);
  CHECK(stats.search_nanoseconds > 0);
}

TEST_CASE(
    "a table of another number of threads or target covers nothing, and the kernel says why") {
  const Shop shop;
  const SpecPtr spec = shop.spec(kMatmul);
  const auto check = [&](const morello_options& options, morello_table_reason reason) {
    morello_options alone = options;
    alone.table = nullptr;
    const KernelPtr kernel = synthesize(shop.context.get(), spec.get(), &options);
    CHECK(impl_of(kernel) == impl_of(synthesize(shop.context.get(), spec.get(), &alone)));
    const morello_search_stats stats = stats_of(kernel.get());
    CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
    CHECK(stats.table_reason == reason);
    CHECK(stats.search_nanoseconds > 0);
  };
  morello_options options = shop.options();
  options.threads = 2;
  check(options, MORELLO_TABLE_REASON_THREADS);
  if (!includes(*cap_from_environment(), fixed_target(Isa::kAvx512)->required)) return;
  options.target = MORELLO_ISA_AVX512;
  check(options, MORELLO_TABLE_REASON_TARGET);
  options.threads = 1;
  check(options, MORELLO_TABLE_REASON_TARGET);
}

TEST_CASE("callers of older headers get the statistics and options that they know") {
  const Shop shop;
  const KernelPtr kernel = shop.looked_up(kOther);
  const size_t older = offsetof(morello_search_stats, table_reason);
  morello_search_stats stats;
  std::memset(&stats, 0x55, sizeof(stats));
  REQUIRE(morello_kernel_stats_get(kernel.get(), &stats, older) == MORELLO_OK);
  CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
  CHECK(stats.table_reason == 0x55555555);
  morello_options options = shop.options();
  options.threads = 2;
  options.struct_size = offsetof(morello_options, strict_table);
  options.strict_table = 77;  // not the caller's: garbage
  CHECK(stats_of(synthesize(shop.context.get(), shop.spec(kMatmul).get(), &options).get())
            .table_reason == MORELLO_TABLE_REASON_THREADS);
}

TEST_CASE("wrong decisions are found, and searched around") {
  TableContent wrong = content();
  for (TableGroup& group : wrong.groups)
    for (Action& action : group.actions) action = wrong.groups[0].actions[0];
  const Shop shop(wrong);
  for (const char* text : {kMatmul, kFree}) {
    CHECK(morello_table_covers(shop.table.get(), shop.spec(text).get()) == 0);
    const KernelPtr kernel = shop.looked_up(text);
    CHECK(impl_of(kernel) == impl_of(shop.searched(text)));
    CHECK(stats_of(kernel.get()).table_use == MORELLO_TABLE_WRONG);
  }
}

TEST_CASE("with strict_table, a table is refused for kernels that it is not of") {
  const Shop shop;
  morello_options options = shop.options();
  options.strict_table = 1;
  CHECK(morello_kernel_cost(
            synthesize(shop.context.get(), shop.spec(kOther).get(), &options).get()) > 0);
  options.threads = 2;
  const Failure threads = shop.refused(options);
  CHECK(threads.status == MORELLO_INCOMPATIBLE_TABLE);
  CHECK(contains(threads.message, "threads"));
  if (!includes(*cap_from_environment(), fixed_target(Isa::kAvx512)->required)) return;
  options.threads = 1;
  options.target = MORELLO_ISA_AVX512;
  const Failure target = shop.refused(options);
  CHECK(target.status == MORELLO_INCOMPATIBLE_TABLE);
  CHECK(contains(target.message, "avx512"));
  CHECK(contains(target.message, "options.target"));
}

TEST_CASE("threads share a table") {
  const Shop shop;
  const KernelPtr expected = shop.searched(kMatmul);
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& text : found)
    threads.emplace_back([&text, table = TablePtr(morello_table_retain(shop.table.get()))] {
      // Nothing of doctest here: it is for one thread.
      morello_context* context = nullptr;
      morello_spec* spec = nullptr;
      morello_options options = default_options();
      options.target = MORELLO_ISA_AVX2;
      options.search_only = 1;
      options.table = table.get();
      if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return;
      const ContextPtr own_context(context);
      if (morello_spec_parse(context, kMatmul, &spec, nullptr) != MORELLO_OK) return;
      const SpecPtr own_spec(spec);
      for (int i = 0; i < 20; i++) {
        morello_kernel* kernel = nullptr;
        if (morello_table_covers(table.get(), spec) != 1) return;
        if (morello_synthesize(context, spec, &options, &kernel, nullptr) != MORELLO_OK) return;
        text = text_of(morello_kernel_print, static_cast<const morello_kernel*>(kernel));
        morello_kernel_release(kernel);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : found) CHECK(text == impl_of(expected));
}

TEST_CASE("a program that a table guesses is better than none") {
  // Decided, but not promised: the table of a larger family without its promises.
  TableContent guesses = content();
  guesses.promises.clear();
  const Shop shop(guesses);
  CHECK(morello_table_covers(shop.table.get(), shop.spec(kMatmul).get()) == 0);
  morello_options options = shop.options();
  options.time_budget = 1;
  const KernelPtr kernel = synthesize(shop.context.get(), shop.spec(kMatmul).get(), &options);
  const morello_search_stats stats = stats_of(kernel.get());
  CHECK(stats.table_use == MORELLO_TABLE_NEAR);
  CHECK(stats.optimal == 0);
  CHECK(morello_kernel_cost(kernel.get()) == morello_kernel_cost(shop.searched(kMatmul).get()));
}

TEST_SUITE_END();

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
// Run-time sizes through the C interface.
#include "buffers.hh"
#include "handles.hh"
#include "stored.hh"

namespace morello {
namespace {

using namespace testing;

constexpr const char* kText = "matmul f32[?<=20,8] f32[8,24] -> f32[?,24]";

morello_options quick() {
  morello_options options = default_options();
  options.effort = MORELLO_EFFORT_QUICK;
  return options;
}

struct Operands {
  std::vector<float> a = std::vector<float>(20 * 8, 1), b = std::vector<float>(8 * 24, 2),
                     c = std::vector<float>(20 * 24, -1);
  std::vector<void*> pointers = {a.data(), b.data(), c.data()};
};

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a Spec with a run-time size") {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), kText);
  CHECK(morello_spec_largest_size(spec.get()) == 20);
  CHECK(morello_spec_largest_size(nullptr) == 0);
  CHECK(text_of(morello_spec_print, static_cast<const morello_spec*>(spec.get())) == kText);
  const SpecPtr again = parse_spec(context.get(), kText);
  CHECK(morello_spec_equal(spec.get(), again.get()) == 1);
  CHECK(morello_spec_hash(spec.get()) == morello_spec_hash(again.get()));
  const SpecPtr fixed = parse_spec(context.get(), "matmul f32[20,8] f32[8,24] -> f32[20,24]");
  CHECK(morello_spec_largest_size(fixed.get()) == 0);
  CHECK(morello_spec_equal(spec.get(), fixed.get()) == 0);
  const SpecPtr larger = parse_spec(context.get(), "matmul f32[?<=21,8] f32[8,24]");
  CHECK(morello_spec_equal(spec.get(), larger.get()) == 0);
  morello_tensor tensor{};
  REQUIRE(morello_spec_operand(spec.get(), 0, &tensor) == MORELLO_OK);
  CHECK(tensor.shape[0] == 20);
  const auto at = [&](int64_t size) {
    return make<SpecPtr>([&](morello_spec** s, morello_error** e) {
      return morello_spec_at_size(spec.get(), size, s, e);
    });
  };
  CHECK(morello_spec_equal(at(20).get(), fixed.get()) == 1);
  const SpecPtr three = at(3);
  CHECK(text_of(morello_spec_print, static_cast<const morello_spec*>(three.get())) ==
        "matmul f32[3,8] f32[8,24] -> f32[3,24]");
  for (int64_t size : {int64_t{0}, int64_t{-1}, int64_t{21}}) {
    const Failure bad = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
      return morello_spec_at_size(spec.get(), size, s, e);
    });
    CHECK(bad.status == MORELLO_INVALID_ARGUMENT);
    CHECK(contains(bad.message, "1 to 20"));
  }
  const Failure none = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
    return morello_spec_at_size(fixed.get(), 3, s, e);
  });
  CHECK(contains(none.message, "no run-time size"));
  const Failure appended = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
    return morello_spec_append(context.get(), spec.get(), MORELLO_OP_RELU, nullptr, s, e);
  });
  CHECK(appended.status == MORELLO_UNSUPPORTED);
  const Failure parsed = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
    return morello_spec_parse(context.get(), "relu f32[4,\n ?<=5]", s, e);
  });
  CHECK(parsed.status == MORELLO_UNSUPPORTED);
  CHECK(parsed.line == 2);
  CHECK(parsed.column == 2);
}

TEST_CASE("running a kernel with a run-time size") {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), kText);
  const morello_options options = quick();
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  const morello_kernel* k = kernel.get();
  CHECK(morello_kernel_largest_size(k) == 20);
  CHECK(std::string(morello_kernel_spec(k)) == kText);
  CHECK(morello_kernel_operand_size(k, 0) == 20 * 8 * 4);
  CHECK(morello_kernel_cost(k) == morello_kernel_sized_cost(k, 20));
  CHECK(morello_kernel_sized_cost(k, 1) > 0);
  CHECK(morello_kernel_sized_cost(k, 1) < morello_kernel_sized_cost(k, 20));
  CHECK(morello_kernel_sized_cost(k, 0) == 0);
  CHECK(morello_kernel_sized_cost(k, 21) == 0);
  CHECK((morello_kernel_function(k) == nullptr));
  CHECK(contains(text_of(morello_kernel_print, k), "pieces for sizes up to 20"));
  for (int64_t size : {1, 7, 20}) {
    Operands o;
    REQUIRE(morello_kernel_run_sized(k, size, o.pointers.data(), nullptr, nullptr) == MORELLO_OK);
    for (size_t i = 0; i < o.c.size(); i++)
      CHECK(o.c[i] == (i < static_cast<size_t>(size) * 24 ? 16 : -1));
    const size_t bytes[] = {static_cast<size_t>(size) * 32, 8 * 24 * 4,
                            static_cast<size_t>(size) * 96};
    CHECK(morello_kernel_run_sized_checked(k, size, o.pointers.data(), bytes, 3, nullptr, 0,
                                           nullptr, nullptr) == MORELLO_OK);
    for (size_t operand : {0, 1, 2}) {
      size_t less[] = {bytes[0], bytes[1], bytes[2]};
      less[operand]--;
      CHECK(morello_kernel_run_sized_checked(k, size, o.pointers.data(), less, 3, nullptr, 0,
                                             nullptr, nullptr) == MORELLO_OPERAND_TOO_SMALL);
    }
  }
}

TEST_CASE("what is wrong with a run of some size") {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), kText);
  const morello_options options = quick();
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  const SpecPtr three = parse_spec(context.get(), "relu f32[3]");
  const KernelPtr fixed = synthesize(context.get(), three.get(), &options);
  const morello_kernel* k = kernel.get();
  Operands o;
  void* const* const p = o.pointers.data();
  const size_t bytes[] = {20 * 32, 8 * 96, 20 * 96};
  CHECK(morello_kernel_run(k, p, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_run_sized(nullptr, 1, p, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_run_sized(fixed.get(), 1, p, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_run_sized(k, 0, p, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_run_sized(k, 21, p, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_run_sized(k, 1, nullptr, nullptr, nullptr) == MORELLO_NULL_OPERAND);
  CHECK((morello_kernel_sized_function(fixed.get()) == nullptr));
  CHECK(morello_kernel_largest_size(fixed.get()) == 0);
  CHECK(morello_kernel_sized_cost(fixed.get(), 1) == 0);
  void* const odd[] = {o.a.data(), static_cast<char*>(p[1]) + 1, o.c.data()};
  CHECK(morello_kernel_run_sized(k, 1, odd, nullptr, nullptr) == MORELLO_MISALIGNED);
  const auto message = [](auto&& call) {
    morello_error* error = nullptr;
    CHECK(call(&error) == MORELLO_INVALID_ARGUMENT);
    const ErrorPtr own(error);
    return std::string(error == nullptr ? "" : morello_error_message(error));
  };
  CHECK(contains(message([&](morello_error** e) {
                   return morello_kernel_run_checked(k, p, bytes, 3, nullptr, 0, nullptr, e);
                 }),
                 "morello_kernel_run_sized()"));
  CHECK(contains(message([&](morello_error** e) {
                   return morello_kernel_run_sized_checked(k, 21, p, bytes, 3, nullptr, 0, nullptr,
                                                           e);
                 }),
                 "1 to 20"));
  CHECK(contains(message([&](morello_error** e) {
                   return morello_kernel_run_sized_checked(fixed.get(), 1, p, bytes, 2, nullptr, 0,
                                                           nullptr, e);
                 }),
                 "no run-time size"));
  CHECK(contains(message([&](morello_error** e) {
                   return morello_kernel_run_sized_checked(nullptr, 1, p, bytes, 3, nullptr, 0,
                                                           nullptr, e);
                 }),
                 "kernel"));
  // Rows beyond the size are nobody's.
  void* const near[] = {o.a.data(), o.b.data(), o.a.data() + 8};
  CHECK(morello_kernel_run_sized_checked(k, 1, near, bytes, 3, nullptr, 0, nullptr, nullptr) ==
        MORELLO_OK);
  CHECK(contains(message([&](morello_error** e) {
                   return morello_kernel_run_sized_checked(k, 2, near, bytes, 3, nullptr, 0,
                                                           nullptr, e);
                 }),
                 "shares memory"));
}

TEST_CASE("a run-time size is stored") {
  const ContextPtr context = make_context();
  for (const char* text : {kText, "matmul f32[?<=20,8] f32[8,24]{*} -> f32[?,24]"}) {
    const SpecPtr spec = parse_spec(context.get(), text);
    const morello_options options = quick();
    const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
    const std::string bytes = saved(kernel.get());
    const KernelPtr again = loaded(context.get(), bytes);
    check_same(kernel.get(), again.get());
    CHECK(saved(again.get()) == bytes);
    CHECK(morello_kernel_largest_size(again.get()) == 20);
    for (int64_t size = 1; size <= 20; size++)
      CHECK(morello_kernel_sized_cost(again.get(), size) ==
            morello_kernel_sized_cost(kernel.get(), size));
    if (text != kText) continue;
    Operands o;
    REQUIRE(morello_kernel_run_sized(again.get(), 5, o.pointers.data(), nullptr, nullptr) ==
            MORELLO_OK);
    CHECK(o.c[5 * 24 - 1] == 16);
    CHECK(o.c[5 * 24] == -1);
    for (size_t cut = 0; cut < bytes.size(); cut += 97) {
      const Failure bad = fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
        return morello_kernel_load_memory(context.get(), bytes.data(), cut, k, e);
      });
      CHECK(bad.status == MORELLO_CORRUPT_KERNEL);
    }
  }
}

TEST_CASE("budgets, cancelling, and kernels that are not to run") {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), kText);
  morello_options options = quick();
  const int32_t cancel = 1;
  options.cancel = &cancel;
  const Failure cancelled = fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
    return morello_synthesize(context.get(), spec.get(), &options, k, e);
  });
  CHECK(cancelled.status == MORELLO_CANCELLED);
  options = default_options();
  options.time_budget = 1;
  const KernelPtr hasty = synthesize(context.get(), spec.get(), &options);
  CHECK(stats_of(hasty.get()).optimal == 0);
  Operands o;
  REQUIRE(morello_kernel_run_sized(hasty.get(), 19, o.pointers.data(), nullptr, nullptr) ==
          MORELLO_OK);
  CHECK(o.c[19 * 24 - 1] == 16);
  CHECK(o.c[19 * 24] == -1);
  options = quick();
  options.search_only = 1;
  const KernelPtr searched = synthesize(context.get(), spec.get(), &options);
  CHECK((morello_kernel_sized_function(searched.get()) == nullptr));
  CHECK(morello_kernel_largest_size(searched.get()) == 20);
  options = quick();
  options.code_only = 1;
  const KernelPtr code = synthesize(context.get(), spec.get(), &options);
  CHECK(morello_kernel_run_sized(code.get(), 1, o.pointers.data(), nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  size_t size = 0;
  CHECK(morello_kernel_code(code.get(), &size) != nullptr);
  CHECK(size > 0);
}

TEST_CASE("a table of a Spec with a run-time size") {
  const char* const free = "matmul f32[?<=20,8] f32[8,24]{*} -> f32[?,24]";
  const ContextPtr context = make_context();
  for (const char* text : {kText, free})
    for (const uint32_t effort : {MORELLO_EFFORT_EXACT, MORELLO_EFFORT_QUICK}) {
      INFO(std::string(text));
      CAPTURE(effort);
      morello_precompute_options making;
      morello_precompute_options_init(&making, sizeof(making));
      making.target = MORELLO_ISA_AVX2;
      making.effort = effort;
      const char* const families[] = {"relu f32[<=20]", text};
      const TablePtr table = make<TablePtr>([&](morello_table** t, morello_error** e) {
        return morello_precompute_table(context.get(), families, 2, nullptr, &making, t, e);
      });
      const SpecPtr spec = parse_spec(context.get(), text);
      CHECK(morello_table_covers(table.get(), spec.get()) == 1);
      CHECK(morello_table_miss(table.get(), spec.get(), nullptr, 0) == 0);
      uint64_t members = 0, covered = 0;
      REQUIRE(morello_table_coverage(table.get(), text, &members, &covered, nullptr) == MORELLO_OK);
      CHECK(members >= 18);
      CHECK(covered == members);
      CHECK(std::string(morello_table_family(table.get(), 0)) == text);
      // Whatever searches is cancelled.
      const int32_t cancel = 1;
      morello_options options = default_options();
      options.target = MORELLO_ISA_AVX2;
      options.effort = effort;
      options.code_only = 1;
      options.strict_table = 1;
      options.table = table.get();
      options.cancel = &cancel;
      const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
      const morello_search_stats stats = stats_of(kernel.get());
      CHECK(stats.table_use == MORELLO_TABLE_ANSWERED);
      CHECK(stats.states == 0);
      CHECK(stats.optimal == (effort == MORELLO_EFFORT_EXACT));
      if (effort != MORELLO_EFFORT_EXACT) continue;
      options.table = nullptr;
      options.cancel = nullptr;
      CHECK(saved(kernel.get()) == saved(synthesize(context.get(), spec.get(), &options).get()));
    }
}

TEST_CASE("the part of a table that has all pieces answers") {
  const ContextPtr context = make_context();
  morello_precompute_options making;
  morello_precompute_options_init(&making, sizeof(making));
  making.target = MORELLO_ISA_AVX2;
  const char* const largest = "matmul f32[20,8] f32[8,24]";
  const TablePtr exact = make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_precompute_table(context.get(), &largest, 1, nullptr, &making, t, e);
  });
  making.effort = MORELLO_EFFORT_QUICK;
  const TablePtr both = make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_precompute_table(context.get(), &kText, 1, exact.get(), &making, t, e);
  });
  uint64_t members = 0, covered = 0;
  REQUIRE(morello_table_coverage(both.get(), kText, &members, &covered, nullptr) == MORELLO_OK);
  CHECK(covered == members);
  const SpecPtr spec = parse_spec(context.get(), kText);
  morello_options options = quick();
  options.target = MORELLO_ISA_AVX2;
  options.search_only = 1;
  options.table = both.get();
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  CHECK(stats_of(kernel.get()).table_use == MORELLO_TABLE_ANSWERED);
  options.table = exact.get();
  const KernelPtr searched = synthesize(context.get(), spec.get(), &options);
  CHECK(stats_of(searched.get()).table_use != MORELLO_TABLE_ANSWERED);
}

TEST_SUITE_END();

}  // namespace morello

// SPDX-License-Identifier: MIT
// Synthesis through the C interface: options, instruction sets and caps, and systems that refuse
// executable memory.
#include <algorithm>
#include <cstdlib>

#include "../support/sandbox.hh"
#include "handles.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

ContextPtr context_with_cap(int32_t max_isa) {
  morello_context_options options;
  morello_context_options_init(&options, sizeof(options));
  options.max_isa = max_isa;
  return make<ContextPtr>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&options, c, e);
  });
}

Failure fail_to_synthesize(morello_context* context, const char* text,
                           const morello_options& options) {
  const SpecPtr spec = parse_spec(context, text);
  return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
    return morello_synthesize(context, spec.get(), &options, k, e);
  });
}

constexpr const char* kSmall = "matmul f32[4,8] f32[8,16] -> f32[4,16]";

/// In a child process that may not have executable memory: the status, its message, and no kernel.
int synthesize_denied() {
  morello_context* context = nullptr;
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  morello_error* err = nullptr;
  morello_options options = default_options();
  if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return kFailed;
  if (morello_spec_parse(context, kSmall, &spec, nullptr) != MORELLO_OK) return kFailed;
  const morello_status status = morello_synthesize(context, spec, &options, &kernel, &err);
  if (status != MORELLO_EXEC_MEMORY_DENIED || kernel != nullptr || err == nullptr) return kFailed;
  const bool named = contains(morello_error_message(err), "memfd_create") &&
                     contains(morello_error_message(err), "search_only");
  morello_error_release(err);
  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof(info)) != MORELLO_OK || info.jit != 0) return kFailed;
  // What the message advises works.
  options.search_only = 1;
  if (morello_synthesize(context, spec, &options, &kernel, nullptr) != MORELLO_OK) return kFailed;
  morello_kernel_release(kernel);
  options.search_only = 0;
  options.code_only = 1;
  if (morello_synthesize(context, spec, &options, &kernel, nullptr) != MORELLO_OK) return kFailed;
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  morello_context_release(context);
  return named ? kDenied : kFailed;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("bad options") {
  const ContextPtr context = make_context();
  const auto message = [&](auto spoil) {
    morello_options options = default_options();
    spoil(options);
    const Failure failure = fail_to_synthesize(context.get(), kSmall, options);
    CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
    return failure.message;
  };
  CHECK(contains(message([](morello_options& o) { o.target = 99; }), "options.target is 99"));
  CHECK(contains(message([](morello_options& o) { o.target = -1; }), "MORELLO_ISA_AVX512"));
  CHECK(contains(message([](morello_options& o) { o.threads = 0; }), "options.threads is 0"));
  CHECK(contains(message([](morello_options& o) { o.threads = 1025; }), "1024"));
  CHECK(contains(message([](morello_options& o) { o.reserved0 = 1; }), "reserved0"));
  CHECK(contains(message([](morello_options& o) { o.strict_table = 2; }), "options.strict_table"));
  CHECK(
      contains(message([](morello_options& o) { o.search_only = o.code_only = 1; }), "code_only"));
  CHECK(contains(message([](morello_options& o) { o.search_threads = 1025; }), "search_threads"));
  CHECK(contains(message([](morello_options& o) { o.struct_size = 8; }), "struct_size"));
}

TEST_CASE("NULL arguments of synthesize") {
  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), kSmall);
  const auto failure = [](morello_context* c, const morello_spec* s) {
    return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
      return morello_synthesize(c, s, nullptr, k, e);
    });
  };
  CHECK(contains(failure(nullptr, spec.get()).message, "`context`"));
  CHECK(contains(failure(context.get(), nullptr).message, "`spec`"));
  CHECK(morello_synthesize(context.get(), spec.get(), nullptr, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("a target above the cap is unavailable, even to search for") {
  const ContextPtr context = context_with_cap(MORELLO_ISA_AVX2);
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX512;
  for (uint32_t search_only : {0u, 1u}) {
    options.search_only = search_only;
    const Failure failure = fail_to_synthesize(context.get(), kSmall, options);
    CHECK(failure.status == MORELLO_ISA_UNAVAILABLE);
    CHECK(contains(failure.message, "avx512"));
    CHECK(contains(failure.message, "cap"));
    CHECK(contains(failure.message, "MORELLO_MAX_ISA"));
  }
}

TEST_CASE("MORELLO_MAX_ISA is read when a context is created, and both caps count") {
  const char* before = std::getenv("MORELLO_MAX_ISA");
  const std::string saved = before != nullptr ? before : "";
  setenv("MORELLO_MAX_ISA", "avx2", 1);
  const ContextPtr context = context_with_cap(MORELLO_ISA_AVX512);
  if (before != nullptr) setenv("MORELLO_MAX_ISA", saved.c_str(), 1);
  if (before == nullptr) unsetenv("MORELLO_MAX_ISA");
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX512;
  CHECK(fail_to_synthesize(context.get(), kSmall, options).status == MORELLO_ISA_UNAVAILABLE);
  options.target = MORELLO_ISA_AVX2;
  options.search_only = 1;
  const SpecPtr spec = parse_spec(context.get(), kSmall);
  CHECK(morello_kernel_isa(synthesize(context.get(), spec.get(), &options).get()) ==
        MORELLO_ISA_AVX2);
}

TEST_CASE("a target that the CPU lacks can be searched for, not run") {
  const ContextPtr context = make_context();
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX512;
  const Features needed = fixed_target(Isa::kAvx512)->required;
  if (!includes(*cap_from_environment(), needed)) return;
  if (!includes(read_machine().features, needed)) {
    const Failure failure = fail_to_synthesize(context.get(), kSmall, options);
    CHECK(failure.status == MORELLO_ISA_UNAVAILABLE);
    CHECK(contains(failure.message, "CPU"));
    CHECK(contains(failure.message, "search_only"));
  }
  options.search_only = 1;
  const SpecPtr spec = parse_spec(context.get(), kSmall);
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  CHECK(morello_kernel_isa(kernel.get()) == MORELLO_ISA_AVX512);
  CHECK(contains(morello_kernel_name(kernel.get()), "avx512"));
}

TEST_CASE("a search_only kernel can be printed, not run") {
  const ContextPtr context = make_context();
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX2;
  options.search_only = 1;
  const SpecPtr spec = parse_spec(context.get(), "matmul f32[4,8] f32[8,16]{*} -> f32[4,16]");
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  const morello_kernel* k = kernel.get();
  CHECK(morello_kernel_print(k, nullptr, 0) > 0);
  CHECK(morello_kernel_print_plan(k, nullptr, 0) == 0);
  CHECK(morello_kernel_cost(k) > 0);
  CHECK(!morello_kernel_function(k));
  size_t size = 1;
  CHECK(morello_kernel_code(k, &size) == nullptr);
  CHECK(size == 0);
  CHECK(morello_kernel_operand_size(k, 1) >= 8 * 16 * 4);
  float memory[256] = {};
  void* operands[] = {memory, memory, memory};
  const size_t bytes[] = {sizeof(memory), sizeof(memory), sizeof(memory)};
  CHECK(morello_kernel_run(k, operands, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_pack(k, 1, memory, memory) == MORELLO_INVALID_ARGUMENT);
  morello_error* err = nullptr;
  CHECK(morello_kernel_run_checked(k, operands, bytes, 3, nullptr, 0, nullptr, &err) ==
        MORELLO_INVALID_ARGUMENT);
  const ErrorPtr own(err);
  CHECK(contains(morello_error_message(err), "search_only"));
}

TEST_CASE("read_machine searches for this machine's caches") {
  morello_context_options given;
  morello_context_options_init(&given, sizeof(given));
  given.read_machine = 1;
  const ContextPtr context = make<ContextPtr>(
      [&](morello_context** c, morello_error** e) { return morello_context_create(&given, c, e); });
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX2;
  options.search_only = 1;
  const SpecPtr spec = parse_spec(context.get(), kSmall);
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  const bool known = read_machine().l1_bytes != 0 || read_machine().l2_bytes != 0;
  CHECK(contains(text_of(morello_kernel_print, kernel.get()), known ? "host" : "generic-x86-64"));
}

TEST_CASE("a system that refuses executable memory") {
  REQUIRE_MESSAGE(best_target(read_machine().features, *cap_from_environment()),
                  "no kernel can run here");
  const auto deny = [] { return deny_calls(kDenyMprotectExec | kDenyMemfd); };
  check_in_child("seccomp", deny, synthesize_denied, kDenied);
}

TEST_SUITE_END();

}  // namespace morello::testing

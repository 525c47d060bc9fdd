// SPDX-License-Identifier: MIT
// Kernels as code to be kept: for any target, never to be run, with all that its keeper has to
// know.
#include <algorithm>
#include <cstring>
#include <set>

#include "handles.hh"

namespace morello::testing {
namespace {

constexpr const char* kFree = "matmul f32[4,5] f32[5,20]{*} -> f32[4,20]";
constexpr const char* kScratch = "einsum \"mk,kn->nm\" f32[9,7] f32[7,33] -> f32[33,9]";
constexpr int32_t kIsas[] = {MORELLO_ISA_AVX2,        MORELLO_ISA_AVX512,
                             MORELLO_ISA_AVX2_VNNI,   MORELLO_ISA_AVX512_VNNI,
                             MORELLO_ISA_AVX512_BF16, MORELLO_ISA_AVX512_AMX};

KernelPtr code_for(int32_t isa, const char* text, uint32_t threads = 1) {
  const ContextPtr context = make_context();
  morello_options options = default_options();
  options.target = isa;
  options.code_only = 1;
  options.threads = threads;
  return synthesize(context.get(), parse_spec(context.get(), text).get(), &options);
}

morello_code code_of(const morello_kernel* kernel, int32_t operand = -1) {
  morello_code code;
  REQUIRE(morello_kernel_code_get(kernel, operand, &code, sizeof code) == MORELLO_OK);
  return code;
}

/// Functions lie one after another, and frames grow from the return address and shrink to it.
uint32_t check_functions(const morello_kernel* kernel, int32_t operand) {
  const morello_code code = code_of(kernel, operand);
  CHECK(code.alignment == 64);
  uint32_t end = 0, entries = 0;
  for (uint32_t i = 0; i < code.function_count; i++) {
    morello_code_function f;
    REQUIRE(morello_kernel_code_function_get(kernel, operand, i, &f, sizeof f) == MORELLO_OK);
    CHECK(f.begin >= end);
    CHECK(f.begin < f.end);
    CHECK(f.end <= code.size);
    end = f.end;
    entries += f.kind == MORELLO_CODE_ENTRY && f.begin == code.entry;
    REQUIRE(f.step_count > 0);
    CHECK(f.steps[0].offset == f.begin);
    CHECK(f.steps[0].cfa == 8);
    CHECK(f.steps[f.step_count - 1].cfa == 8);
    CHECK(code.bytes[f.end - 1] == 0xc3);  // ret
    std::set<int32_t> saved;
    for (uint32_t s = 1; s < f.step_count; s++) {
      CHECK(f.steps[s].offset > f.steps[s - 1].offset);
      if (f.steps[s].saved < 0) continue;
      CHECK(f.steps[s].cfa == f.steps[s - 1].cfa + 8);
      CHECK(saved.insert(f.steps[s].saved).second);
    }
  }
  CHECK(entries == 1);
  return code.function_count;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("code can be made for every target, and is not run") {
  for (int32_t isa : kIsas) {
    CAPTURE(isa);
    const KernelPtr kernel = code_for(isa, kFree);
    CHECK(morello_kernel_isa(kernel.get()) == isa);
    size_t size = 0;
    CHECK(morello_kernel_code(kernel.get(), &size) == code_of(kernel.get()).bytes);
    CHECK(size == code_of(kernel.get()).size);
    CHECK(size > 0);
    const bool is_null = morello_kernel_function(kernel.get()) == nullptr;
    CHECK(is_null);
    alignas(64) static float memory[3][2000];
    void* const operands[] = {memory[0], memory[1], memory[2]};
    CHECK(morello_kernel_run(kernel.get(), operands, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
    CHECK(morello_kernel_pack(kernel.get(), 1, memory[0], memory[1]) == MORELLO_INVALID_ARGUMENT);
    const size_t bytes[] = {sizeof memory[0], sizeof memory[1], sizeof memory[2]};
    morello_error* err = nullptr;
    CHECK(morello_kernel_run_checked(kernel.get(), operands, bytes, 3, nullptr, 0, nullptr, &err) ==
          MORELLO_INVALID_ARGUMENT);
    CHECK(contains(morello_error_message(err), "code_only"));
    morello_error_release(err);
  }
}

TEST_CASE("code to be kept is the code that runs") {
  const ContextPtr context = make_context();
  for (const char* text : {kFree, kScratch}) {
    const SpecPtr spec = parse_spec(context.get(), text);
    morello_options options = default_options();
    const KernelPtr runs = synthesize(context.get(), spec.get(), &options);
    options.target = morello_kernel_isa(runs.get());
    options.code_only = 1;
    const KernelPtr kept = synthesize(context.get(), spec.get(), &options);
    CHECK(morello_kernel_scratch_size(kept.get()) == morello_kernel_scratch_size(runs.get()));
    for (int32_t operand = -1; operand < 3; operand++) {
      const morello_code a = code_of(runs.get(), operand), b = code_of(kept.get(), operand);
      REQUIRE(a.size == b.size);
      CHECK(std::equal(a.bytes, a.bytes + a.size, b.bytes));  // both are null if there is none
      CHECK(a.entry == b.entry);
      CHECK(a.scratch_size == b.scratch_size);
      CHECK(a.function_count == b.function_count);
    }
  }
}

TEST_CASE("code consists of functions whose frames are known") {
  for (int32_t isa : {MORELLO_ISA_AVX2, MORELLO_ISA_AVX512}) {
    const KernelPtr packs = code_for(isa, kFree);
    check_functions(packs.get(), -1);
    check_functions(packs.get(), 1);
    CHECK(code_of(packs.get(), 0).size == 0);
    CHECK(check_functions(code_for(isa, kScratch).get(), -1) >= 1);
    const char* tall = "matmul f32[4096,64] f32[64,512] -> f32[4096,512]";
    CHECK(check_functions(code_for(isa, tall, 4).get(), -1) >= 2);  // a task
  }
}

TEST_CASE("what is no code is refused") {
  const KernelPtr kernel = code_for(MORELLO_ISA_AVX2, kFree);
  const ContextPtr context = make_context();
  morello_options options = default_options();
  options.search_only = 1;
  const KernelPtr none =
      synthesize(context.get(), parse_spec(context.get(), kFree).get(), &options);
  morello_code code;
  morello_code_function f;
  const size_t size = sizeof code, f_size = sizeof f;
  for (int32_t operand : {-2, 3, INT32_MAX, INT32_MIN})
    CHECK(morello_kernel_code_get(kernel.get(), operand, &code, size) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_get(nullptr, -1, &code, size) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_get(none.get(), -1, &code, size) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_get(kernel.get(), -1, nullptr, size) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_get(kernel.get(), -1, &code, 8) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_function_get(kernel.get(), -1, 1000, &f, f_size) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_function_get(kernel.get(), 0, 0, &f, f_size) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_function_get(none.get(), -1, 0, &f, f_size) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_function_get(kernel.get(), -1, 0, nullptr, f_size) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_code_function_get(kernel.get(), -1, 0, &f, 8) == MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("features of instruction sets are named, and say where CPUID has them") {
  CHECK(morello_isa_features(MORELLO_ISA_AUTO, nullptr, 0) == 0);
  CHECK(morello_isa_features(77, nullptr, 0) == 0);
  CHECK(morello_isa_features(-1, nullptr, 0) == 0);
  morello_cpu_feature all[32] = {};
  const size_t count = morello_isa_features(MORELLO_ISA_AVX512, all, 32);
  REQUIRE(count > 6);
  REQUIRE(count < 32);
  CHECK(all[count].leaf == 0);
  const auto* f = std::find_if(all, all + count, [](const morello_cpu_feature& each) {
    return std::string_view(each.name) == "avx512f";
  });
  REQUIRE(f != all + count);
  CHECK(f->leaf == 7);
  CHECK(f->subleaf == 0);
  CHECK(f->register_number == 1);
  CHECK(f->bit == 16);
  CHECK(f->xcr0 == 0xe6);
  morello_cpu_feature one[2] = {};
  CHECK(morello_isa_features(MORELLO_ISA_AVX512, one, 1) == count);
  CHECK(one[0].leaf != 0);
  CHECK(one[1].leaf == 0);
}

TEST_CASE("the order in which instruction sets are wanted is the same for every CPU") {
  const ContextPtr context = make_context();
  uint32_t all = 0;
  for (int32_t isa : kIsas) all |= 1u << isa;
  for (const char* text :
       {"relu f32[4] -> f32[4]", "matmul bf16[4,8] bf16[8,16] -> f32[4,16]",
        "matmul u8[4,8] i8[8,16] -> i32[4,16]", "matmul f16[4,8] f32[8,16] -> bf16[4,16]"}) {
    INFO(std::string(text));
    const SpecPtr spec = parse_spec(context.get(), text);
    std::vector<int32_t> order;
    for (uint32_t left = all; left != 0; left &= ~(1u << order.back())) {
      order.push_back(morello_spec_isa(spec.get(), left));
      REQUIRE((left >> order.back() & 1) == 1);
    }
    for (uint32_t usable = 0; usable <= all; usable++) {
      const auto first = std::find_if(order.begin(), order.end(),
                                      [&](int32_t isa) { return (usable >> isa & 1) != 0; });
      CHECK(morello_spec_isa(spec.get(), usable) == (first == order.end() ? 0 : *first));
    }
    CHECK(morello_spec_isa(spec.get(), 1u << 20) == 0);
  }
  CHECK(morello_spec_isa(nullptr, all) == 0);
}

TEST_SUITE_END();

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
// Kernels through the C interface: running, packing, threads, scratch, and what they say of
// themselves.
#include <algorithm>
#include <atomic>
#include <thread>

#include "buffers.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

constexpr float kTolerance = 1e-4f;  // of sums of some dozen products of values below 1

/// Fails the test where no target can run.
bool can_run() {
  morello_cpu_info info;
  REQUIRE(morello_cpu_info_get(&info, sizeof(info)) == MORELLO_OK);
  const bool can = info.isa != MORELLO_ISA_AUTO && info.jit == 1;
  CHECK_MESSAGE(can, "no kernel can run here, so nothing would be tested");
  return can;
}

struct Made {
  ContextPtr context = make_context();
  SpecPtr spec;
  KernelPtr kernel;
  explicit Made(const std::string& text, uint32_t threads = 1) {
    spec = parse_spec(context.get(), text);
    morello_options options = default_options();
    options.threads = threads;
    kernel = synthesize(context.get(), spec.get(), &options);
  }
};

morello_status run(const morello_kernel* kernel, const Buffers& buffers) {
  return morello_kernel_run(kernel, buffers.operands(), nullptr, nullptr);
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("kernels compute what their Specs say") {
  if (!can_run()) return;
  for (const char* text :
       {"matmul f32[7,9] f32[9,21] -> f32[7,21]", "matmul f32[7,9] f32[9,21] += f32[7,21]",
        "matmul f32[1,65] f32[65,3]{0,1} -> f32[1,3]",
        "matmul f32[2,3,9] f32[2,9,17] -> f32[2,3,17]",
        "matmul f32[6,8] f32[8,16] + bias f32[16] -> relu -> f32[6,16]",
        "relu f32[100] -> f32[100]", "recip f32[] -> f32[]", "add f32[5,7] f32[7] -> f32[5,7]",
        "reduce_max f32[9,33] axis=0 -> f32[33]", "reduce_sum f32[9,33] axis=1 -> f32[9]",
        "transpose f32[19,23] perm=1,0 -> f32[23,19]", "move f32[19,23] -> f32[19,23]{0,1}",
        "fill 2.5 -> f32[37]"}) {
    INFO(std::string(text));
    const Made made(text);
    Buffers buffers(made.spec.get(), made.kernel.get(), 1);
    CHECK(run(made.kernel.get(), buffers) == MORELLO_OK);
    CHECK(buffers.error() <= kTolerance);
  }
}

TEST_CASE("a kernel says what it is") {
  if (!can_run()) return;
  const Made made("matmul f32[8,12] f32[12,32] -> f32[8,32]");
  const morello_kernel* k = made.kernel.get();
  const std::string isa(find_target(morello_kernel_isa(k))->name);
  CHECK(std::string(morello_kernel_name(k)) == "morello_matmul_m8n32k12_" + isa);
  CHECK(morello_kernel_operand_count(k) == 3);
  CHECK(morello_kernel_operand_size(k, 0) == 8 * 12 * 4);
  CHECK(morello_kernel_operand_size(k, 2) == 8 * 32 * 4);
  CHECK(morello_kernel_operand_size(k, 3) == 0);
  CHECK(morello_kernel_cost(k) > 0);
  const std::string impl = text_of(morello_kernel_print, k);
  CHECK(contains(impl, "outer_product"));
  CHECK(contains(text_of(morello_kernel_print_plan, k), "outer_product"));
  size_t size = 0;
  const uint8_t* code = morello_kernel_code(k, &size);
  REQUIRE(code != nullptr);
  CHECK(size > 0);
  const auto function = reinterpret_cast<uintptr_t>(morello_kernel_function(k));
  CHECK(function >= reinterpret_cast<uintptr_t>(code));
  CHECK(function < reinterpret_cast<uintptr_t>(code) + size);
  const size_t alignment = morello_kernel_scratch_alignment(k);
  CHECK((alignment & (alignment - 1)) == 0);
  morello_search_stats stats = stats_of(k);
  CHECK(stats.struct_size == sizeof(stats));
  CHECK(stats.specs > 0);
  CHECK(stats.states >= stats.specs);
  CHECK(stats.previews > stats.misfits);
  CHECK(stats.plan_nanoseconds > 0);
  CHECK(stats.emit_nanoseconds > 0);
  CHECK(stats.table_use == MORELLO_TABLE_NONE);
  const size_t first = offsetof(morello_search_stats, misfits);  // of the first release
  std::memset(&stats, 0xff, sizeof(stats));
  CHECK(morello_kernel_stats_get(k, &stats, first) == MORELLO_OK);
  CHECK(stats.struct_size == first);
  CHECK(stats.misfits == UINT64_MAX);
  CHECK(morello_kernel_stats_get(k, &stats, first - 1) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_stats_get(k, nullptr, sizeof(stats)) == MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("the same Spec gives the same program and the same code") {
  if (!can_run()) return;
  const char* text = "matmul f32[13,29] f32[29,31] + f32[31] -> f32[13,31]";
  const Made first(text), second(text);
  CHECK(text_of(morello_kernel_print, first.kernel.get()) ==
        text_of(morello_kernel_print, second.kernel.get()));
  size_t a_size = 0, b_size = 0;
  const uint8_t* a = morello_kernel_code(first.kernel.get(), &a_size);
  const uint8_t* b = morello_kernel_code(second.kernel.get(), &b_size);
  REQUIRE(a_size == b_size);
  CHECK(std::equal(a, a + a_size, b));
}

TEST_CASE("what run refuses") {
  if (!can_run()) return;
  const Made made("matmul f32[4,8] f32[8,16] -> f32[4,16]");
  const morello_kernel* k = made.kernel.get();
  Buffers buffers(made.spec.get(), k, 2);
  const std::vector<float> before = buffers.output();
  for (uint32_t i = 0; i < buffers.count(); i++) {
    std::vector<void*> operands(buffers.operands(), buffers.operands() + buffers.count());
    operands[i] = nullptr;
    CHECK(morello_kernel_run(k, operands.data(), nullptr, nullptr) == MORELLO_NULL_OPERAND);
    operands[i] = static_cast<char*>(buffers.operands()[i]) + 2;
    CHECK(morello_kernel_run(k, operands.data(), nullptr, nullptr) == MORELLO_MISALIGNED);
  }
  alignas(64) char scratch[128];
  CHECK(morello_kernel_run(k, buffers.operands(), scratch + 4, nullptr) == MORELLO_MISALIGNED);
  CHECK(morello_kernel_run(k, nullptr, nullptr, nullptr) == MORELLO_NULL_OPERAND);
  CHECK(morello_kernel_run(nullptr, buffers.operands(), nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  morello_executor executor{sizeof(executor), nullptr, nullptr};
  CHECK(morello_kernel_run(k, buffers.operands(), nullptr, &executor) == MORELLO_INVALID_ARGUMENT);
  executor.struct_size = 8;
  CHECK(morello_kernel_run(k, buffers.operands(), nullptr, &executor) == MORELLO_INVALID_ARGUMENT);
  CHECK(buffers.output() == before);
}

TEST_CASE("what run_checked refuses, and says") {
  if (!can_run()) return;
  const Made made("matmul f32[4,8] f32[8,16] -> f32[4,16]");
  const morello_kernel* k = made.kernel.get();
  Buffers buffers(made.spec.get(), k, 3);
  alignas(64) char scratch[128];
  const auto checked = [&](void* const* operands, const size_t* bytes, uint32_t count,
                           void* given_scratch, const morello_executor* executor) {
    morello_error* err = nullptr;
    const morello_status status = morello_kernel_run_checked(
        k, operands, bytes, count, given_scratch, sizeof(scratch), executor, &err);
    const ErrorPtr own(err);
    CHECK((err == nullptr) == (status == MORELLO_OK));
    if (err != nullptr) CHECK(morello_error_status(err) == status);
    return Failure{status, err != nullptr ? morello_error_message(err) : "", 0, 0};
  };
  CHECK(checked(buffers.operands(), buffers.bytes(), 3, nullptr, nullptr).status == MORELLO_OK);
  CHECK(buffers.error() <= kTolerance);
  const char* const names[] = {"operand 0 (input 0)", "operand 1 (input 1)",
                               "operand 2 (the output)"};
  for (uint32_t i = 0; i < 3; i++) {
    std::vector<size_t> bytes(buffers.bytes(), buffers.bytes() + 3);
    const size_t needed = bytes[i]--;
    const Failure small = checked(buffers.operands(), bytes.data(), 3, nullptr, nullptr);
    CHECK(small.status == MORELLO_OPERAND_TOO_SMALL);
    CHECK(contains(small.message, names[i]));
    CHECK(contains(small.message, std::to_string(needed)));
    std::vector<void*> operands(buffers.operands(), buffers.operands() + 3);
    operands[i] = static_cast<char*>(operands[i]) + 1;
    const Failure odd = checked(operands.data(), buffers.bytes(), 3, nullptr, nullptr);
    CHECK(odd.status == MORELLO_MISALIGNED);
    CHECK(contains(odd.message, names[i]));
    operands[i] = nullptr;
    const Failure null = checked(operands.data(), buffers.bytes(), 3, nullptr, nullptr);
    CHECK(null.status == MORELLO_NULL_OPERAND);
    CHECK(contains(null.message, names[i]));
  }
  const Failure count = checked(buffers.operands(), buffers.bytes(), 2, nullptr, nullptr);
  CHECK(count.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(count.message, "3 operands"));
  const Failure odd = checked(buffers.operands(), buffers.bytes(), 3, scratch + 8, nullptr);
  CHECK(odd.status == MORELLO_MISALIGNED);
  CHECK(contains(odd.message, "scratch"));
  CHECK(checked(nullptr, buffers.bytes(), 3, nullptr, nullptr).status == MORELLO_NULL_OPERAND);
  CHECK(checked(buffers.operands(), nullptr, 3, nullptr, nullptr).status ==
        MORELLO_INVALID_ARGUMENT);
  const morello_executor executor{sizeof(executor), nullptr, nullptr};
  const Failure bad = checked(buffers.operands(), buffers.bytes(), 3, nullptr, &executor);
  CHECK(bad.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(bad.message, "parallel_for"));
}

TEST_CASE("run_checked finds an output that shares elements with an input, and nothing else") {
  if (!can_run()) return;
  std::vector<float> memory(4096, 0.25f);
  const auto checked = [&](const char* text, const std::vector<size_t>& offsets) {
    const Made made(text);
    std::vector<void*> operands;
    std::vector<size_t> bytes;
    for (size_t i = 0; i < offsets.size(); i++) {
      operands.push_back(memory.data() + offsets[i]);
      bytes.push_back(morello_kernel_operand_size(made.kernel.get(), static_cast<uint32_t>(i)));
    }
    morello_error* err = nullptr;
    const morello_status status = morello_kernel_run_checked(
        made.kernel.get(), operands.data(), bytes.data(), static_cast<uint32_t>(offsets.size()),
        nullptr, 0, nullptr, &err);
    const ErrorPtr own(err);
    return Failure{status, err != nullptr ? morello_error_message(err) : "", 0, 0};
  };
  const char* matmul = "matmul f32[4,8] f32[8,16] -> f32[4,16]";
  CHECK(checked(matmul, {0, 32, 160}).status == MORELLO_OK);
  CHECK(checked(matmul, {0, 0, 128}).status == MORELLO_OK);  // inputs may overlap
  const Failure first = checked(matmul, {63, 200, 0});
  CHECK(first.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(first.message, "operand 2 (the output)"));
  CHECK(contains(first.message, "operand 0 (input 0)"));
  CHECK(contains(checked(matmul, {1000, 0, 127}).message, "operand 1 (input 1)"));
  CHECK(checked(matmul, {1000, 0, 128}).status == MORELLO_OK);
  CHECK(checked("relu f32[100] -> f32[100]", {0, 0}).status == MORELLO_INVALID_ARGUMENT);
  const char* halves = "relu f32[8,16]{strides=40,1} -> f32[8,16]{strides=40,1}";
  CHECK(checked(halves, {0, 16}).status == MORELLO_OK);
  CHECK(checked(halves, {16, 0}).status == MORELLO_OK);
  CHECK(checked(halves, {0, 15}).status == MORELLO_INVALID_ARGUMENT);
  const char* packed = "matmul f32[4,8] f32[8,16]{*} -> f32[4,16]";
  CHECK(checked(packed, {1000, 0, 2000}).status == MORELLO_OK);
  CHECK(contains(checked(packed, {1000, 0, 100}).message, "operand 1 (input 1)"));
}

TEST_CASE("scratch is the caller's, of the size asked for, or the library's") {
  if (!can_run()) return;
  const Made made("matmul f32[32,64]{0,1} f32[64,48]{0,1} -> f32[32,48]");
  const morello_kernel* k = made.kernel.get();
  const size_t size = morello_kernel_scratch_size(k);
  REQUIRE(size > 0);  // the inputs are relaid; else this test needs another Spec
  const size_t alignment = morello_kernel_scratch_alignment(k);
  std::vector<unsigned char> memory(size + 3 * alignment, 0xa5);
  void* at = memory.data() + alignment;
  size_t left = memory.size() - alignment;
  auto* scratch = static_cast<unsigned char*>(std::align(alignment, size + 1, at, left));
  Buffers buffers(made.spec.get(), k, 8);
  REQUIRE(morello_kernel_run(k, buffers.operands(), scratch, nullptr) == MORELLO_OK);
  CHECK(buffers.error() <= kTolerance);
  const auto kept = [](unsigned char c) { return c == 0xa5; };
  CHECK(std::all_of(memory.data(), scratch, kept));
  CHECK(std::all_of(scratch + size, memory.data() + memory.size(), kept));
  CHECK(!std::all_of(scratch, scratch + size, kept));
  const std::vector<float> result = buffers.output();
  std::fill(buffers.output().begin(), buffers.output().end(), NAN);
  REQUIRE(run(k, buffers) == MORELLO_OK);
  CHECK(buffers.output() == result);
  morello_error* err = nullptr;
  CHECK(morello_kernel_run_checked(k, buffers.operands(), buffers.bytes(), 3, scratch, size - 1,
                                   nullptr, &err) == MORELLO_OPERAND_TOO_SMALL);
  const ErrorPtr own(err);
  CHECK(contains(morello_error_message(err), "scratch"));
  CHECK(contains(morello_error_message(err), std::to_string(size)));
}

TEST_CASE("operands whose layout was free are packed by the kernel") {
  if (!can_run()) return;
  for (const char* text : {"matmul f32[6,37] f32[37,50]{*} -> f32[6,50]",
                           "matmul f32[6,37]{*} f32[37,50]{*} -> f32[6,50]",
                           "matmul f32[30,40]{*} f32[40,64] + f32[64] -> f32[30,64]",
                           // Of weights without those that padding leaves nothing to do.
                           "conv2d f32[2,5,1,7] f32[9,5,3,3]{*} padding=1",
                           "conv2d f32[1,1,2,24] f32[5,3,24,17]{*} nhwc padding=2,1",
                           "conv2d f32[1,1,1,1] f32[7,1,3,3]{*} padding=1",
                           "conv2d f32[1,64,1,1] f32[32,64,3,3]{*} padding=1",
                           "conv2d f32[1,1,1,24] f32[3,1,24,17]{*} nhwc padding=1,0",
                           "conv2d f32[2,5,6,7] f32[9,5,1,1]{*} padding=1"}) {
    INFO(std::string(text));
    const Made made(text);
    Buffers buffers(made.spec.get(), made.kernel.get(), 4);
    CHECK(run(made.kernel.get(), buffers) == MORELLO_OK);
    CHECK(buffers.error() <= kTolerance);
  }
}

TEST_CASE("packing an operand whose layout was given writes that layout") {
  if (!can_run()) return;
  const Made made("move f32[2,3]{0,1} -> f32[2,3]");
  const float source[] = {1, 2, 3, 4, 5, 6};
  float packed[6] = {};
  REQUIRE(morello_kernel_pack(made.kernel.get(), 0, source, packed) == MORELLO_OK);
  CHECK(std::vector<float>(packed, packed + 6) == std::vector<float>{1, 4, 2, 5, 3, 6});
  const morello_kernel* k = made.kernel.get();
  CHECK(morello_kernel_pack(k, 2, source, packed) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_pack(k, ~uint32_t{0}, source, packed) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_pack(nullptr, 0, source, packed) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_pack(k, 0, nullptr, packed) == MORELLO_NULL_OPERAND);
  CHECK(morello_kernel_pack(k, 0, source, nullptr) == MORELLO_NULL_OPERAND);
  CHECK(morello_kernel_pack(k, 0, reinterpret_cast<const char*>(source) + 1, packed) ==
        MORELLO_MISALIGNED);
}

TEST_CASE("one kernel runs on four threads at once") {
  if (!can_run()) return;
  const Made made("matmul f32[33,65] f32[65,47]{*} + f32[47] -> relu -> f32[33,47]");
  Buffers alone(made.spec.get(), made.kernel.get(), 5);
  REQUIRE(run(made.kernel.get(), alone) == MORELLO_OK);
  REQUIRE(alone.error() <= kTolerance);
  std::vector<Buffers> own;
  for (int t = 0; t < 4; t++) own.emplace_back(made.spec.get(), made.kernel.get(), 5);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      const KernelPtr mine(morello_kernel_retain(made.kernel.get()));
      for (int round = 0; round < 100; round++) {
        std::fill(own[t].output().begin(), own[t].output().end(), NAN);
        failures += run(mine.get(), own[t]) != MORELLO_OK;
        failures += own[t].output() != alone.output();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("a parallel kernel on a pool, on an executor of the host's, and on one thread") {
  if (!can_run()) return;
  const Made made("relu f32[1024,2048] -> f32[1024,2048]", 4);
  const morello_kernel* k = made.kernel.get();
  CHECK(contains(text_of(morello_kernel_print, k), "parallel"));
  Buffers buffers(made.spec.get(), k, 6);
  const auto clear = [&] { std::fill(buffers.output().begin(), buffers.output().end(), NAN); };
  clear();
  REQUIRE(run(k, buffers) == MORELLO_OK);
  REQUIRE(buffers.error() == 0);
  morello_pool* made_pool = nullptr;
  REQUIRE(morello_pool_create(3, &made_pool, nullptr) == MORELLO_OK);
  const PoolPtr pool(made_pool);
  for (int round = 0; round < 20; round++) {
    clear();
    REQUIRE(morello_kernel_run(k, buffers.operands(), nullptr, morello_pool_executor(made_pool)) ==
            MORELLO_OK);
    REQUIRE(buffers.error() == 0);
  }
  struct Count {
    size_t loops = 0, most = 0;
  } count;
  const morello_executor backwards{
      sizeof(backwards), &count,
      [](void* user, size_t n, void (*fn)(void* arg, size_t index), void* arg) {
        Count& c = *static_cast<Count*>(user);
        c.loops++;
        c.most = std::max(c.most, n);
        while (n-- > 0) fn(arg, n);
      }};
  clear();
  REQUIRE(morello_kernel_run(k, buffers.operands(), nullptr, &backwards) == MORELLO_OK);
  CHECK(buffers.error() == 0);
  CHECK(count.loops >= 1);
  CHECK(count.most <= 4);
}

TEST_CASE("kernels outlive their Spec and context, and the last owner releases them") {
  if (!can_run()) return;
  Made made("relu f32[16] -> f32[16]");
  Buffers buffers(made.spec.get(), made.kernel.get(), 7);
  const KernelPtr second(morello_kernel_retain(made.kernel.get()));
  made.kernel.reset();
  made.context.reset();
  CHECK(run(second.get(), buffers) == MORELLO_OK);
  CHECK(buffers.error() == 0);
  CHECK(morello_kernel_retain(nullptr) == nullptr);
  morello_kernel_release(nullptr);
}

TEST_CASE("asking nothing gives nothing") {
  CHECK(!morello_kernel_function(nullptr));
  CHECK(morello_kernel_operand_count(nullptr) == 0);
  CHECK(morello_kernel_operand_size(nullptr, 0) == 0);
  CHECK(morello_kernel_scratch_size(nullptr) == 0);
  CHECK(morello_kernel_print(nullptr, nullptr, 0) == 0);
  CHECK(std::string(morello_kernel_name(nullptr)).empty());
  size_t size = 1;
  CHECK(morello_kernel_code(nullptr, &size) == nullptr);
  CHECK(size == 0);
}

TEST_SUITE_END();

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
// The stack that morello.h says is enough: everything runs on threads that have no more.
#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../support/folder.hh"
#include "../support/sanitized.hh"
#include "buffers.hh"

namespace morello::testing {
namespace {

#if defined(__OPTIMIZE__)
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif

constexpr size_t kEnough = size_t{96} << 10;  // as morello.h says
constexpr unsigned char kPaint = 0xc5;

/// Runs `body` on a thread with a stack of `kEnough` bytes over a page that may not be touched.
/// Returns how many bytes of it were used.
template <class Body>
size_t stack_used_by(Body& body) {
  const size_t guard = 4096;
  void* map = mmap(nullptr, guard + kEnough, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(map != MAP_FAILED);
  auto* stack = static_cast<unsigned char*>(map) + guard;
  REQUIRE(mprotect(stack, kEnough, PROT_READ | PROT_WRITE) == 0);
  std::memset(stack, kPaint, kEnough);
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstack(&attributes, stack, kEnough) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* arg) -> void* {
                (*static_cast<Body*>(arg))();
                return nullptr;
              },
              &body) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  size_t untouched = 0;
  while (untouched < kEnough && stack[untouched] == kPaint) untouched++;
  munmap(map, guard + kEnough);
  pthread_attr_destroy(&attributes);
  return kEnough - untouched;
}

/// Context, parse, search, code, one run, and the texts, by the C interface alone: assertions of
/// the test framework would take a stack of their own.
struct Life {
  std::string text;
  morello_options options = default_options();
  std::vector<std::vector<float>> memory;
  morello_status status = MORELLO_INTERNAL;

  void operator()() {
    morello_context* context = nullptr;
    morello_spec* spec = nullptr;
    morello_kernel* kernel = nullptr;
    status = morello_context_create(nullptr, &context, nullptr);
    if (status == MORELLO_OK) status = morello_spec_parse(context, text.c_str(), &spec, nullptr);
    if (status == MORELLO_OK)
      status = morello_synthesize(context, spec, &options, &kernel, nullptr);
    if (status == MORELLO_OK && options.search_only == 0) {
      void* operands[MORELLO_MAX_OPERANDS];
      for (uint32_t i = 0; i < morello_kernel_operand_count(kernel); i++) {
        memory.emplace_back(morello_kernel_operand_size(kernel, i) / sizeof(float));
        operands[i] = memory.back().data();
      }
      status = morello_kernel_run(kernel, operands, nullptr, nullptr);
      if (status == MORELLO_OK && morello_spec_flops(spec) < 1e6)
        status = morello_spec_evaluate(spec, operands, nullptr);
    }
    morello_kernel_release(kernel);
    morello_spec_release(spec);
    morello_context_release(context);
  }
};

/// The same of a table: made, loaded, used, verified, merged, dumped, drawn and written.
struct TableLife {
  std::string path;
  morello_status status = MORELLO_INTERNAL;

  void operator()() {
    const char* families[] = {"matmul f32[<=6,8] f32[8,<=20] + f32[<=20] -> relu", "relu f32[<=9]"};
    morello_context* context = nullptr;
    morello_table *table = nullptr, *merged = nullptr;
    morello_table_verification found;
    size_t length = 0;
    const auto step = [&](morello_status next) {
      if (status == MORELLO_OK) status = next;
    };
    status = morello_context_create(nullptr, &context, nullptr);
    step(morello_precompute(context, families, 2, path.c_str(), nullptr, nullptr));
    step(morello_table_load(context, path.c_str(), &table, nullptr));
    step(morello_table_verify(table, 20, 1, &found, sizeof(found), nullptr));
    step(morello_table_merge(table, table, &merged, nullptr));
    step(morello_table_save(merged, path.c_str(), nullptr));
    step(morello_table_plot(merged, -1, nullptr, nullptr, nullptr, 0, &length, nullptr));
    if (status == MORELLO_OK && morello_table_dump(merged, 1, nullptr, 0) == 0)
      status = MORELLO_OUT_OF_MEMORY;
    morello_table_release(table);
    morello_table_release(merged);
    morello_context_release(context);
  }
};

/// The same of a stored kernel: in a cache, from it, in a file, and in memory.
struct StoredLife {
  std::string folder;
  morello_status status = MORELLO_INTERNAL;

  void operator()() {
    const std::string cache = folder + "/cache", path = folder + "/k.mkrn";
    morello_context_options options;
    morello_context_options_init(&options, sizeof(options));
    options.cache_directory = cache.c_str();
    morello_context* context = nullptr;
    morello_spec* spec = nullptr;
    morello_kernel* kernel[4] = {};
    size_t length = 0;
    const auto step = [&](morello_status next) {
      if (status == MORELLO_OK) status = next;
    };
    status = morello_context_create(&options, &context, nullptr);
    step(morello_spec_parse(context, "matmul f32[9,7] f32[7,33]{*} -> f32[9,33]", &spec, nullptr));
    for (int i = 0; i < 2; i++)
      step(morello_synthesize(context, spec, nullptr, &kernel[i], nullptr));
    step(morello_kernel_save(kernel[1], path.c_str(), nullptr));
    step(morello_kernel_load(context, path.c_str(), &kernel[2], nullptr));
    step(morello_kernel_save_memory(kernel[2], nullptr, 0, &length, nullptr));
    std::vector<char> bytes(length);
    step(morello_kernel_save_memory(kernel[2], bytes.data(), length, &length, nullptr));
    step(morello_kernel_load_memory(context, bytes.data(), length, &kernel[3], nullptr));
    for (morello_kernel* k : kernel) morello_kernel_release(k);
    morello_spec_release(spec);
    morello_context_release(context);
  }
};

constexpr const char* kSpecs[] = {
    "fill 0 -> f32[7]",
    "relu f32[64,33] -> f32[64,33]",
    "reduce_max f32[1000,77] axis=1 -> f32[1000]",
    "transpose f32[2,3,50,70] perm=3,1,2,0 -> f32[70,3,50,2]",
    "matmul f32[17,31] f32[31,47] -> f32[17,47]",
    "matmul f32[100,100]{0,1} f32[100,100]{*} -> f32[100,100]{0,1}",
    "matmul f32[2,3,24,40] f32[2,3,40,56] + f32[56] -> relu -> f32[2,3,24,56]",
    "matmul f32[1,2048] f32[2048,4096] -> f32[1,4096]",
    "matmul f32[512,512] f32[512,512] -> f32[512,512]",
    "einsum \"abij,bcjk->acik\" f32[3,4,9,10] f32[4,5,10,11] -> f32[3,5,9,11]",
    "matmul f32[2,2,2,2,20,30] f32[2,2,2,2,30,40] + f32[40] -> relu -> neg -> f32[2,2,2,2,20,40]",
    "einsum \"abcij,bacjk->bcaki\" f32[3,4,5,9,8] f32[4,3,5,8,7] + f32[9] -> f32[4,5,3,7,9]",
    "matmul f32[4096,4096] f32[4096,4096] -> f32[4096,4096]",
};

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("synthesis and kernels need no more stack than the header says") {
  if (kSanitized || !kOptimized) {
    MESSAGE("skipped: frames are larger than in a release, by a sanitizer or -O0");
    return;
  }
  size_t most = 0;
  std::string of;
  // Programs for AVX2 are nested most, and every CPU has it.
  const auto try_out = [&](const char* text, int32_t target) {
    CAPTURE(text);
    Life life{text, default_options(), {}, MORELLO_INTERNAL};
    const bool huge = contains(text, "4096,4096] f");
    life.options.search_only = huge;
    life.options.target = target;
    life.options.threads = huge ? 4 : 1;
    const size_t used = stack_used_by(life);
    REQUIRE_MESSAGE(life.status == MORELLO_OK, morello_status_string(life.status));
    if (used > most) of = text;
    most = std::max(most, used);
    if (std::getenv("MORELLO_TEST_VERBOSE") != nullptr)
      MESSAGE(used << " bytes: " << std::string(text));
  };
  for (const char* text : kSpecs)
    for (const int32_t target : {MORELLO_ISA_AVX2, MORELLO_ISA_AUTO}) try_out(text, target);
  // The rest is for what one Spec of another shape, compiler or C library takes more.
  CAPTURE(of);
  CHECK(most <= kEnough * 7 / 8);
}

TEST_CASE("nor do tables") {
  if (kSanitized || !kOptimized) {
    MESSAGE("skipped: frames are larger than in a release, by a sanitizer or -O0");
    return;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "morello-stack-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  TableLife life{folder + "/t.mtab", MORELLO_INTERNAL};
  const size_t used = stack_used_by(life);
  std::filesystem::remove_all(folder);
  REQUIRE_MESSAGE(life.status == MORELLO_OK, morello_status_string(life.status));
  if (std::getenv("MORELLO_TEST_VERBOSE") != nullptr) MESSAGE(used << " bytes: a table");
  CHECK(used <= kEnough * 7 / 8);
}

TEST_CASE("nor do stored kernels") {
  if (kSanitized || !kOptimized) {
    MESSAGE("skipped: frames are larger than in a release, by a sanitizer or -O0");
    return;
  }
  const Folder folder;
  StoredLife life{folder / "", MORELLO_INTERNAL};
  const size_t used = stack_used_by(life);
  REQUIRE_MESSAGE(life.status == MORELLO_OK, morello_status_string(life.status));
  CHECK(used <= kEnough * 7 / 8);
}

TEST_SUITE_END();

}  // namespace morello::testing

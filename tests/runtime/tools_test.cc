// SPDX-License-Identifier: MIT
// What debuggers, profilers and unwinders are told of kernels, as far as a process can see it
// itself; debuggers.py asks gdb and perf.
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "../capi/handles.hh"
#include "../support/folder.hh"
#include "runtime/tools.hh"

namespace morello::testing {
namespace {

/// Large enough that two threads are worth their start.
constexpr int kSize = 200;
constexpr const char* kSpec = "matmul f32[200,200] f32[200,200] + bias f32[200] -> f32[200,200]";

ContextPtr context_with(const char* tools) {
  return make<ContextPtr>([&](morello_context** c, morello_error** e) {
    morello_context_options options;
    morello_context_options_init(&options, sizeof options);
    options.tools = tools;
    return morello_context_create(&options, c, e);
  });
}

KernelPtr kernel_in(const morello_context* context, uint32_t threads = 1) {
  const SpecPtr spec = make<SpecPtr>([&](morello_spec** s, morello_error** e) {
    return morello_spec_parse(context, kSpec, s, e);
  });
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.threads = threads;
  options.effort = MORELLO_EFFORT_QUICK;  // exactly, it takes minutes in sanitizers
  return make<KernelPtr>([&](morello_kernel** k, morello_error** e) {
    return morello_synthesize(context, spec.get(), &options, k, e);
  });
}

struct Seen {
  void* frames[64];
  int count = 0;
};

/// An executor that looks up its own stack.
void look(void* user, size_t count, void (*fn)(void*, size_t), void* arg) {
  Seen& seen = *static_cast<Seen*>(user);
  seen.count = backtrace(seen.frames, 64);
  for (size_t i = 0; i < count; i++) fn(arg, i);
}

// The sanitizers unwind by their own means: see below.

/// How many frames are above the kernel's: -1, if the kernel is not among them.
[[maybe_unused]] int frames_above(const Seen& seen, const morello_kernel* kernel) {
  size_t size = 0;
  const uint8_t* code = morello_kernel_code(kernel, &size);
  for (int i = 0; i < seen.count; i++)
    if (seen.frames[i] >= code && seen.frames[i] < code + size) return seen.count - i - 1;
  return -1;
}

[[maybe_unused]] Seen backtrace_below(const morello_kernel* kernel) {
  std::vector<float> a(kSize * kSize), b(kSize * kSize), bias(kSize), out(kSize * kSize);
  void* operands[] = {a.data(), b.data(), bias.data(), out.data()};
  Seen seen;
  const morello_executor executor = {sizeof executor, &seen, look};
  REQUIRE(morello_kernel_run(kernel, operands, nullptr, &executor) == MORELLO_OK);
  REQUIRE(seen.count > 0);
  return seen;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("names of tools") {
  CHECK(*parse_tools("") == 0);
  CHECK(*parse_tools("gdb") == kToolGdb);
  CHECK(*parse_tools("map,gdb") == (kToolGdb | kToolPerfMap));
  CHECK(*parse_tools("unwind,jitdump,unwind") == (kToolUnwind | kToolJitdump));
  for (const char* bad : {"GDB", "gdb, map", " ", ",", "gdb,,map", "maps"}) {
    const Result<u32> result = parse_tools(bad);
    REQUIRE(!result);
    CHECK(contains(result.error().message, "gdb, unwind, map, jitdump"));
  }
  const Failure failure = fail<morello_context>([](morello_context** c, morello_error** e) {
    morello_context_options options;
    morello_context_options_init(&options, sizeof options);
    options.tools = "oprofile";
    return morello_context_create(&options, c, e);
  });
  CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(failure.message, "options.tools: 'oprofile'"));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("an unwinder that is told finds the way through a kernel") {
  const ContextPtr told = context_with("unwind"), untold = context_with("");
  const KernelPtr whole = kernel_in(told.get(), 4), cut = kernel_in(untold.get(), 4);
  CHECK(frames_above(backtrace_below(whole.get()), whole.get()) >= 3);  // run, this test, main
  CHECK(frames_above(backtrace_below(cut.get()), cut.get()) <= 0);
}
#endif

TEST_CASE("kernels come and go in many threads, and tools are told") {
  const ContextPtr context = context_with("gdb,unwind");
  std::vector<std::thread> threads;
  const KernelPtr kept = kernel_in(context.get());
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; i++) {
        size_t size = 0;
        morello_kernel* kernel = nullptr;
        if (morello_kernel_save_memory(kept.get(), nullptr, 0, &size, nullptr) != MORELLO_OK)
          std::abort();
        std::vector<char> bytes(size);
        morello_kernel_save_memory(kept.get(), bytes.data(), size, &size, nullptr);
        if (morello_kernel_load_memory(context.get(), bytes.data(), size, &kernel, nullptr) !=
            MORELLO_OK)
          std::abort();
        morello_kernel_release(kernel);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST_CASE("a map for perf") {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const KernelPtr kernel = kernel_in(context_with("map").get());
  const std::string lines = text_of_file(path);
  std::remove(path.c_str());
  size_t size = 0;
  char address[32];
  std::snprintf(address, sizeof address, "%zx ",
                reinterpret_cast<size_t>(morello_kernel_code(kernel.get(), &size)));
  CHECK(contains(lines, address));
  CHECK(contains(lines, std::string(" ") + morello_kernel_name(kernel.get()) + "\n"));
}

TEST_CASE("a map for perf that is somebody's link is left alone") {
  Folder folder;
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const std::string target = folder / "precious";
  std::ofstream(target) << "precious";
  REQUIRE(symlink(target.c_str(), path.c_str()) == 0);
  static std::string logged;
  logged.clear();
  morello_context_options options;
  morello_context_options_init(&options, sizeof options);
  options.tools = "map";
  options.log = [](void*, int32_t level, const char* message) {
    logged = std::to_string(level) + message;
  };
  const ContextPtr context = make<ContextPtr>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&options, c, e);
  });
  kernel_in(context.get());
  std::remove(path.c_str());
  CHECK(text_of_file(target) == "precious");
  CHECK(contains(logged, "1tools: " + path));
}

TEST_CASE("a dump for perf has the code") {
  Folder folder;
  setenv("JITDUMPDIR", (folder / "").c_str(), 1);
  const ContextPtr context = context_with("jitdump");
  const KernelPtr first = kernel_in(context.get()), second = kernel_in(context.get());
  unsetenv("JITDUMPDIR");
  const std::string dump = text_of_file(folder / ("jit-" + std::to_string(getpid()) + ".dump"));
  REQUIRE(dump.size() > 40);
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, dump.data() + at, sizeof value);
    return value;
  };
  CHECK(word(0) == 0x4a695444);
  CHECK(word(20) == static_cast<uint32_t>(getpid()));
  size_t at = word(8), entries = 0;
  const std::string name = morello_kernel_name(first.get());
  for (; at + 56 < dump.size(); at += word(at + 4)) {
    CHECK(word(at) == 0);
    const std::string called = dump.c_str() + at + 56;
    CHECK(word(at + 4) == 56 + called.size() + 1 + word(at + 40));
    entries += called == name;
  }
  CHECK(at == dump.size());
  CHECK(entries == 2);
}

TEST_SUITE_END();

}  // namespace morello::testing

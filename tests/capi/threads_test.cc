// SPDX-License-Identifier: MIT
// One context in many threads at once: whatever takes it, with a cache directory that they share.
// What must not be shared is for the thread sanitizer to see.
#include <atomic>
#include <thread>

#include "../support/folder.hh"
#include "handles.hh"

namespace morello::testing {
namespace {

constexpr int kThreads = 4;

/// Everything that a thread does with a context; "" or what went wrong. Assertions of the test
/// framework are for one thread.
std::string use(const morello_context* context, int thread, std::string& code) {
  const std::string size = std::to_string(3 + thread % 2);  // two threads want the same at once
  const std::string text = "matmul f32[" + size + ",5] f32[5,7]{*} -> relu -> f32[" + size + ",7]";
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, nullptr) != MORELLO_OK) return "parse";
  const SpecPtr own_spec(spec);
  morello_graph* graph = nullptr;
  if (morello_graph_create(context, &graph, nullptr) != MORELLO_OK) return "graph";
  morello_graph_release(graph);

  morello_options options;
  morello_options_init(&options, sizeof options);
  options.code_only = 1;
  options.target = MORELLO_ISA_AVX2;
  const char* const family = "relu f32[<=4]";
  morello_precompute_options solving;
  morello_precompute_options_init(&solving, sizeof solving);
  solving.target = MORELLO_ISA_AVX2;
  solving.workers = 2;
  morello_table* table = nullptr;
  if (morello_precompute_table(context, &family, 1, nullptr, &solving, &table, nullptr) !=
      MORELLO_OK)
    return "precompute";
  const TablePtr own_table(table);
  options.table = table;
  morello_kernel* kernel = nullptr;
  if (morello_synthesize(context, spec, &options, &kernel, nullptr) != MORELLO_OK)
    return "synthesize";
  const KernelPtr own_kernel(kernel);
  size_t bytes = 0;
  const uint8_t* begin = morello_kernel_code(kernel, &bytes);
  code.assign(reinterpret_cast<const char*>(begin), bytes);
  return code.empty() ? "no code" : "";
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("one context in many threads at once") {
  Folder folder;
  const std::string cache = folder / "kernels";
  static std::atomic<int> logged;
  morello_context_options options;
  morello_context_options_init(&options, sizeof options);
  options.cache_directory = cache.c_str();
  options.cache_bytes = 20000;  // so little that kernels come and go meanwhile
  options.log = [](void*, int32_t, const char*) { logged++; };
  const ContextPtr context = make<ContextPtr>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&options, c, e);
  });
  std::string problem[kThreads], code[kThreads];
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3 && problem[i].empty(); round++)
        problem[i] = use(context.get(), i, code[i]);
    });
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < kThreads; i++) {
    CHECK(problem[i] == "");
    CHECK(code[i] == code[i % 2]);
  }
  CHECK(code[0] != code[1]);
}

TEST_SUITE_END();

}  // namespace morello::testing

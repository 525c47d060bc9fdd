// SPDX-License-Identifier: MIT
// Scenarios: synthesis in every manner, and kernels that run.
#include <cmath>

#include "world.hh"

namespace morello::testing {
namespace {

using E = morello_error**;

constexpr const char* kSmall = "relu f32[3] -> f32[3]";
constexpr const char* kMatmul = "matmul f32[4,5] f32[5,6] + f32[6] -> relu -> f32[4,6]";
constexpr const char* kFree = "matmul f32[4,5] f32[5,20]{*} -> f32[4,20]";
constexpr const char* kNarrow = "matmul bf16[4,5] bf16[5,9] -> f32[4,9]";
constexpr const char* kTall = "matmul f32[40,7] f32[7,9] -> f32[40,9]";
constexpr const char* kScratch = "einsum \"mk,kn->nm\" f32[9,7] f32[7,33] -> f32[33,9]";

void count_call(void* user, const morello_progress*) { ++*static_cast<int*>(user); }

/// A kernel of `text`. It must be the one of the defaults, but for what a budget may change; and
/// right.
Scenario synthesis(const std::string& name, const char* text,
                   std::function<void(morello_options&)> set, bool same = true) {
  morello_options options = default_options();
  set(options);
  const morello_spec* const spec = spec_of(text);
  Scenario s = making<morello_kernel>(
      "synthesize: " + name, {"morello_synthesize"},
      [=](morello_kernel** k, E e) { return morello_synthesize(context(), spec, &options, k, e); },
      morello_kernel_release,
      [=](const morello_kernel* kernel) -> std::string {
        if (same && options.search_only == 0 && options.threads == 1 &&
            description_of(kernel) != description_of(kernel_of(text)))
          return "another kernel";
        const bool runs = options.search_only == 0 && options.code_only == 0;
        return runs ? wrong_result(spec, kernel) : "";
      });
  kernel_of(text);
  return s;
}

/// Buffers for a run of `text`, and its reference.
struct Run {
  const morello_spec* spec;
  const morello_kernel* kernel;
  std::vector<std::vector<float>> memory;
  std::vector<void*> operands;
  std::vector<size_t> bytes;
  std::vector<float> reference;

  explicit Run(const char* text) : spec(spec_of(text)), kernel(kernel_of(text)) {
    for (uint32_t i = 0; i < morello_kernel_operand_count(kernel); i++) {
      bytes.push_back(morello_kernel_operand_size(kernel, i));
      memory.emplace_back(floats_for(bytes.back()));
      for (size_t v = 0; v < memory.back().size(); v++)
        memory.back()[v] = static_cast<float>(v % 7) - 3;
    }
    for (std::vector<float>& m : memory) operands.push_back(m.data());
    need(morello_spec_evaluate(spec, operands.data(), nullptr) == MORELLO_OK, text);
    reference = memory.back();
  }
  void clear() { memory.back().assign(memory.back().size(), NAN); }
  std::string check() const { return memory.back() == reference ? "" : "a wrong result"; }
};

Scenario running(const std::string& name, const char* function, const char* text,
                 std::function<morello_status(Run&, E)> call) {
  auto run = std::make_shared<Run>(text);
  Scenario s;
  s.name = name;
  s.functions = {function};
  s.begin = [=] { run->clear(); };
  s.call = [=](E e) { return call(*run, e); };
  s.check = [=] { return run->check(); };
  return s;
}

void serial_for(void*, size_t count, void (*fn)(void*, size_t), void* arg) {
  for (size_t i = 0; i < count; i++) fn(arg, i);
}

}  // namespace

std::vector<Scenario> kernel_scenarios() {
  using O = morello_options;
  static int progress_calls = 0;
  static const int32_t cancel = 1;
  std::vector<Scenario> all;
  all.push_back(synthesis("defaults", kMatmul, [](O&) {}));
  all.push_back(synthesis("small", kSmall, [](O&) {}));
  all.push_back(synthesis("free layout", kFree, [](O&) {}));
  all.push_back(synthesis("code_only", kMatmul, [](O& o) { o.code_only = 1; }));
  all.push_back(synthesis("code_only, free layout", kFree, [](O& o) { o.code_only = 1; }));
  all.push_back(synthesis("search_only", kMatmul, [](O& o) { o.search_only = 1; }));
  all.push_back(synthesis("parallel kernel", kTall, [](O& o) { o.threads = 4; }));
  all.push_back(synthesis("4 threads", kTall, [](O& o) { o.search_threads = 4; }));
  all.push_back(synthesis("4 threads, free layout", kFree, [](O& o) { o.search_threads = 4; }));
  all.push_back(synthesis("4 threads, bf16", kNarrow, [](O& o) { o.search_threads = 4; }));
  all.push_back(synthesis(
      "memory budget", kMatmul, [](O& o) { o.memory_budget = 1; }, false));
  all.push_back(synthesis(
      "time budget", kTall, [](O& o) { o.time_budget = 1; }, false));
  all.push_back(synthesis(
      "4 threads, time budget", kTall,
      [](O& o) {
        o.time_budget = 1;
        o.search_threads = 4;
      },
      false));
  all.push_back(synthesis("progress", kMatmul, [](O& o) {
    o.progress = count_call;
    o.progress_user = &progress_calls;
    o.progress_interval = 0;
  }));
  all.push_back(synthesis("4 threads, progress", kTall, [](O& o) {
    o.progress = count_call;
    o.progress_user = &progress_calls;
    o.progress_interval = 0;
    o.search_threads = 4;
  }));
  morello_table* const table = table_of({kMatmul, "relu f32[<=4]", kFree});
  all.push_back(synthesis("table that covers", kMatmul, [=](O& o) { o.table = table; }));
  all.push_back(synthesis("table, free layout", kFree, [=](O& o) { o.table = table; }));
  all.push_back(synthesis("table that does not cover", kTall, [=](O& o) { o.table = table; }));
  Scenario cancelled = synthesis("cancelled", kMatmul, [](O& o) { o.cancel = &cancel; });
  cancelled.expected = MORELLO_CANCELLED;
  cancelled.check = cancelled.check_failed;
  all.push_back(cancelled);
  Scenario invalid = synthesis("bad options", kMatmul, [](O& o) { o.target = 77; });
  invalid.expected = MORELLO_INVALID_ARGUMENT;
  invalid.check = invalid.check_failed;
  all.push_back(invalid);

  need(morello_kernel_scratch_size(kernel_of(kScratch)) > 0, "a kernel with scratch");
  Scenario run = running("morello_kernel_run", "morello_kernel_run", kScratch, [](Run& r, E) {
    return morello_kernel_run(r.kernel, r.operands.data(), nullptr, nullptr);
  });
  all.push_back(run);
  all.push_back(
      running("morello_kernel_run, bad executor", "morello_kernel_run", kMatmul, [](Run& r, E) {
        const morello_executor bad = {sizeof bad, nullptr, nullptr};
        return morello_kernel_run(r.kernel, r.operands.data(), nullptr, &bad);
      }));
  all.back().expected = MORELLO_INVALID_ARGUMENT;
  all.back().check = [] { return std::string(); };
  all.push_back(running(
      "morello_kernel_run_checked", "morello_kernel_run_checked", kScratch, [](Run& r, E e) {
        const morello_executor serial = {sizeof serial, nullptr, serial_for};
        return morello_kernel_run_checked(r.kernel, r.operands.data(), r.bytes.data(),
                                          static_cast<uint32_t>(r.bytes.size()), nullptr, 0,
                                          &serial, e);
      }));
  all.push_back(running("morello_kernel_run_checked, too small", "morello_kernel_run_checked",
                        kMatmul, [](Run& r, E e) {
                          std::vector<size_t>& bytes = r.bytes;
                          bytes[1] = 3;
                          return morello_kernel_run_checked(
                              r.kernel, r.operands.data(), bytes.data(),
                              static_cast<uint32_t>(bytes.size()), nullptr, 0, nullptr, e);
                        }));
  all.back().expected = MORELLO_OPERAND_TOO_SMALL;
  all.back().check = [] { return std::string(); };
  all.push_back(running("morello_spec_evaluate", "morello_spec_evaluate", kMatmul, [](Run& r, E e) {
    return morello_spec_evaluate(r.spec, r.operands.data(), e);
  }));
  all.back().allocates = false;
  all.push_back(
      running("morello_spec_evaluate, NULL", "morello_spec_evaluate", kMatmul, [](Run& r, E e) {
        void* const none[] = {nullptr, nullptr, nullptr, nullptr};
        return morello_spec_evaluate(r.spec, none, e);
      }));
  all.back().expected = MORELLO_NULL_OPERAND;
  all.back().check = [] { return std::string(); };

  all.push_back(
      running("morello_spec_evaluate_at", "morello_spec_evaluate_at", kMatmul, [](Run& r, E e) {
        const int64_t elements[] = {0, 3};
        double values[2];
        return morello_spec_evaluate_at(r.spec, r.operands.data(), elements, 2, values, e);
      }));
  all.back().allocates = false;
  all.back().check = [] { return std::string(); };

  all.push_back(running("morello_spec_evaluate_output_at", "morello_spec_evaluate_output_at",
                        kMatmul, [](Run& r, E e) {
                          const int64_t elements[] = {0, 3};
                          double values[2];
                          return morello_spec_evaluate_output_at(r.spec, 0, r.operands.data(),
                                                                 elements, 2, values, e);
                        }));
  all.back().allocates = false;
  all.back().check = [] { return std::string(); };

  Scenario pack;
  pack.name = "morello_kernel_pack";
  pack.functions = {"morello_kernel_pack"};
  pack.call = [](E) {
    static float from[5 * 20], to[5 * 64];
    static const morello_kernel* const kernel = kernel_of(kFree);
    return morello_kernel_operand_size(kernel, 1) <= sizeof to
               ? morello_kernel_pack(kernel, 1, from, to)
               : MORELLO_INTERNAL;
  };
  need(pack.call(nullptr) == MORELLO_OK, "packing");
  pack.allocates = false;
  all.push_back(pack);

  Scenario explaining;
  explaining.name = "morello_kernel_explain";
  explaining.functions = {"morello_kernel_explain"};
  explaining.call = [](E) {
    static const morello_kernel* const kernel = kernel_of(kMatmul);
    const size_t size = morello_kernel_explain(kernel, nullptr, 0);
    return size > 0 ? MORELLO_OK : MORELLO_OUT_OF_MEMORY;
  };
  need(explaining.call(nullptr) == MORELLO_OK, "explaining");
  all.push_back(explaining);

  const morello_spec* const free_spec = spec_of(kFree);
  all.push_back(making<morello_kernel>(
      "a kernel that tools are told of", {"morello_synthesize", "morello_context_create"},
      [free_spec](morello_kernel** k, E e) {
        morello_context_options options;
        morello_context_options_init(&options, sizeof options);
        options.tools = "gdb,unwind";
        morello_context* told = nullptr;
        morello_status status = morello_context_create(&options, &told, e);
        if (status == MORELLO_OK) status = morello_synthesize(told, free_spec, nullptr, k, e);
        morello_context_release(told);
        return status;
      },
      morello_kernel_release));

  Scenario pool = making<morello_pool>(
      "morello_pool_create",
      {"morello_pool_create", "morello_pool_executor", "morello_pool_release"},
      [](morello_pool** p, E e) { return morello_pool_create(4, p, e); }, morello_pool_release,
      [](const morello_pool* p) {
        Run r(kMatmul);
        r.clear();
        need(morello_kernel_run(r.kernel, r.operands.data(), nullptr, morello_pool_executor(p)) ==
                 MORELLO_OK,
             "run on a pool");
        return r.check();
      });
  all.push_back(pool);
  return all;
}

}  // namespace morello::testing

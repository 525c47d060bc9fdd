// SPDX-License-Identifier: MIT
// bench-search: how long synthesis takes from an empty memo, and what the search did.
#include <algorithm>
#include <cstdio>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "handles.hh"
#include "nlohmann/json.hpp"
#include "problem.hh"

namespace morello::bench {
namespace {

struct Outcome {
  morello_search_stats stats = {};  // of the fastest repetition
  uint64_t slowest_microseconds = 0;
  double cost = 0;
  std::string problem;
};

/// One search in a context of its own, so that nothing is known before it.
std::string synthesize(const std::string& text, int32_t isa, bool search_only, double budget,
                       tools::KernelPtr* kernel) {
  morello_error* error = nullptr;
  const auto failed = [&] {
    const tools::ErrorPtr owner(error);
    return std::string(morello_error_message(owner.get()));
  };
  morello_context* context = nullptr;
  if (morello_context_create(nullptr, &context, &error) != MORELLO_OK) return failed();
  const tools::ContextPtr context_owner(context);
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, &error) != MORELLO_OK) return failed();
  const tools::SpecPtr spec_owner(spec);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = isa;
  options.search_only = search_only ? 1 : 0;
  options.time_budget = static_cast<uint64_t>(budget * 1e6);
  morello_kernel* made = nullptr;
  if (morello_synthesize(context, spec, &options, &made, &error) != MORELLO_OK) return failed();
  kernel->reset(made);
  return {};
}

Outcome measure(const std::string& text, int32_t isa, int repetitions, bool search_only,
                double budget) {
  Outcome outcome;
  for (int i = 0; i < repetitions; ++i) {
    tools::KernelPtr kernel;
    outcome.problem = synthesize(text, isa, search_only, budget, &kernel);
    if (!outcome.problem.empty()) return outcome;
    morello_search_stats stats = {};
    if (morello_kernel_stats(kernel.get(), &stats, sizeof stats) != MORELLO_OK) return outcome;
    if (i == 0 || stats.search_microseconds < outcome.stats.search_microseconds) {
      outcome.stats = stats;
    }
    outcome.slowest_microseconds =
        std::max(outcome.slowest_microseconds, stats.search_microseconds);
    outcome.cost = morello_kernel_cost(kernel.get());
  }
  return outcome;
}

double nanoseconds_per_preview(const morello_search_stats& stats) {
  return static_cast<double>(stats.search_microseconds) * 1e3 /
         static_cast<double>(std::max<uint64_t>(stats.previews, 1));
}

void print_row(const std::string& text, const char* isa, const Outcome& outcome, bool json) {
  const morello_search_stats& stats = outcome.stats;
  if (json) {
    nlohmann::ordered_json report = {{"spec", text}, {"isa", isa}};
    if (outcome.problem.empty()) {
      report.update({{"search_microseconds", stats.search_microseconds},
                     {"slowest_microseconds", outcome.slowest_microseconds},
                     {"codegen_microseconds", stats.codegen_microseconds},
                     {"specs", stats.specs},
                     {"states", stats.states},
                     {"expanded", stats.expanded},
                     {"previews", stats.previews},
                     {"memo_hits", stats.memo_hits},
                     {"bytes", stats.bytes},
                     {"nanoseconds_per_preview", nanoseconds_per_preview(stats)},
                     {"cost_cycles", outcome.cost}});
    } else {
      report["problem"] = outcome.problem;
    }
    fmt::print("{}\n", report.dump());
  } else if (!outcome.problem.empty()) {
    fmt::print("| {} | {} | {} |\n", text, isa, outcome.problem);
  } else {
    fmt::print("| {} | {} | {:.3f} | {:.3f} | {} | {} | {} | {} | {} | {:.1f} | {:.0f} |\n", text,
               isa, static_cast<double>(stats.search_microseconds) / 1e6,
               static_cast<double>(outcome.slowest_microseconds) / 1e6, stats.specs, stats.states,
               stats.expanded, stats.previews, stats.memo_hits,
               static_cast<double>(stats.bytes) / (1 << 20), nanoseconds_per_preview(stats));
  }
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::vector<std::string> files, isas = {"avx2", "avx512"};
  int repetitions = 3;
  double budget = 0;
  bool json = false, emit = false;
  CLI::App app("Measures searches from an empty memo; see bench/README.md");
  app.add_option("FILES", files, "problem files, one Spec a line")->required();
  app.add_option("--isa", isas, "avx2, avx512; default: both, they need not be here")
      ->delimiter(',')
      ->check(CLI::IsMember({"avx2", "avx512"}));
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--time-budget", budget, "seconds for one search")->check(CLI::Range(0.0, 1e6));
  app.add_flag("--emit", emit, "make code too (needs a CPU with the instruction set)");
  app.add_flag("--json", json, "one line of JSON per Spec and instruction set");
  CLI11_PARSE(app, argc, argv);

  if (!json) {
    morello_cpu_info info;
    if (morello_cpu_info_get(&info, sizeof info) == MORELLO_OK) {
      fmt::print("# Search from an empty memo, {}, morello {}, cost model {}\n\n", info.name,
                 morello_version_string(), morello_cost_model_version());
    }
    fmt::print("Fastest and slowest of {}; the other columns do not vary.\n\n", repetitions);
    fmt::print(
        "| Spec | target | s | slowest s | Specs | states | expanded | previews | memo hits "
        "| MiB | ns per preview |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  }
  int exit_code = 0;
  for (const std::string& text : read_problems(files)) {
    for (const std::string& isa : isas) {
      const int32_t target = isa == "avx512" ? MORELLO_ISA_AVX512 : MORELLO_ISA_AVX2;
      const Outcome outcome = measure(text, target, repetitions, !emit, budget);
      print_row(text, isa.c_str(), outcome, json);
      if (!outcome.problem.empty()) exit_code = 1;
    }
  }
  return exit_code;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }

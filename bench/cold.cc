// SPDX-License-Identifier: MIT
// bench-cold: how long the first kernel of a process takes that has loaded a table. Every
// measurement is a process of its own: the program starts itself anew.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "handles.hh"
#include "problem.hh"

namespace morello::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Microseconds of one process.
enum Phase { kContext, kLoad, kParse, kSynthesize, kLookup, kPlan, kEmission, kPhases };
constexpr const char* kNames[kPhases] = {"context", "load table", "parse",   "synthesize",
                                         "look-up", "plan",       "emission"};
using Times = std::array<double, kPhases>;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

[[noreturn]] void fail(morello_error* error) {
  const tools::ErrorPtr owner(error);
  fmt::print(stderr, "{}\n", morello_error_message(error));
  std::exit(1);
}

/// Everything once, in this process.
Times measure_here(const std::string& table_path, const std::string& text) {
  Times times = {};
  morello_error* error = nullptr;
  morello_context* context = nullptr;
  morello_table* table = nullptr;
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  const auto timed = [&](Phase phase, auto&& call) {
    const Clock::time_point start = Clock::now();
    if (call() != MORELLO_OK) fail(error);
    times[phase] = microseconds_since(start);
  };
  timed(kContext, [&] { return morello_context_create(nullptr, &context, &error); });
  const tools::ContextPtr context_owner(context);
  timed(kLoad, [&] { return morello_table_load(context, table_path.c_str(), &table, &error); });
  const tools::TablePtr table_owner(table);
  timed(kParse, [&] { return morello_spec_parse(context, text.c_str(), &spec, &error); });
  const tools::SpecPtr spec_owner(spec);

  morello_table_info info;
  morello_table_info_get(table, &info, sizeof info);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = info.target;
  options.threads = info.threads;
  options.table = table;
  timed(kSynthesize, [&] { return morello_synthesize(context, spec, &options, &kernel, &error); });
  const tools::KernelPtr kernel_owner(kernel);
  morello_search_stats stats = {};
  morello_kernel_stats_get(kernel, &stats, sizeof stats);
  times[kLookup] = static_cast<double>(stats.lookup_nanoseconds) * 1e-3;
  times[kPlan] = static_cast<double>(stats.plan_nanoseconds) * 1e-3;
  times[kEmission] = static_cast<double>(stats.emit_nanoseconds) * 1e-3;
  if (stats.table_use != MORELLO_TABLE_ANSWERED) {
    fmt::print(stderr, "{}: not from the table\n", text);
    std::exit(1);
  }
  return times;
}

/// The same in a new process, which prints its times. `program` is the path of this one.
bool measure_anew(const std::string& program, const std::string& table, const std::string& text,
                  Times* times) {
  const auto quoted = [](const std::string& word) {
    std::string all = "'";
    for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
  };
  const std::string command =
      fmt::format("{} --here {} {}", quoted(program), quoted(table), quoted(text));
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  bool good = true;
  for (double& time : *times) good = good && std::fscanf(pipe, "%lf", &time) == 1;
  return pclose(pipe) == 0 && good;
}

int measure_all(const std::string& program, const std::string& table,
                const std::vector<std::string>& files, int processes) {
  fmt::print("The first kernel of a process, {} processes: best / median microseconds.\n\n| Spec |",
             processes);
  for (const char* name : kNames) fmt::print(" {} |", name);
  fmt::print("\n|---|");
  for (size_t phase = 0; phase < kPhases; ++phase) fmt::print("---|");
  fmt::print("\n");
  for (const std::string& text : read_problems(files)) {
    std::array<std::vector<double>, kPhases> samples;
    for (int i = 0; i < processes; ++i) {
      Times times;
      if (!measure_anew(program, table, text, &times)) return 1;
      for (size_t phase = 0; phase < kPhases; ++phase) samples[phase].push_back(times[phase]);
    }
    fmt::print("| {} |", text);
    for (std::vector<double>& values : samples) {
      std::sort(values.begin(), values.end());
      fmt::print(" {:.0f} / {:.0f} |", values.front(), values[values.size() / 2]);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  return 0;
}

int run(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--here") {
    for (const double time : measure_here(argv[2], argv[3])) fmt::print("{} ", time);
    return 0;
  }
  std::string table;
  std::vector<std::string> files;
  int processes = 20;
  CLI::App app("Measures the first kernel of a process that has a table; see bench/README.md");
  app.add_option("TABLE", table, "a table that covers all Specs")->required();
  app.add_option("FILES", files, "problem files, one Spec a line")->required();
  app.add_option("--processes", processes, "for each Spec")->check(CLI::Range(1, 100000));
  CLI11_PARSE(app, argc, argv);
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  return measure_all(self, table, files, processes);
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }

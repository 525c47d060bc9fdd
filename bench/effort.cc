// SPDX-License-Identifier: MIT
// bench-effort: how long a search with an effort takes, and how near its programs are to the
// cheapest, over random Specs.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "handles.hh"
#include "random_mixed.hh"

namespace morello::bench {
namespace {

struct Settings {
  uint64_t seed = 1, count = 100, most = 2048, effort = MORELLO_EFFORT_QUICK;
  double exact_seconds = 10;
  int repetitions = 3;
  std::string isa = "avx2";
  std::string table, specs;
  bool plain = false, row_major = false, narrow = false;
};

const std::map<std::string, int32_t> kTargets = {{"avx2", MORELLO_ISA_AVX2},
                                                 {"avx512", MORELLO_ISA_AVX512},
                                                 {"avx2_vnni", MORELLO_ISA_AVX2_VNNI},
                                                 {"avx512_vnni", MORELLO_ISA_AVX512_VNNI},
                                                 {"avx512_bf16", MORELLO_ISA_AVX512_BF16},
                                                 {"avx512_amx", MORELLO_ISA_AVX512_AMX}};
int32_t target_of(const std::string& isa) { return kTargets.at(isa); }

/// A row-major matmul of sizes from 17 to `most`, as a table of a family has them around it.
std::string row_major_matmul(uint64_t seed, uint64_t most) {
  std::mt19937_64 random(seed);
  const auto size = [&] { return 17 + random() % (most > 17 ? most - 16 : 1); };
  const uint64_t m = size(), k = size(), n = size();
  return fmt::format("matmul f32[{},{}] f32[{},{}]", m, k, k, n);
}

/// Of this thread, which is the one that searches: other programs take no part in it.
double cpu_milliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Found {
  double cost = 0, bound = 0, milliseconds = 0;  // of CPU time
  uint64_t expanded = 0;
  bool optimal = false;
  int32_t table_use = MORELLO_TABLE_NONE;
};

bool search(morello_context* context, const morello_spec* spec, const morello_options& options,
            Found* found) {
  morello_kernel* made = nullptr;
  morello_error* error = nullptr;
  const double start = cpu_milliseconds();
  const bool good = morello_synthesize(context, spec, &options, &made, &error) == MORELLO_OK;
  const double taken = cpu_milliseconds() - start;
  const tools::KernelPtr kernel(made);
  const tools::ErrorPtr owner(error);
  if (!good) {
    fmt::print("{}\n", morello_error_message(error));
    return false;
  }
  morello_search_stats stats = {};
  morello_kernel_stats_get(made, &stats, sizeof stats);
  *found = {morello_kernel_cost(made), stats.lower_bound, taken, stats.expanded,
            stats.optimal == 1,        stats.table_use};
  return true;
}

class Summary {
 public:
  void add(const Found& quick, const Found& exact) {
    times_.push_back(quick.milliseconds);
    expanded_.push_back(static_cast<double>(quick.expanded));
    uses_[static_cast<size_t>(quick.table_use)]++;
    const double ratio = quick.cost / exact.cost;
    bounds_.push_back(quick.cost / std::max(quick.bound, exact.bound));
    if (exact.cost == 0) return;
    (exact.optimal ? proven_ : others_).push_back(ratio);
    if (!exact.optimal) gaps_.push_back(exact.cost / exact.bound);
  }
  void print(const char* title) {
    if (times_.empty()) return;
    fmt::print("\n## {}\n", title);
    fmt::print(
        "\nmilliseconds of CPU: mean {:.2f}, median {:.1f}, 90% {:.1f}, 99% {:.1f}, most {:.1f}\n",
        mean(times_), at(times_, 0.5), at(times_, 0.9), at(times_, 0.99), at(times_, 1));
    fmt::print("expansions: median {:.0f}, 90% {:.0f}, most {:.0f}\n", at(expanded_, 0.5),
               at(expanded_, 0.9), at(expanded_, 1));
    fmt::print("of a table: {}, of near sizes of one: {}\n", uses_[MORELLO_TABLE_ANSWERED],
               uses_[MORELLO_TABLE_NEAR]);
    show("of the lower bound", bounds_);
    show("of the cheapest, where that is proven", proven_);
    show("of what the longer search had found, where it is not", others_);
    if (!gaps_.empty()) fmt::print("which is at most {:.3f} of the cheapest\n", at(gaps_, 1));
  }

 private:
  static double at(std::vector<double>& values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
  }
  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
  }
  static void show(const char* what, std::vector<double>& ratios) {
    if (ratios.empty()) return;
    fmt::print("{} ({}): mean {:.4f}, median {:.4f}, 90% {:.4f}, 99% {:.4f}, worst {:.4f}\n", what,
               ratios.size(), mean(ratios), at(ratios, 0.5), at(ratios, 0.9), at(ratios, 0.99),
               at(ratios, 1));
  }

  std::vector<double> times_, expanded_, bounds_, proven_, others_, gaps_;
  std::array<size_t, 5> uses_{};
};

/// Searches with the effort, the fastest of several times.
bool search_often(const Settings& settings, morello_context* context, const morello_spec* spec,
                  const morello_options& options, Found* quick) {
  for (int i = 0; i < settings.repetitions; i++) {
    Found again;
    if (!search(context, spec, options, &again)) return false;
    if (i == 0 || again.milliseconds < quick->milliseconds) *quick = again;
  }
  return true;
}

bool measure(const Settings& settings, morello_context* context, const std::string& text,
             const morello_table* table, Summary* summary, Summary* with_table) {
  morello_spec* parsed = nullptr;
  if (morello_spec_parse(context, text.c_str(), &parsed, nullptr) != MORELLO_OK) {
    fmt::print("{}: is no Spec\n", text);
    return false;
  }
  const tools::SpecPtr spec(parsed);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = target_of(settings.isa);
  options.search_only = 1;
  options.effort = settings.effort;
  Found quick, near, exact;
  if (!search_often(settings, context, parsed, options, &quick)) return false;
  options.table = table;
  if (table && !search_often(settings, context, parsed, options, &near)) return false;
  options.table = nullptr;
  options.effort = MORELLO_EFFORT_EXACT;
  options.time_budget = static_cast<uint64_t>(settings.exact_seconds * 1e6);
  const bool compares = settings.exact_seconds > 0;
  if (compares && !search(context, parsed, options, &exact)) return false;
  const std::string gap =
      exact.optimal ? "" : fmt::format("{:.3f}", compares ? exact.cost / exact.bound : 0);
  const auto row = [&](const Found& found) {
    return fmt::format("{:.1f} | {} | {:.4f}", found.milliseconds, found.expanded,
                       found.cost / (compares ? exact.cost : found.bound));
  };
  if (table)
    fmt::print("| {} | {} | {} | {} | {} |\n", text, row(quick), row(near), near.table_use, gap);
  else
    fmt::print("| {} | {} | {} |\n", text, row(quick), gap);
  std::fflush(stdout);
  summary->add(quick, exact);
  if (table) with_table->add(near, exact);
  return true;
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Compares searches with an effort with exact ones; see bench/README.md");
  app.add_option("--seed", settings.seed);
  app.add_option("--count", settings.count, "of Specs")->check(CLI::Range(1, 1000000));
  app.add_option("--most", settings.most, "largest dimension")->check(CLI::Range(1, 65536));
  app.add_option("--effort", settings.effort, "expansions");
  app.add_option("--exact-seconds", settings.exact_seconds, "0: costs are over lower bounds")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--repetitions", settings.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--isa", settings.isa)->check(CLI::IsMember(kTargets));
  app.add_option("--table", settings.table, "with this as well");
  app.add_option("--specs", settings.specs, "a file of Specs, one a line, in place of random ones");
  app.add_flag("--row-major", settings.row_major, "row-major f32 matmuls alone, of 17 and more");
  app.add_flag("--plain", settings.plain, "f32 matmuls alone");
  app.add_flag("--narrow", settings.narrow, "matmuls of bf16 and bytes alone");
  CLI11_PARSE(app, argc, argv);
  morello_context* made = nullptr;
  if (morello_context_create(nullptr, &made, nullptr) != MORELLO_OK) return 1;
  const tools::ContextPtr context(made);
  fmt::print("# Effort {}, {}, seed {}\n\n", settings.effort, settings.isa, settings.seed);
  morello_table* loaded = nullptr;
  if (!settings.table.empty() &&
      morello_table_load(made, settings.table.c_str(), &loaded, nullptr) != MORELLO_OK)
    return 1;
  const tools::TablePtr table(loaded);
  const char* const columns = "ms | expanded | cost / that of the exact search |";
  fmt::print("| Spec | {}{} gap of that |\n", columns,
             table ? fmt::format(" with the table: {} use |", columns) : "");
  fmt::print("|---|---|---|---|{}---|\n", table ? "---|---|---|---|" : "");
  Summary summary, with_table;
  bool good = true;
  std::ifstream lines(settings.specs);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#')
      good = measure(settings, made, line, loaded, &summary, &with_table) && good;
  for (uint64_t i = 0; settings.specs.empty() && i < settings.count; i++) {
    const uint64_t seed = settings.seed * 1000003 + i;
    RandomMixed random(seed, settings.most);
    const std::string text = settings.row_major ? row_major_matmul(seed, settings.most)
                             : settings.plain   ? random.plain()
                             : settings.narrow  ? random.narrow()
                                                : random.text();
    good = measure(settings, made, text, loaded, &summary, &with_table) && good;
  }
  summary.print("Without a table");
  with_table.print("With the table");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }

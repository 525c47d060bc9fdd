// SPDX-License-Identifier: MIT
// bench-search: how long synthesis takes from an empty memo or with a table, what the search did,
// and how that grows with the problem.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "handles.hh"
#include "nlohmann/json.hpp"
#include "problem.hh"
#include "random_matmul.hh"

namespace morello::bench {
namespace {

struct Settings {
  std::vector<std::string> files, isas = {"avx2", "avx512"}, tables;
  std::vector<uint32_t> threads = {1};
  int repetitions = 3;
  double budget = 0;
  uint64_t random = 0, seed = 1, most = 1024;
  bool json = false, emit = false;
};

/// One Spec, searched for in one way.
struct Row {
  std::string text, isa;
  uint32_t threads = 1;
  morello_search_stats stats = {};    // of the fastest repetition
  std::vector<uint64_t> nanoseconds;  // of every repetition
  double flops = 0, cost = 0;
  std::string impl;
  std::string problem;  // why there is nothing of the above
};

double seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }
double microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }
double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// The time that it takes to have a program.
uint64_t solving(const morello_search_stats& stats) {
  return stats.lookup_nanoseconds + stats.search_nanoseconds;
}

uint64_t slowest(const Row& row) {
  return row.nanoseconds.empty()
             ? 0
             : *std::max_element(row.nanoseconds.begin(), row.nanoseconds.end());
}

double nanoseconds_per_preview(const morello_search_stats& stats) {
  if (stats.previews == 0) return 0;
  return static_cast<double>(stats.search_nanoseconds) / static_cast<double>(stats.previews);
}

/// One synthesis in a context of its own, so that nothing but the table is known before it.
class Synthesis {
 public:
  Synthesis(const Settings& settings, Row* row) : settings_(settings), row_(*row) {}

  void run(bool first) {
    morello_error* error = nullptr;
    const bool made = make(&error);
    const tools::ErrorPtr owner(error);
    if (!made) {
      row_.problem = morello_error_message(error);
      return;
    }
    morello_search_stats stats = {};
    morello_kernel_stats_get(kernel_.get(), &stats, sizeof stats);
    if (first || solving(stats) < solving(row_.stats)) row_.stats = stats;
    row_.nanoseconds.push_back(solving(stats));
    row_.cost = morello_kernel_cost(kernel_.get());
    row_.impl =
        tools::text_of(morello_kernel_print, static_cast<const morello_kernel*>(kernel_.get()));
  }

 private:
  bool make(morello_error** error) {
    morello_context* context = nullptr;
    if (morello_context_create(nullptr, &context, error) != MORELLO_OK) return false;
    context_.reset(context);
    morello_spec* spec = nullptr;
    if (morello_spec_parse(context, row_.text.c_str(), &spec, error) != MORELLO_OK) return false;
    spec_.reset(spec);
    row_.flops = morello_spec_flops(spec);
    if (!load_tables(error)) return false;
    morello_options options;
    morello_options_init(&options, sizeof options);
    options.target = row_.isa == "avx512" ? MORELLO_ISA_AVX512 : MORELLO_ISA_AVX2;
    options.search_threads = row_.threads;
    options.search_only = settings_.emit ? 0 : 1;
    options.time_budget = static_cast<uint64_t>(settings_.budget * 1e6);
    options.table = table_.get();
    morello_kernel* kernel = nullptr;
    if (morello_synthesize(context, spec, &options, &kernel, error) != MORELLO_OK) return false;
    kernel_.reset(kernel);
    return true;
  }

  bool load_tables(morello_error** error) {
    for (const std::string& path : settings_.tables) {
      morello_table *loaded = nullptr, *merged = nullptr;
      if (morello_table_load(context_.get(), path.c_str(), &loaded, error) != MORELLO_OK)
        return false;
      const tools::TablePtr owner(loaded);
      if (table_ == nullptr) {
        merged = morello_table_retain(loaded);
      } else if (morello_table_merge(table_.get(), loaded, &merged, error) != MORELLO_OK) {
        return false;
      }
      table_.reset(merged);
    }
    return true;
  }

  const Settings& settings_;
  Row& row_;
  tools::ContextPtr context_;
  tools::SpecPtr spec_;
  tools::TablePtr table_;
  tools::KernelPtr kernel_;
};

/// One row for each number of threads, which take turns: a change of clock or a busy neighbour
/// meets all of them.
std::vector<Row> measure(const Settings& settings, const std::string& text,
                         const std::string& isa) {
  std::vector<Row> rows;
  for (const uint32_t threads : settings.threads) {
    Row& row = rows.emplace_back();
    row.text = text;
    row.isa = isa;
    row.threads = threads;
  }
  for (int i = 0; i < settings.repetitions; ++i) {
    for (Row& row : rows) {
      if (row.problem.empty()) Synthesis(settings, &row).run(i == 0);
    }
  }
  return rows;
}

// ---- What was measured, as lines

void print_json(const Row& row) {
  const morello_search_stats& stats = row.stats;
  nlohmann::ordered_json report = {
      {"spec", row.text}, {"isa", row.isa}, {"search_threads", row.threads}};
  if (row.problem.empty()) {
    report.update({{"search_nanoseconds", stats.search_nanoseconds},
                   {"lookup_nanoseconds", stats.lookup_nanoseconds},
                   {"slowest_nanoseconds", slowest(row)},
                   {"plan_nanoseconds", stats.plan_nanoseconds},
                   {"emit_nanoseconds", stats.emit_nanoseconds},
                   {"specs", stats.specs},
                   {"states", stats.states},
                   {"expanded", stats.expanded},
                   {"previews", stats.previews},
                   {"misfits", stats.misfits},
                   {"advances", stats.advances},
                   {"memo_hits", stats.memo_hits},
                   {"borrowed", stats.borrowed},
                   {"bytes", stats.bytes},
                   {"nanoseconds_per_preview", nanoseconds_per_preview(stats)},
                   {"table_use", stats.table_use},
                   {"optimal", stats.optimal == 1},
                   {"lower_bound_cycles", stats.lower_bound},
                   {"cost_cycles", row.cost}});
  } else {
    report["problem"] = row.problem;
  }
  fmt::print("{}\n", report.dump());
}

void print_head(const Settings& settings) {
  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof info) == MORELLO_OK) {
    fmt::print("# Search {}, {}, morello {}, cost model {}\n\n",
               settings.tables.empty() ? "from an empty memo" : "with a table", info.name,
               morello_version_string(), morello_cost_model_version());
  }
  fmt::print("Fastest and slowest of {}.\n\n", settings.repetitions);
  fmt::print(
      "| Spec | target | threads | s | slowest s | Specs | states | expanded | previews | misfits "
      "| "
      "advances | memo hits | borrowed | MiB | ns per preview | gap |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

std::string gap(const Row& row) {
  if (row.stats.optimal == 1) return "0";
  return fmt::format("{:.1f}%", 100 * (row.cost / row.stats.lower_bound - 1));
}

void print_row(const Row& row) {
  const morello_search_stats& s = row.stats;
  fmt::print("| {} | {} | {} | ", row.text, row.isa, row.threads);
  if (!row.problem.empty()) {
    fmt::print("{} |\n", row.problem);
    return;
  }
  fmt::print("{:.4g} | {:.4g} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {:.0f} | {} |\n",
             seconds(solving(s)), seconds(slowest(row)), s.specs, s.states, s.expanded, s.previews,
             s.misfits, s.advances, s.memo_hits, s.borrowed, mebibytes(s.bytes),
             nanoseconds_per_preview(s), gap(row));
}

const char* source_of(const Row& row) {
  switch (row.stats.table_use) {
    case MORELLO_TABLE_ANSWERED:
      return "table";
    case MORELLO_TABLE_WRONG:
      return "search: the table is wrong";
    default:
      return "search";
  }
}

/// Where the time of a whole synthesis goes.
void print_phases(const std::vector<Row>& rows) {
  fmt::print(
      "\n## Phases, in microseconds\n\n"
      "| Spec | target | threads | program from | look-up | search | plan | emission |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const morello_search_stats& s = row.stats;
    if (!row.problem.empty()) continue;
    fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", row.text, row.isa,
               row.threads, source_of(row), microseconds(s.lookup_nanoseconds),
               microseconds(s.search_nanoseconds), microseconds(s.plan_nanoseconds),
               microseconds(s.emit_nanoseconds));
  }
}

/// The text with a letter in place of each different size: equal for Specs that differ in size
/// only.
std::string shape_of(const std::string& text) {
  std::string shape;
  std::map<std::string, char> letters;
  bool in_brackets = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '[') in_brackets = true;
    if (text[i] == ']') in_brackets = false;
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') end++;
    if (end == i || !in_brackets) {
      shape += text[i++];
      continue;
    }
    const char next = static_cast<char>('a' + letters.size() % 26);
    shape += letters.emplace(text.substr(i, end - i), next).first->second;
    i = end;
  }
  return shape;
}

std::string ratio(double from, double to) {
  return from > 0 ? fmt::format("{:.2f}", to / from) : std::string("-");
}
std::string ratio(uint64_t from, uint64_t to) {
  return ratio(static_cast<double>(from), static_cast<double>(to));
}

/// Rows that differ in size only, each beside the next larger one.
void print_growth(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> series;
  for (const Row& row : rows) {
    if (!row.problem.empty()) continue;
    series[fmt::format("{} {} {}", row.isa, row.threads, shape_of(row.text))].push_back(&row);
  }
  fmt::print(
      "\n## Growth: how many times as much as the row before, of the same shape\n\n"
      "| Spec | target | threads | operations | s | states | previews | advances | MiB |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (auto& [name, members] : series) {
    std::stable_sort(members.begin(), members.end(),
                     [](const Row* a, const Row* b) { return a->flops < b->flops; });
    for (size_t i = 1; i < members.size(); ++i) {
      const Row &from = *members[i - 1], &to = *members[i];
      fmt::print(
          "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", to.text, to.isa, to.threads,
          ratio(from.flops, to.flops), ratio(solving(from.stats), solving(to.stats)),
          ratio(from.stats.states, to.stats.states), ratio(from.stats.previews, to.stats.previews),
          ratio(from.stats.advances, to.stats.advances), ratio(from.stats.bytes, to.stats.bytes));
    }
  }
}

uint64_t median(std::vector<uint64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Of everything that was searched for with a target and a number of threads.
void print_distribution(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> all;
  for (const Row& row : rows)
    if (row.problem.empty()) all[fmt::format("{} | {}", row.isa, row.threads)].push_back(&row);
  if (all.empty()) return;
  fmt::print(
      "\n## Distribution\n\nOf the fastest repetition of each Spec.\n\n"
      "| target | threads | Specs | what | mean | median | 90% | 95% | 99% | most |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, members] : all) {
    const auto print = [&name = name, &members = members](const char* what, auto value) {
      std::vector<double> values;
      double sum = 0;
      for (const Row* row : members) {
        values.push_back(value(*row));
        sum += values.back();
      }
      std::sort(values.begin(), values.end());
      const auto at = [&](double part) {
        return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
      };
      fmt::print("| {} | {} | {} | {:.5g} | {:.5g} | {:.5g} | {:.5g} | {:.5g} | {:.5g} |\n", name,
                 values.size(), what, sum / static_cast<double>(values.size()), at(0.5), at(0.9),
                 at(0.95), at(0.99), at(1));
    };
    print("s", [](const Row& row) { return seconds(solving(row.stats)); });
    print("expanded", [](const Row& row) { return static_cast<double>(row.stats.expanded); });
    print("MiB", [](const Row& row) { return mebibytes(row.stats.bytes); });
  }
}

/// How much faster several threads are. Returns false if they found another program.
bool print_threads(const std::vector<Row>& rows) {
  fmt::print(
      "\n## Threads\n\n`fastest / median` of the repetitions.\n\n"
      "| Spec | target | threads | s on one | times faster | the same program |\n"
      "|---|---|---|---|---|---|\n");
  bool same = true;
  const Row* one = nullptr;
  for (const Row& row : rows) {
    if (row.threads == 1) one = &row;
    const bool comparable = one != nullptr && one != &row && one->problem.empty() &&
                            row.problem.empty() && one->text == row.text && one->isa == row.isa &&
                            one->stats.optimal == 1 && row.stats.optimal == 1;
    if (!comparable) continue;
    const bool equal = one->impl == row.impl;
    same = same && equal;
    fmt::print("| {} | {} | {} | {:.4g} / {:.4g} | {} / {} | {} |\n", row.text, row.isa,
               row.threads, seconds(solving(one->stats)), seconds(median(one->nanoseconds)),
               ratio(solving(row.stats), solving(one->stats)),
               ratio(median(row.nanoseconds), median(one->nanoseconds)), equal ? "yes" : "NO");
  }
  return same;
}

int measure_all(const Settings& settings) {
  if (!settings.json) print_head(settings);
  std::vector<Row> rows;
  bool good = true;
  std::vector<std::string> problems = read_problems(settings.files);
  for (uint64_t i = 0; i < settings.random; i++)
    problems.push_back(uniform_matmul(settings.seed * 1000003 + i, settings.most));
  for (const std::string& text : problems) {
    for (const std::string& isa : settings.isas) {
      for (Row& row : measure(settings, text, isa)) {
        settings.json ? print_json(row) : print_row(row);
        std::fflush(stdout);
        good = good && row.problem.empty();
        rows.push_back(std::move(row));
      }
    }
  }
  if (!settings.json) {
    if (settings.emit || !settings.tables.empty()) print_phases(rows);
    if (settings.random == 0) print_growth(rows);
    print_distribution(rows);
    if (settings.threads.size() > 1 && !print_threads(rows)) good = false;
  }
  return good ? 0 : 1;
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Measures searches from an empty memo; see bench/README.md");
  app.add_option("FILES", settings.files, "problem files, one Spec a line");
  app.add_option("--random", settings.random, "so many f32 matmuls of random sizes as well");
  app.add_option("--seed", settings.seed, "of these");
  app.add_option("--most", settings.most, "largest size of these")->check(CLI::Range(1, 65536));
  app.add_option("--isa", settings.isas, "avx2, avx512; default: both, they need not be here")
      ->delimiter(',')
      ->check(CLI::IsMember({"avx2", "avx512"}));
  app.add_option("--threads", settings.threads, "numbers of threads that search, such as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--table", settings.tables, "table file to ask first; several are merged")
      ->allow_extra_args(false);
  app.add_option("--repetitions", settings.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--time-budget", settings.budget, "seconds for one search")
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--emit", settings.emit, "make code too (needs a CPU with the instruction set)");
  app.add_flag("--json", settings.json, "one line of JSON per search, and nothing else");
  CLI11_PARSE(app, argc, argv);
  if (settings.files.empty() && settings.random == 0) {
    fmt::print(stderr, "bench-search: name problem files, or ask for Specs with --random\n");
    return 1;
  }
  return measure_all(settings);
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }

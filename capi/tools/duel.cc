// SPDX-License-Identifier: MIT
#include "duel.hh"

#include <algorithm>
#include <cmath>
#include <memory>

#include "checked_run.hh"
#include "flags.hh"
#include "output.hh"
#include "usage.hh"

namespace morello::tools {
namespace {

/// A kernel with its operands, which stay where they are.
struct Entrant {
  Job job;
  std::unique_ptr<Operands> operands;
};

/// For CSV: in quotes, which are doubled inside.
std::string cell(const std::string& text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"') safe += '"';
    safe += c;
  }
  return safe + '"';
}

std::string csv_of(const std::vector<Measured>& all) {
  std::string text = "contender,spec,kernel,round,calls,nanoseconds\n";
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t round = 0; round < all[i].timing.rounds.size(); ++round)
      text += fmt::format("{},{},{},{},{},{:.3f}\n", i, cell(all[i].job->text),
                          morello_kernel_name(all[i].job->kernel.get()), round, all[i].timing.calls,
                          all[i].timing.rounds[round]);
  return text;
}

Json json_of(const Measured& measured) {
  Json row = describe(*measured.job);
  row["given"] = measured.text;
  row["best_ns"] = measured.timing.best();
  row["median_ns"] = measured.timing.median();
  row["spread"] = measured.timing.spread();
  row["calls_per_round"] = measured.timing.calls;
  row["gflops"] = morello_spec_flops(measured.job->spec.get()) / measured.timing.best();
  return row;
}

Json json_of(const Ratio& ratio) {
  Json json = {{"median", ratio.median}, {"differs", ratio.differs()}};
  if (std::isfinite(ratio.high)) json.update({{"low", ratio.low}, {"high", ratio.high}});
  return json;
}

}  // namespace

Contender contender_of(const Job& job, Operands* operands) {
  const morello_kernel_fn function = morello_kernel_function(job.kernel.get());
  const morello_sized_kernel_fn sized = morello_kernel_sized_function(job.kernel.get());
  void* const* pointers = operands->pointers();
  void* scratch = operands->scratch();
  const morello_executor* executor = job.executor();
  const int64_t size = job.size;
  if (sized != nullptr)
    return {[=](uint64_t calls) {
      for (; calls != 0; --calls) {
        sized(pointers, scratch, executor, size);
        compiler_barrier();
      }
    }};
  return {[=](uint64_t calls) {
    for (; calls != 0; --calls) {
      function(pointers, scratch, executor);
      compiler_barrier();
    }
  }};
}

std::string verdict(const Ratio& ratio) {
  if (!std::isfinite(ratio.high)) return "too few rounds to tell; 20 are enough";
  const std::string range = fmt::format("{:.3f} times as long, {:.3f} to {:.3f} with 99% certainty",
                                        ratio.median, ratio.low, ratio.high);
  if (!ratio.differs()) return "no difference that these rounds show: " + range;
  return fmt::format("{}: {}", ratio.median < 1 ? "faster" : "slower", range);
}

std::string find_bad_export(const Arguments& arguments) {
  for (const std::string& path : arguments.exports)
    if (!path.ends_with(".csv") && !path.ends_with(".json"))
      return path + ": --export writes files that end with .csv or .json";
  for (auto path = arguments.exports.begin(); path != arguments.exports.end(); path++)
    if (std::find(arguments.exports.begin(), path, *path) != path)
      return *path + ": --export names it twice";
  return find_unwritable(arguments.exports);
}

std::string export_rounds(const Arguments& arguments, const std::vector<Measured>& all) {
  std::vector<NewFile> files;
  for (const std::string& path : arguments.exports) {
    if (path.ends_with(".csv")) {
      files.push_back({path, csv_of(all)});
    } else {
      Json rows = Json::array();
      for (const Measured& measured : all) {
        rows.push_back(json_of(measured));
        rows.back()["rounds_ns"] = measured.timing.rounds;
      }
      files.push_back({path, rows.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"});
    }
  }
  return files.empty() ? std::string() : replace_files(files);
}

int duel_command(const Arguments& arguments, const std::string& text) {
  std::vector<std::string> texts = {text};
  texts.insert(texts.end(), arguments.rivals.begin(), arguments.rivals.end());
  for (const std::string& each : texts)
    if (each.find(' ') == each.npos && !each.ends_with(".mkrn")) {
      const std::string& stray = &each == texts.data() ? texts[1] : each;
      print_error("morello: {} is one argument too many. {}\n", in_quotes(stray),
                  quotes_hint("bench"));
      return kExitUsage;
    }
  std::vector<Entrant> entrants;
  for (const std::string& each : texts) {
    std::optional<Job> job = make_job(arguments, each, JobKind::kRun);
    if (!job) return kExitLibrary;
    auto operands = std::make_unique<Operands>(job->spec.get(), job->kernel.get());
    operands->fill_random(arguments.seed);
    const Outcome outcome = run_checked(arguments, each, *job, operands.get());
    if (outcome.exit_code != kExitOk) return outcome.exit_code;
    if (!outcome.check.ok)
      return report_failure(arguments, each, "WRONG: " + outcome.check.describe());
    entrants.push_back({std::move(*job), std::move(operands)});
  }
  std::vector<Contender> contenders;
  for (const Entrant& entrant : entrants)
    contenders.push_back(contender_of(entrant.job, entrant.operands.get()));
  const std::vector<Timing> timings = measure(contenders, {arguments.rounds, 2e-3});

  std::vector<Measured> all;
  for (size_t i = 0; i < texts.size(); ++i) all.push_back({texts[i], &entrants[i].job, timings[i]});
  if (const std::string problem = export_rounds(arguments, all); !problem.empty())
    return report_failure(arguments, text, problem);
  Json report = Json::array();
  for (size_t i = 0; i < all.size(); ++i) {
    report.push_back(json_of(all[i]));
    if (!arguments.json)
      print("{}  best {}, median {}, spread {:.0f}%; {:.1f} GFLOP/s  {}\n", i + 1,
            human_time(timings[i].best()), human_time(timings[i].median()),
            100 * timings[i].spread(),
            morello_spec_flops(all[i].job->spec.get()) / timings[i].best(), all[i].job->text);
  }
  for (size_t i = 1; i < all.size(); ++i) {
    const Ratio ratio = compare(timings[i], timings[0]);
    report[i]["against_first"] = json_of(ratio);
    if (!arguments.json) print("{} against 1: {}\n", i + 1, verdict(ratio));
  }
  if (arguments.json) print_json({{"kernels", report}});
  return kExitOk;
}

}  // namespace morello::tools

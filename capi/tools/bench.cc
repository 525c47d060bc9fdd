// SPDX-License-Identifier: MIT
// morello bench: checks a kernel, then times it beside the core's peak rate of multiply-adds.
#include "checked_run.hh"
#include "command.hh"
#include "compare.hh"
#include "duel.hh"
#include "output.hh"
#include "peak.hh"
#include "rounds.hh"

namespace morello::tools {
namespace {

struct Figures {
  Timing kernel, peak;
  double flops, bytes, peak_flops;
  std::vector<Timing> rivals;
  const char* unit;  // GFLOP/s, or GOP/s where all is integers
  bool has_share;    // the peak, which is of multiply-adds in f32, is what bounds this kernel

  double gflops() const { return flops / kernel.best(); }
  double median_gflops() const { return flops / kernel.median(); }
  double peak_gflops() const { return peak_flops / peak.best(); }
  double gbytes() const { return bytes / kernel.best(); }
  double percent() const { return 100 * gflops() / peak_gflops(); }
  double median_percent() const { return 100 * median_gflops() / peak_gflops(); }
};

/// Pairs of integers, and of bf16 where the CPU has products of them, are not bounded by
/// multiply-adds in f32: they may take a part of their time.
bool multiplies_in_f32(const Operands& operands, int32_t isa) {
  const bool has_bf16 = isa == MORELLO_ISA_AVX512_BF16 || isa == MORELLO_ISA_AVX512_AMX;
  uint32_t integers = 0, halves = 0;
  for (uint32_t i = 0; i < operands.operand_of(0); ++i) {
    integers += is_integer(operands.tensor(i).dtype);
    halves += operands.tensor(i).dtype == MORELLO_BF16;
  }
  return integers < 2 && !operands.are_integers() && (!has_bf16 || halves < 2);
}

Figures measure_job(const Arguments& arguments, const Job& job, Operands* operands,
                    Comparison* comparison) {
  const int32_t isa = morello_kernel_isa(job.kernel.get());
  std::vector<Contender> contenders = {contender_of(job, operands),
                                       {[=](uint64_t calls) { fma_peak(isa, calls); }}};
  for (Contender& rival : comparison->contenders()) contenders.push_back(std::move(rival));
  const std::vector<Timing> timings = measure(contenders, {arguments.rounds, 2e-3});
  return {timings[0],
          timings[1],
          morello_spec_flops(job.spec.get()),
          operands->compulsory_bytes(),
          fma_peak_flops(isa),
          {timings.begin() + 2, timings.end()},
          operands->are_integers() ? "GOP/s" : "GFLOP/s",
          multiplies_in_f32(*operands, isa)};
}

Json figures_json(const Figures& figures) {
  return {{"best_ns", figures.kernel.best()},
          {"median_ns", figures.kernel.median()},
          {"spread", figures.kernel.spread()},
          {"noise", !noise(figures.kernel.spread()).empty()},
          {"rounds", figures.kernel.samples.size()},
          {"calls_per_round", figures.kernel.calls},
          {"gflops", figures.gflops()},
          {"median_gflops", figures.median_gflops()},
          {"compulsory_gbytes_per_second", figures.gbytes()},
          {"peak_gflops", figures.peak_gflops()},
          {"percent_of_peak", figures.has_share ? Json(figures.percent()) : Json()},
          {"median_percent_of_peak", figures.has_share ? Json(figures.median_percent()) : Json()}};
}

void print_figures(const Arguments& arguments, const Job& job, const Figures& figures) {
  print("time     best {}, median {}, spread {:.0f}% over {} rounds of {} calls\n",
        human_time(figures.kernel.best()), human_time(figures.kernel.median()),
        100 * figures.kernel.spread(), figures.kernel.samples.size(), figures.kernel.calls);
  print("rate     best {:.1f} {}, median {:.1f}; {:.2f} GB/s of compulsory traffic\n",
        figures.gflops(), figures.unit, figures.median_gflops(), figures.gbytes());
  const char* const isa = isa_name(morello_kernel_isa(job.kernel.get()));
  const std::string threads =
      arguments.threads > 1 ? fmt::format("; {} threads", arguments.threads) : "";
  if (figures.has_share)
    print(
        "peak     best {:.1f}%, median {:.1f}% of this core's {:.1f} GFLOP/s ({} FMA in f32, "
        "measured between the rounds){}\n",
        figures.percent(), figures.median_percent(), figures.peak_gflops(), isa, threads);
  else
    print(
        "peak     not measured of these element types; this core has {:.1f} GFLOP/s of FMA in "
        "f32{}\n",
        figures.peak_gflops(), threads);
  if (const std::string text = noise(figures.kernel.spread()); !text.empty())
    print("noise    {}\n", text);
}

}  // namespace

int bench_command(const Arguments& arguments, const std::string& text) {
  if (const std::string problem = find_bad_export(arguments); !problem.empty())
    return report_failure(arguments, text, problem);
  if (!arguments.rivals.empty()) return duel_command(arguments, text);
  std::optional<Job> job = make_job(arguments, text, JobKind::kRun);
  if (!job) return kExitLibrary;
  if (job->size != 0 && !arguments.exports.empty()) {
    print_error("morello: --export: rounds of run-time sizes are not exported; {}\n",
                "write a number for each '?', or give a second SPEC");
    return kExitUsage;
  }
  if (job->size != 0) return bench_sizes(arguments, text, &*job);
  if (!arguments.sizes.empty()) return report_size(*job);
  const std::string tree =
      arguments.tree
          ? text_of(morello_kernel_print, static_cast<const morello_kernel*>(job->kernel.get()))
          : std::string();
  if (arguments.tree && !arguments.json) print("{}\n", tree);

  Operands operands(job->spec.get(), job->kernel.get());
  operands.fill_random(arguments.seed);
  const Outcome outcome = run_checked(arguments, text, *job, &operands);
  if (outcome.exit_code != kExitOk) return outcome.exit_code;
  const Check& check = outcome.check;
  Json report = describe(*job);
  if (arguments.tree) report["impl"] = tree;
  report["threads"] = arguments.threads;
  add_outcome(check, &report);
  if (!arguments.json) {
    print("spec     {}\n", job->text);
    print("kernel   {}\n", morello_kernel_name(job->kernel.get()));
    const morello_search_stats& stats = job->stats;
    const uint64_t search = stats.lookup_nanoseconds + stats.search_nanoseconds;
    const uint64_t code = stats.plan_nanoseconds + stats.emit_nanoseconds;
    if (stats.stored != 0)
      print("made     loaded: no search, no emission\n");
    else
      print("made     search {}, code {}\n", human_time(static_cast<double>(search)),
            human_time(static_cast<double>(code)));
    if (job->stats.optimal != 1) print("cost     {}\n", describe_proof(*job));
    print_outcome(check);
    flush_out();
  }
  if (check.ok) {
    Comparison comparison(arguments, *job, &operands);
    const Figures figures = measure_job(arguments, *job, &operands, &comparison);
    report.update(figures_json(figures));
    if (!arguments.json) print_figures(arguments, *job, figures);
    const std::string problem = export_rounds(arguments, {{text, &*job, figures.kernel}});
    if (!problem.empty()) return report_failure(arguments, text, problem);
    comparison.report(arguments, figures.rivals, figures.kernel.best(), &report);
  }
  if (arguments.json) print_json(report);
  return check.ok ? kExitOk : kExitFailed;
}

}  // namespace morello::tools

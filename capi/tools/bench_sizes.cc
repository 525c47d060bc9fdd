// SPDX-License-Identifier: MIT
// morello bench of a kernel with a run-time size: at some sizes beside kernels of exactly that
// size, in the same rounds.
#include <cmath>
#include <set>

#include "checked_run.hh"
#include "command.hh"
#include "duel.hh"
#include "output.hh"

namespace morello::tools {
namespace {

/// Small ones, some that no tile divides, and large ones.
std::vector<int64_t> usual_sizes(int64_t largest) {
  std::set<int64_t> sizes = {1, largest};
  for (const int64_t size : {2, 5, 8, 17, 33, 64, 100, 129}) sizes.insert(size);
  for (const int64_t part : {3, 4, 5}) sizes.insert(largest * part / 7);
  while (*sizes.begin() < 1) sizes.erase(sizes.begin());
  sizes.erase(sizes.upper_bound(largest), sizes.end());
  return {sizes.begin(), sizes.end()};
}

/// Checks the kernel on new operands.
int prepare(const Arguments& arguments, const std::string& text, const Job& job,
            std::optional<Operands>* operands) {
  operands->emplace(job.spec.get(), job.kernel.get());
  (*operands)->fill_random(arguments.seed);
  const Outcome outcome = run_checked(arguments, text, job, &**operands);
  if (outcome.exit_code != kExitOk || outcome.check.ok) return outcome.exit_code;
  return report_failure(arguments, text, "WRONG: " + outcome.check.describe());
}

/// Mean of logarithms: ratios and their inverses weigh the same.
double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

}  // namespace

int bench_sizes(const Arguments& arguments, const std::string& text, Job* job) {
  const morello_kernel* kernel = job->kernel.get();
  const std::vector<int64_t> sizes =
      arguments.sizes.empty() ? usual_sizes(morello_kernel_largest_size(kernel)) : arguments.sizes;
  Json report = describe(*job);
  report["sizes"] = Json::array();
  if (!arguments.json) {
    print("spec     {}\n", job->text);
    print("kernel   {}\n", morello_kernel_name(kernel));
    print("  size        time   fixed size   times as long (99% certain)   predicted\n");
  }
  std::vector<double> ratios, best, predicted;
  for (const int64_t size : sizes) {
    morello_error* error = nullptr;
    if (!set_size(job, size, &error)) return report_error(arguments, text, ErrorPtr(error).get());
    const std::string fixed_text =
        text_of(morello_spec_print, static_cast<const morello_spec*>(job->spec.get()));
    const std::optional<Job> fixed = make_job(arguments, fixed_text, JobKind::kRun);
    if (!fixed) return kExitLibrary;
    std::optional<Operands> own, others;
    if (int code = prepare(arguments, text, *job, &own); code != kExitOk) return code;
    if (int code = prepare(arguments, fixed_text, *fixed, &others); code != kExitOk) return code;
    const std::vector<Timing> timings = measure(
        {contender_of(*job, &*own), contender_of(*fixed, &*others)}, {arguments.rounds, 2e-3});
    const Ratio ratio = compare(timings[0], timings[1]);
    ratios.push_back(ratio.median);
    best.push_back(timings[0].best() / timings[1].best());
    predicted.push_back(morello_kernel_sized_cost(kernel, size) /
                        morello_kernel_cost(fixed->kernel.get()));
    report["sizes"].push_back({{"size", size},
                               {"best_ns", timings[0].best()},
                               {"fixed_best_ns", timings[1].best()},
                               {"ratio", ratio.median},
                               {"predicted_ratio", predicted.back()}});
    if (!arguments.json) {
      print("{:6}  {:>10}   {:>10}   {:.3f} ({:.3f} to {:.3f})      {:.3f}\n", size,
            human_time(timings[0].best()), human_time(timings[1].best()), ratio.median, ratio.low,
            ratio.high, predicted.back());
      flush_out();
    }
  }
  report["mean_ratio"] = geometric_mean(ratios);
  report["mean_best_ratio"] = geometric_mean(best);
  report["mean_predicted_ratio"] = geometric_mean(predicted);
  if (arguments.json)
    print_json(report);
  else
    print(
        "mean     {:.3f} times as long as kernels of fixed sizes, {:.3f} in the best rounds, "
        "predicted {:.3f}\n",
        geometric_mean(ratios), geometric_mean(best), geometric_mean(predicted));
  return kExitOk;
}

}  // namespace morello::tools

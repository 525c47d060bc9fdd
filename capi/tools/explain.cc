// SPDX-License-Identifier: MIT
// morello explain: where the predicted cycles of a program go, and what it takes when it runs.
#include "explain.hh"

#include <algorithm>

#include "checked_run.hh"
#include "command.hh"
#include "duel.hh"
#include "explain_page.hh"
#include "output.hh"
#include "peak.hh"
#include "rounds.hh"

namespace morello::tools {
namespace {

bool can_run(int32_t target) {
  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof info) != MORELLO_OK || info.jit == 0) return false;
  return target == MORELLO_ISA_AUTO ? info.usable_isas != 0 : info.usable_isas >> target & 1;
}

/// One kernel beside the core's peak, whose rate says what a cycle is.
Json measure_job(const Arguments& arguments, const Job& job, const Json& found) {
  Operands operands(job.spec.get(), job.kernel.get());
  operands.fill_random(arguments.seed);
  if (operands.pack(job.kernel.get()) != MORELLO_OK) return {};
  const int32_t isa = morello_kernel_isa(job.kernel.get());
  const std::vector<Contender> contenders = {contender_of(job, &operands),
                                             {[=](uint64_t calls) { fma_peak(isa, calls); }}};
  const std::vector<Timing> timings = measure(contenders, {arguments.rounds, 2e-3});
  const double per_cycle =
      found["peak_flops_per_cycle"].get<double>() / found["threads"].get<double>();
  const double gigahertz = fma_peak_flops(isa) / timings[1].best() / per_cycle;
  return {{"best_ns", timings[0].best()},
          {"median_ns", timings[0].median()},
          {"spread", timings[0].spread()},
          {"gigahertz", gigahertz},
          {"cycles", timings[0].best() * gigahertz},
          {"gflops", morello_spec_flops(job.spec.get()) / timings[0].best()}};
}

std::string share(double part, double whole) {
  return fmt::format("{:5.1f}%", whole > 0 ? 100 * part / whole : 0);
}

void print_explanation(const Json& e) {
  const double cycles = e["cycles"];
  print("spec      {}\n", e["spec"].get<std::string>());
  print("target    {}, machine {}{}\n", e["target"].get<std::string>(),
        e["machine"].get<std::string>(),
        e["threads"] > 1 ? fmt::format(", {} threads", e["threads"].get<int>()) : "");
  print("predicted {} cycles\n", grouped(cycles));
  if (e.contains("measured")) {
    const Json& m = e["measured"];
    const double measured = m["cycles"];
    print(
        "measured  {} cycles ({} at {:.2f} GHz, the rate of its multiply-adds): {:.2f} times the "
        "prediction\n",
        grouped(measured), human_time(m["best_ns"]), m["gigahertz"].get<double>(),
        measured / cycles);
    if (const std::string text = noise(m["spread"]); !text.empty()) print("noise     {}\n", text);
  }
  const Json& least = e["least"];
  print("bound     {}: at least {} cycles of arithmetic, {} of lines from L2, {} from memory\n\n",
        e["bound"].get<std::string>(), grouped(least["arithmetic"]), grouped(least["L2"]),
        grouped(least["memory"]));
  print("where the cycles go\n");
  for (const auto& [name, value] : e["resources"].items())
    print("  {}  {:>14}  {}\n", share(value, cycles), grouped(value), about_resource(name));
  print("\nlines from L2 and memory, by operand\n");
  for (const Json& o : e["operands"])
    print("  {}  {:>14}  {} ({}, {} elements)\n", share(o["line_cycles"], cycles),
          grouped(o["line_cycles"]), o["name"].get<std::string>(), o["role"].get<std::string>(),
          grouped(o["elements"]));
  if (e["buffer_line_cycles"] > 0.0)
    print("  {}  {:>14}  buffers\n", share(e["buffer_line_cycles"], cycles),
          grouped(e["buffer_line_cycles"]));
  print("\n  own     below   runs  program\n");
  for (const Json& node : e["nodes"]) {
    const std::string indent(2 * node["depth"].get<size_t>(), ' ');
    if (node.contains("again")) {
      print("                       {}{}\n", indent, node["text"].get<std::string>());
      continue;
    }
    const double runs = node["runs"], own = node["own"], all = node["cycles"];
    print("{}  {} {:>6}  {}{}\n", share(runs * own, cycles), share(runs * all, cycles),
          grouped(runs), indent, node["text"].get<std::string>());
  }
}

}  // namespace

std::string about_resource(const std::string& name) {
  if (name == "arithmetic") return "operations (FMA and others), at the core's peak";
  if (name == "near") return "beside operations: loads, latencies, starting microkernels";
  if (name == "copies") return "copies in registers and L1: loads and stores alone";
  if (name == "L2") return "lines from L2 to L1, and back";
  if (name == "memory") return "lines from memory to L2, and back";
  if (name == "loops") return "loops, and starting threads";
  return name;
}

int explain_command(const Arguments& arguments, const std::string& text) {
  if (const std::string problem = find_unwritable({arguments.html}); !problem.empty())
    return report_failure(arguments, text, problem);
  const bool runs = can_run(arguments.target);
  std::optional<Job> job = make_job(arguments, text, runs ? JobKind::kRun : JobKind::kSearch);
  if (!job) return kExitLibrary;
  if (morello_kernel_largest_size(job->kernel.get()) != 0)
    return report_run_time_size(arguments, text);
  std::string found =
      text_of(morello_kernel_explain, static_cast<const morello_kernel*>(job->kernel.get()));
  if (found.empty()) {  // one that was stored, by a cache: its program is not
    const std::optional<Job> again = make_job(arguments, job->text, JobKind::kSearch);
    if (!again) return kExitLibrary;
    found =
        text_of(morello_kernel_explain, static_cast<const morello_kernel*>(again->kernel.get()));
  }
  Json report = describe(*job);
  report.update(Json::parse(found));
  report["flops"] = morello_spec_flops(job->spec.get());
  if (runs) report["measured"] = measure_job(arguments, *job, report);
  if (!arguments.html.empty()) {
    std::string problem;
    const std::string page = explanation_page(arguments, report, &problem);
    if (problem.empty()) problem = replace_files({{arguments.html, page}});
    if (!problem.empty()) return report_failure(arguments, text, problem);
  }
  if (arguments.json) {
    print_json(report);
  } else {
    print_explanation(report);
  }
  return kExitOk;
}

}  // namespace morello::tools

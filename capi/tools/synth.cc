// SPDX-License-Identifier: MIT
// morello synth: finds the program for a Spec, and says what the search did.
#include "command.hh"
#include "output.hh"

namespace morello::tools {
namespace {

const char* table_answer(const morello_search_stats& stats) {
  if (stats.table_use == MORELLO_TABLE_ANSWERED) return "the program is the table's";
  if (stats.table_use == MORELLO_TABLE_WRONG) return "covers the Spec, but with wrong decisions";
  if (stats.table_reason == MORELLO_TABLE_REASON_TARGET) return "is for another target";
  if (stats.table_reason == MORELLO_TABLE_REASON_THREADS) return "is for another --threads";
  if (stats.table_use == MORELLO_TABLE_NEAR) return "does not cover the Spec, but near sizes";
  return "does not cover the Spec";
}

void print_search(const morello_search_stats& stats) {
  print("search   {}; {} specs, {} states, {} expanded, {} previews, {} memo hits, {} KiB\n",
        human_time(static_cast<double>(stats.search_nanoseconds)),
        grouped(static_cast<double>(stats.specs)), grouped(static_cast<double>(stats.states)),
        grouped(static_cast<double>(stats.expanded)), grouped(static_cast<double>(stats.previews)),
        grouped(static_cast<double>(stats.memo_hits)),
        grouped(static_cast<double>(stats.bytes) / 1024));
}

}  // namespace

int synth_command(const Arguments& arguments, const std::string& text) {
  if (const std::string problem = find_unwritable({arguments.save}, true); !problem.empty())
    return report_failure(arguments, text, problem);
  const std::optional<Job> job =
      make_job(arguments, text, arguments.save.empty() ? JobKind::kRun : JobKind::kCode);
  if (!job) return kExitLibrary;
  if (!arguments.save.empty()) {
    morello_error* error = nullptr;
    if (morello_kernel_save(job->kernel.get(), arguments.save.c_str(), &error) != MORELLO_OK)
      return report_error(arguments, text, ErrorPtr(error).get());
  }
  const morello_kernel* kernel = job->kernel.get();
  const morello_search_stats& stats = job->stats;
  size_t code_bytes = 0;
  morello_kernel_code(kernel, &code_bytes);

  if (arguments.json) {
    Json report = describe(*job);
    report["scratch_bytes"] = morello_kernel_scratch_size(kernel);
    report["code_bytes"] = code_bytes;
    if (const int64_t largest = morello_kernel_largest_size(kernel); largest != 0) {
      report["sizes_cost_cycles"] = Json::array();
      for (int64_t size = 1; size <= largest; ++size)
        report["sizes_cost_cycles"].push_back(morello_kernel_sized_cost(kernel, size));
    }
    report["stored"] = stats.stored != 0;
    report["search"] = {{"specs", stats.specs},
                        {"states", stats.states},
                        {"expanded", stats.expanded},
                        {"previews", stats.previews},
                        {"misfits", stats.misfits},
                        {"advances", stats.advances},
                        {"memo_hits", stats.memo_hits},
                        {"borrowed", stats.borrowed},
                        {"bytes", stats.bytes},
                        {"search_microseconds", stats.search_microseconds},
                        {"codegen_microseconds", stats.codegen_microseconds},
                        {"lookup_nanoseconds", stats.lookup_nanoseconds},
                        {"search_nanoseconds", stats.search_nanoseconds},
                        {"plan_nanoseconds", stats.plan_nanoseconds},
                        {"emit_nanoseconds", stats.emit_nanoseconds}};
    print_json(report);
    return kExitOk;
  }
  print("spec     {}\n", job->text);
  print("kernel   {} ({}, {} bytes of code, {} of scratch)\n", morello_kernel_name(kernel),
        isa_name(morello_kernel_isa(kernel)), grouped(static_cast<double>(code_bytes)),
        grouped(static_cast<double>(morello_kernel_scratch_size(kernel))));
  if (const int64_t largest = morello_kernel_largest_size(kernel); largest != 0) {
    print("sizes    1 to {}; size 1 costs {} cycles, and {}:\n", largest,
          grouped(morello_kernel_sized_cost(kernel, 1)), largest);
  }
  print("cost     {} cycles, {}\n", grouped(morello_kernel_cost(kernel)), describe_proof(*job));
  if (stats.table_use != MORELLO_TABLE_NONE)
    print("table    {}; {}\n", table_answer(stats),
          human_time(static_cast<double>(stats.lookup_nanoseconds)));
  print_miss(*job);
  if (stats.stored != 0) {
    print("stored   the kernel was loaded: no search, no emission\n");
    return kExitOk;
  }
  if (stats.table_use != MORELLO_TABLE_ANSWERED) print_search(stats);
  print("codegen  {}: plan {}, emission {}\n",
        human_time(static_cast<double>(stats.plan_nanoseconds + stats.emit_nanoseconds)),
        human_time(static_cast<double>(stats.plan_nanoseconds)),
        human_time(static_cast<double>(stats.emit_nanoseconds)));
  return kExitOk;
}

}  // namespace morello::tools

// SPDX-License-Identifier: MIT
// morello synth: finds the program for a Spec, and says what the search did.
#include "command.hh"
#include "fmt/format.h"

namespace morello::tools {

int synth_command(const Arguments& arguments, const std::string& text) {
  const std::optional<Job> job = make_job(arguments, text, false);
  if (!job) return kExitLibrary;
  const morello_kernel* kernel = job->kernel.get();
  morello_search_stats stats = {};
  if (const morello_status status = morello_kernel_stats(kernel, &stats, sizeof stats);
      status != MORELLO_OK) {
    return report_status(arguments, text, status);
  }
  size_t code_bytes = 0;
  morello_kernel_code(kernel, &code_bytes);

  if (arguments.json) {
    Json report = describe(*job);
    report["scratch_bytes"] = morello_kernel_scratch_size(kernel);
    report["code_bytes"] = code_bytes;
    report["search"] = {{"specs", stats.specs},
                        {"states", stats.states},
                        {"expanded", stats.expanded},
                        {"previews", stats.previews},
                        {"memo_hits", stats.memo_hits},
                        {"bytes", stats.bytes},
                        {"search_microseconds", stats.search_microseconds},
                        {"codegen_microseconds", stats.codegen_microseconds}};
    print_json(report);
    return kExitOk;
  }
  fmt::print("spec     {}\n", job->text);
  fmt::print("kernel   {} ({}, {} bytes of code, {} of scratch)\n", morello_kernel_name(kernel),
             isa_name(morello_kernel_isa(kernel)), grouped(static_cast<double>(code_bytes)),
             grouped(static_cast<double>(morello_kernel_scratch_size(kernel))));
  fmt::print("cost     {} cycles on the model\n", grouped(morello_kernel_cost(kernel)));
  fmt::print("search   {}; {} specs, {} states, {} expanded, {} previews, {} memo hits, {} KiB\n",
             human_time(static_cast<double>(stats.search_microseconds) * 1e3),
             grouped(static_cast<double>(stats.specs)), grouped(static_cast<double>(stats.states)),
             grouped(static_cast<double>(stats.expanded)),
             grouped(static_cast<double>(stats.previews)),
             grouped(static_cast<double>(stats.memo_hits)),
             grouped(static_cast<double>(stats.bytes) / 1024));
  fmt::print("codegen  {}\n", human_time(static_cast<double>(stats.codegen_microseconds) * 1e3));
  return kExitOk;
}

}  // namespace morello::tools

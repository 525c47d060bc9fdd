// SPDX-License-Identifier: MIT
// morello show: the Impl tree of the chosen program, and the plan that code is emitted from.
#include "command.hh"
#include "output.hh"

namespace morello::tools {

int show_command(const Arguments& arguments, const std::string& text) {
  // A tree can be shown for a CPU that is not here; a plan belongs to code.
  const std::optional<Job> job =
      make_job(arguments, text, arguments.plan ? JobKind::kRun : JobKind::kSearch);
  if (!job) return kExitLibrary;
  const morello_kernel* kernel = job->kernel.get();
  const std::string tree = text_of(morello_kernel_print, kernel);
  const std::string plan =
      arguments.plan ? text_of(morello_kernel_print_plan, kernel) : std::string();
  if (arguments.json) {
    Json report = describe(*job);
    report["impl"] = tree;
    if (arguments.plan) report["plan"] = plan;
    print_json(report);
    return kExitOk;
  }
  write_out(tree);
  if (arguments.plan) print("\n{}", plan);
  return kExitOk;
}

}  // namespace morello::tools

// SPDX-License-Identifier: MIT
#include "checked_run.hh"

#include "flags.hh"
#include "output.hh"

namespace morello::tools {
namespace {

Extent extent_of(int32_t check) {
  if (check == kCheckFull) return Extent::kFull;
  return check == kCheckSample ? Extent::kSample : Extent::kAuto;
}

}  // namespace

Outcome run_checked(const Arguments& arguments, const std::string& text, const Job& job,
                    Operands* operands) {
  Outcome outcome;
  const auto run = [&] {
    const morello_kernel* kernel = job.kernel.get();
    void* const* pointers = operands->pointers();
    void* scratch = operands->scratch();
    const morello_status status =
        job.size == 0
            ? morello_kernel_run(kernel, pointers, scratch, job.executor())
            : morello_kernel_run_sized(kernel, job.size, pointers, scratch, job.executor());
    if (status != MORELLO_OK) outcome.exit_code = report_status(arguments, text, status);
    return status == MORELLO_OK;
  };
  if (const morello_status status = operands->pack(job.kernel.get()); status != MORELLO_OK) {
    outcome.exit_code = report_status(arguments, text, status);
    return outcome;
  }
  if (!run()) return outcome;
  outcome.check.ok = true;
  outcome.check.results = operands->output_elements();
  if (arguments.check == kCheckNone) return outcome;

  StatusLine line;
  const auto progress = [&](const char* what) {
    return [&line, what](uint64_t done, uint64_t all) {
      line.show(fmt::format("{}: {} of {}, {:.0f}%", what, grouped(static_cast<double>(done)),
                            grouped(static_cast<double>(all)),
                            100 * static_cast<double>(done) / static_cast<double>(all)));
    };
  };
  outcome.check.results = 0;
  for (uint32_t output = 0; output < operands->output_count(); ++output) {
    Reference reference(job.spec.get(), operands, output);
    morello_error* error = nullptr;
    if (reference.compute(extent_of(arguments.check), arguments.seed,
                          progress("computing the reference"), &error) != MORELLO_OK) {
      line.clear();
      outcome.exit_code = report_error(arguments, text, ErrorPtr(error).get());
      return outcome;
    }
    outcome.check.add(reference.check(operands->result(output), progress("comparing")),
                      operands->output_count() == 1 ? -1 : static_cast<int>(output));
  }
  return outcome;
}

void print_outcome(const Check& check) {
  if (check.checked == 0) {
    print("result   not checked\n");
  } else {
    print("result   {}: {}\n", check.ok ? "ok" : "WRONG", check.describe());
  }
}

void add_outcome(const Check& check, Json* report) {
  (*report)["checked"] = check.checked;
  (*report)["results"] = check.results;
  (*report)["ok"] = check.checked == 0 ? Json() : Json(check.ok);
  (*report)["worst_error"] = check.worst_error;
  (*report)["worst_share_of_bound"] = check.worst_share;
}

void add_check_options(CLI::App* command, Arguments* arguments) {
  add_choice(command, "--check",
             "which results to compare: full, sample, none (default: a sample of large ones)",
             {{"full", kCheckFull}, {"sample", kCheckSample}, {"none", kCheckNone}},
             &arguments->check, "HOW");
  add_whole(command, "--seed", "of the random inputs (default 1)", {}, &arguments->seed);
}

}  // namespace morello::tools

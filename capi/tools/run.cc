// SPDX-License-Identifier: MIT
// morello run: runs a kernel once, on random or given inputs, and checks the result.
#include <algorithm>

#include "checked_run.hh"
#include "npy.hh"
#include "output.hh"

namespace morello::tools {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::vector<int64_t> shape_of(const morello_tensor& tensor) {
  return {tensor.shape, tensor.shape + tensor.rank};
}

/// Returns an empty string, or what is wrong with a file.
std::string load_inputs(const Arguments& arguments, Operands* operands) {
  const size_t most = operands->count();
  if (arguments.inputs.size() > most) {
    return fmt::format("{} files for --input, but the Spec has {} operands",
                       arguments.inputs.size(), most);
  }
  for (uint32_t i = 0; i < arguments.inputs.size(); ++i) {
    Array array;
    const std::string problem = read_npy(arguments.inputs[i], &array);
    if (!problem.empty()) return problem;
    const std::vector<int64_t> wanted = shape_of(operands->tensor(i));
    if (array.shape != wanted) {
      return fmt::format("{}: shape {} where operand {} is {}", arguments.inputs[i],
                         shape_text(array.shape), i, shape_text(wanted));
    }
    if (const int32_t dtype = operands->tensor(i).dtype; array.dtype != dtype) {
      return fmt::format("{}: elements of {} where operand {} is {}", arguments.inputs[i],
                         dtype_name(array.dtype), i, dtype_name(dtype));
    }
    operands->set(i, array.elements.data());
  }
  return {};
}

/// Runs the job at the size that it has. Returns the exit code, unless that is one of the result.
int run_once(const Arguments& arguments, const std::string& text, const Job& job, Check* check) {
  Operands operands(job.spec.get(), job.kernel.get());
  operands.fill_random(arguments.seed);
  if (arguments.results.size() > operands.output_count())
    return report_failure(arguments, text,
                          fmt::format("{} files for --output, but the Spec has {} outputs",
                                      arguments.results.size(), operands.output_count()));
  if (const std::string problem = load_inputs(arguments, &operands); !problem.empty())
    return report_failure(arguments, text, problem);
  const Outcome outcome = run_checked(arguments, text, job, &operands);
  if (outcome.exit_code != kExitOk) return outcome.exit_code;
  *check = outcome.check;
  for (uint32_t i = 0; i < arguments.results.size(); ++i) {
    const morello_tensor& out = operands.tensor(operands.operand_of(i));
    const std::string problem =
        write_npy(arguments.results[i], {shape_of(out), out.dtype, operands.output(i)});
    if (!problem.empty()) return report_failure(arguments, text, problem);
  }
  return kExitOk;
}

}  // namespace

int run_command(const Arguments& arguments, const std::string& text) {
  if (const std::string problem = find_unwritable(arguments.results); !problem.empty())
    return report_failure(arguments, text, problem);
  std::optional<Job> job = make_job(arguments, text, JobKind::kRun);
  if (!job) return kExitLibrary;
  if (!arguments.sizes.empty() && job->size == 0) return report_size(*job);
  const bool several = arguments.sizes.size() > 1;
  if (several && (!arguments.inputs.empty() || !arguments.results.empty())) {
    print_error(
        "morello: --input and --output are files of one size; give --size once, not {} times\n",
        arguments.sizes.size());
    return kExitUsage;
  }
  const std::vector<int64_t> sizes = several ? arguments.sizes : std::vector<int64_t>{job->size};
  std::vector<Check> checks(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    morello_error* error = nullptr;
    if (several && !set_size(&*job, sizes[i], &error))
      return report_error(arguments, text, ErrorPtr(error).get());
    const int exit_code = run_once(arguments, text, *job, &checks[i]);
    if (exit_code != kExitOk) return exit_code;
  }
  const bool ok = std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.ok; });

  if (arguments.json) {
    Json report = describe(*job);
    report["seed"] = arguments.seed;
    if (!several) {
      add_outcome(checks[0], &report);
    } else {
      report["sizes"] = Json::array();
      for (size_t i = 0; i < sizes.size(); ++i) {
        report["sizes"].push_back({{"size", sizes[i]}});
        add_outcome(checks[i], &report["sizes"].back());
      }
    }
    print_json(report);
  } else {
    print("spec     {}\n", job->text);
    print("kernel   {}\n", morello_kernel_name(job->kernel.get()));
    if (job->stats.optimal != 1) print("cost     {}\n", describe_proof(*job));
    if (!job->miss.empty()) print("table    does not cover the Spec\n");
    print_miss(*job);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (several) print("size     {}\n", sizes[i]);
      print_outcome(checks[i]);
    }
  }
  return ok ? kExitOk : kExitFailed;
}

}  // namespace morello::tools

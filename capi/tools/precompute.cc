// SPDX-License-Identifier: MIT
// morello precompute: solves families of Specs into a table file, and may be interrupted.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "CLI/CLI.hpp"
#include "command.hh"
#include "fmt/format.h"

namespace morello::tools {
namespace {

// What a signal handler may touch.
int32_t g_cancel = 0;
void cancel(int) { __atomic_store_n(&g_cancel, 1, __ATOMIC_RELAXED); }

struct Report {
  bool terminal = isatty(STDERR_FILENO) != 0;
  morello_precompute_progress last = {};
};

std::string line_of(const morello_precompute_progress& p) {
  double seconds = static_cast<double>(p.microseconds) / 1e6;
  double share = p.members == 0 ? 1 : static_cast<double>(p.done) / static_cast<double>(p.members);
  std::string bar(20, '.');
  bar.replace(0, static_cast<size_t>(share * 20), static_cast<size_t>(share * 20), '#');
  std::string left = p.remaining == 0 ? "" : fmt::format(", {:.0f} s left", p.remaining / 1e6);
  return fmt::format("[{}] {} of {} Specs, {:.0f} a second{}; {} saved, {} MiB", bar,
                     grouped(static_cast<double>(p.done)), grouped(static_cast<double>(p.members)),
                     seconds > 0 ? static_cast<double>(p.done - p.found) / seconds : 0, left,
                     grouped(static_cast<double>(p.saved)), p.bytes >> 20);
}

void show(void* user, const morello_precompute_progress* p) {
  auto* report = static_cast<Report*>(user);
  report->last = *p;
  if (report->terminal) fmt::print(stderr, "\r\033[K{}", line_of(*p));
}

/// "2/8" as part 1 of 8. False: it is no such thing.
bool read_block(const std::string& text, morello_precompute_options* options) {
  if (text.empty()) return true;
  unsigned number = 0, count = 0;
  char end = 0;
  if (std::sscanf(text.c_str(), "%u/%u%c", &number, &count, &end) != 2 || number < 1 ||
      number > count)
    return false;
  options->part = number - 1;
  options->parts = count;
  return true;
}

}  // namespace

CLI::App* add_precompute_command(CLI::App* app, Arguments* arguments) {
  CLI::App* precompute = app->add_subcommand(
      "precompute", "solve families of Specs, such as 'matmul f32[<=512,<=512] f32[<=512,<=512]'");
  precompute->add_option("FAMILY", arguments->families, "Specs in which sizes may be bounds")
      ->required();
  precompute->add_option("--out", arguments->output, "the table file; what it has is kept")
      ->required()
      ->option_text("FILE.mtab");
  add_target(precompute, arguments);
  precompute->add_option("--threads", arguments->threads, "most threads a kernel uses (default 1)");
  precompute->add_option("--workers", arguments->workers,
                         "threads that solve (default: one per processor)");
  precompute->add_option("--block", arguments->block, "solve this part of so many, then stop")
      ->option_text("I/N");
  precompute->add_option("--memory-budget", arguments->memory_budget,
                         "MiB of search memory (default 4096)");
  precompute->add_flag("--json", arguments->json, "report as one line of JSON");
  return precompute;
}

int precompute_command(const Arguments& arguments) {
  morello_precompute_options options;
  morello_precompute_options_init(&options, sizeof options);
  options.target = arguments.target;
  options.threads = arguments.threads;
  options.workers = arguments.workers;
  if (arguments.memory_budget != 0) options.memory_budget = arguments.memory_budget << 20;
  if (!read_block(arguments.block, &options)) {
    fmt::print(stderr, "morello: --block is '{}'; valid are 1/N to N/N\n", arguments.block);
    return kExitUsage;
  }
  Report report;
  options.progress = show;
  options.progress_user = &report;
  options.cancel = &g_cancel;
  std::signal(SIGINT, cancel);
  std::signal(SIGTERM, cancel);

  morello_error* error = nullptr;
  morello_context* context = nullptr;
  morello_status status = morello_context_create(nullptr, &context, &error);
  const ContextPtr owner(context);
  std::vector<const char*> families;
  for (const std::string& family : arguments.families) families.push_back(family.c_str());
  if (status == MORELLO_OK)
    status = morello_precompute(context, families.data(), families.size(), arguments.output.c_str(),
                                &options, &error);
  if (report.terminal) fmt::print(stderr, "\r\033[K");
  const ErrorPtr error_owner(error);
  if (status != MORELLO_OK && status != MORELLO_CANCELLED)
    return report_error(arguments, arguments.families.front(), error);
  const morello_precompute_progress& p = report.last;
  if (arguments.json) {
    print_json({{"file", arguments.output},
                {"complete", status == MORELLO_OK},
                {"members", p.members},
                {"done", p.done},
                {"found", p.found},
                {"without_program", p.without_program},
                {"saved", p.saved},
                {"pairs", p.pairs},
                {"boxes", p.boxes},
                {"microseconds", p.microseconds}});
  } else {
    fmt::print("{}: {} of {} Specs, {} of them found in the file; {} pairs in {} boxes; {:.1f} s\n",
               arguments.output, grouped(static_cast<double>(p.done)),
               grouped(static_cast<double>(p.members)), grouped(static_cast<double>(p.found)),
               grouped(static_cast<double>(p.pairs)), grouped(static_cast<double>(p.boxes)),
               static_cast<double>(p.microseconds) / 1e6);
    if (status == MORELLO_CANCELLED)
      fmt::print("interrupted: the same command goes on where this one stopped\n");
  }
  return status == MORELLO_OK ? kExitOk : kExitFailed;
}

}  // namespace morello::tools

// SPDX-License-Identifier: MIT
// morello precompute: families of Specs into a table file, with a view of how far it is.
#include <signal.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "CLI/CLI.hpp"
#include "command.hh"
#include "flags.hh"
#include "output.hh"
#include "usage.hh"

namespace morello::tools {
namespace {

int32_t interrupted = 0;

extern "C" void interrupt(int) { __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED); }

/// The first Ctrl-C ends the work in an orderly way, a second one the process.
void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

std::string count(uint64_t number) { return grouped(static_cast<double>(number)); }

std::string clock_time(double seconds) {
  const uint64_t s = static_cast<uint64_t>(std::ceil(seconds));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// How far it is.
class View {
 public:
  static void show(void* view, const morello_precompute_progress* now) {
    static_cast<View*>(view)->show(*now);
  }
  const morello_precompute_progress& last() const { return last_; }
  void clear() { line_.clear(); }

 private:
  static constexpr double kRateSeconds = 2;  // that rates are of, at least

  void show(const morello_precompute_progress& now) {
    last_ = now;
    const double seconds = static_cast<double>(now.microseconds) / 1e6;
    if (seconds - rate_from_ >= kRateSeconds) {
      rate_ = static_cast<double>(now.done - now.found - rate_done_) / (seconds - rate_from_);
      rate_from_ = seconds;
      rate_done_ = now.done - now.found;
    }
    if (line_.on_terminal()) {
      line_.show(fmt::format("[{}] {}", bar(now), text(now)));
    } else if (now.done < now.members) {
      line_.show(text(now));
    }
  }

  /// By time, for most of the time goes into the largest members.
  static std::string bar(const morello_precompute_progress& now) {
    constexpr size_t kWidth = 24;
    const double passed = static_cast<double>(now.microseconds);
    const double left = static_cast<double>(now.remaining);
    double share = left > 0 ? passed / (passed + left) : 0;
    if (now.done == now.members) share = 1;
    const size_t full = static_cast<size_t>(share * kWidth);
    return std::string(full, '=') + std::string(kWidth - full, ' ');
  }

  std::string text(const morello_precompute_progress& now) const {
    std::string s = fmt::format("{} of {} members", count(now.done), count(now.members));
    if (rate_ > 0) s += fmt::format(", {}/s", count(static_cast<uint64_t>(rate_)));
    if (now.remaining > 0)
      s += fmt::format(", {} left", clock_time(static_cast<double>(now.remaining) / 1e6));
    return s + fmt::format(", {} saved, {} MiB", count(now.saved), now.bytes >> 20);
  }

  StatusLine line_;
  morello_precompute_progress last_ = {};
  double rate_from_ = 0, rate_ = 0;
  uint64_t rate_done_ = 0;
};

/// The family that an error of several is about: its message begins with where it is among them.
std::string family_of(const Arguments& arguments, const morello_error* error) {
  const std::string message = morello_error_message(error);
  for (size_t i = 0; i < arguments.families.size(); i++)
    if (message.rfind(fmt::format("families[{}]: ", i), 0) == 0) return arguments.families[i];
  return arguments.families.front();
}

/// Both counted from 1; false if there is no such part.
bool read_part(const std::string& text, morello_precompute_options& options) {
  if (text.empty()) return true;
  unsigned part = 0, parts = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%u/%u%c", &part, &parts, &rest) != 2) return false;
  options.part = part - 1;
  options.parts = parts;
  return part >= 1 && part <= parts;
}

void report_end(const Arguments& arguments, const morello_precompute_progress& end, bool whole) {
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(arguments.output, unknown);
  const uint64_t file_bytes = unknown ? 0 : size;
  if (arguments.json) {
    print_json({{"file", arguments.output},
                {"families", arguments.families},
                {"complete", whole},
                {"members", end.members},
                {"done", end.done},
                {"found", end.found},
                {"saved", end.saved},
                {"without_program", end.without_program},
                {"pairs", end.pairs},
                {"boxes", end.boxes},
                {"file_bytes", file_bytes},
                {"microseconds", end.microseconds}});
    return;
  }
  print("members   {} of {}: {} solved, {} were in the file{}\n", count(end.done),
        count(end.members), count(end.saved), count(end.found),
        end.without_program == 0 ? ""
                                 : fmt::format(", {} have no program", count(end.without_program)));
  print("table     {}: {} decisions in {} boxes, {} bytes\n", arguments.output, count(end.pairs),
        count(end.boxes), count(file_bytes));
  print("time      {:.1f} s\n", static_cast<double>(end.microseconds) / 1e6);
  if (!whole) print("stopped; what was solved is kept, and the same command goes on\n");
}

/// "-" alone is the lines of standard input.
int read_families(Arguments& arguments) {
  if (arguments.families != std::vector<std::string>{"-"}) return kExitOk;
  arguments.spec = "-";
  arguments.families.clear();
  const int exit_code = for_each_spec(arguments, [&](const Arguments&, const std::string& line) {
    arguments.families.push_back(line);
    return kExitOk;
  });
  if (exit_code != kExitOk || !arguments.families.empty()) return exit_code;
  return report_failure(arguments, "-", "no family in standard input");
}

}  // namespace

CLI::App* add_precompute_command(CLI::App* app, Arguments* arguments) {
  CLI::App* command =
      app->add_subcommand("precompute", "solve families of Specs, and keep them in a table");
  command
      ->add_option(
          "FAMILY", arguments->families,
          "Specs in which sizes may be bounds: 'matmul f32[<=512,<=512] f32[<=512,<=64]'; or one "
          "is a run-time size, ?<=512; or - to read one per line from standard input")
      ->required();
  command->add_option("-o,--out", arguments->output, "the table; added to if it is there")
      ->required()
      ->option_text("FILE.mtab");
  add_target_options(command, arguments);
  add_table_effort(command, &arguments->effort);
  add_whole(command, "--workers", "threads that solve (default: all)", {1, 1024},
            &arguments->workers);
  command->add_option("--part", arguments->part, "solve one of N parts: 1/N, 2/N, ..")
      ->option_text("I/N");
  add_whole(command, "--memory-budget", "memory that the search may use, about (default 4096)",
            {1, kMostMebibytes}, &arguments->memory_budget, "MIB");
  add_seconds(command, "--save-every", "at least this long (default 2)", 86400,
              &arguments->save_every);
  command->add_flag("--json", arguments->json, "one line of JSON on standard output");
  return command;
}

int precompute_command(const Arguments& given) {
  Arguments arguments = given;
  if (const int exit_code = read_families(arguments)) return exit_code;
  morello_precompute_options options;
  morello_precompute_options_init(&options, sizeof options);
  options.target = arguments.target;
  options.threads = arguments.threads;
  options.effort = static_cast<uint32_t>(arguments.effort);
  options.workers = arguments.workers;
  options.save_interval = static_cast<uint32_t>((arguments.save_every + 999) / 1000);
  if (arguments.memory_budget > 0) options.memory_budget = arguments.memory_budget << 20;
  if (!read_part(arguments.part, options)) {
    print_error("morello: --part: {} is no part; valid are 1/N to N/N, such as 3/16\n",
                in_quotes(arguments.part));
    return kExitUsage;
  }
  View view;
  options.progress = View::show;
  options.progress_user = &view;
  options.cancel = &interrupted;
  catch_signals();

  std::vector<const char*> families;
  for (const std::string& family : arguments.families) families.push_back(family.c_str());
  morello_error* error = nullptr;
  const ContextPtr context = make_context(arguments, &error);
  const morello_status status =
      context ? morello_precompute(context.get(), families.data(), families.size(),
                                   arguments.output.c_str(), &options, &error)
              : morello_error_status(error);
  view.clear();
  const ErrorPtr owner(error);
  if (status != MORELLO_OK && status != MORELLO_CANCELLED) {
    const int exit_code = report_error(arguments, family_of(arguments, error), error);
    const bool is_word = arguments.families.front().find(' ') == std::string::npos;
    if (is_word && families.size() > 1) print_error("{}\n", quotes_hint("precompute"));
    return exit_code;
  }
  report_end(arguments, view.last(), status == MORELLO_OK);
  return status == MORELLO_OK ? kExitOk : kExitInterrupted;
}

}  // namespace morello::tools

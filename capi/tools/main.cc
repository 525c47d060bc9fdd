// SPDX-License-Identifier: MIT
// The `morello` command: reads the command line and calls one subcommand for every Spec.
#include <map>
#include <new>
#include <sstream>

#include "CLI/CLI.hpp"
#include "checked_run.hh"
#include "command.hh"
#include "flags.hh"
#include "fmt/ranges.h"
#include "output.hh"
#include "reference.hh"
#include "usage.hh"

namespace morello::tools {

void add_target_options(CLI::App* command, Arguments* arguments) {
  std::vector<const char*> words;
  for (const auto& [word, number] : kTargets) words.push_back(word);
  const std::string what = fmt::format("what to make kernels for: {}", fmt::join(words, ", "));
  add_choice(command, "--target,--isa", what.c_str(), {std::begin(kTargets), std::end(kTargets)},
             &arguments->target, "ISA");
  add_whole(command, "--threads", "most threads that the kernel may use", {1, 1024},
            &arguments->threads);
  command->add_flag("--read-machine", arguments->read_machine,
                    "search for this machine's caches, not for the named model");
  add_table_memory(command, arguments);
}

void add_table_memory(CLI::App* command, Arguments* arguments) {
  command
      ->add_option("--table-memory", arguments->table_memory,
                   "most memory that reading a table may take (default 256)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->option_text("MIB");
}

namespace {

constexpr const char* kFooter =
    "SPEC is one line of text, or - to read one per line from standard input, or, to run, bench,\n"
    "explain, synth and asm, FILE.mkrn, a kernel that synth --save has stored, for example\n"
    "  morello bench 'matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]'\n"
    "Exit codes: 0 ok; 1 wrong result or file; 2 command line; 3 the library refused; 130 "
    "interrupted.";

void add_common(CLI::App* command, Arguments* arguments) {
  command->add_option("SPEC", arguments->spec, "the computation, -, or FILE.mkrn")->required();
  add_target_options(command, arguments);
  add_whole(command, "--search-threads", "threads that search (default 1; 0: one per processor)",
            {0, 1024}, &arguments->search_threads);
  command
      ->add_option("--table", arguments->tables,
                   "look here before searching; several files are merged")
      ->allow_extra_args(false)
      ->option_text("FILE.mtab (repeat)");
  command->add_option("--cache", arguments->cache, "keep kernels here, and look here first")
      ->option_text("DIR");
  command->add_flag("--strict-table", arguments->strict_table,
                    "fail if the table is for another target or number of threads");
  add_seconds(command, "--time-budget", "end the search after this time (default 0: no limit)", 1e9,
              &arguments->time_budget);
  add_whole(command, "--memory-budget", "memory that the search may use (default 0: no limit)",
            {0, kMostMebibytes}, &arguments->memory_budget, "MIB");
  add_effort(command, &arguments->effort);
}

void add_sizes(CLI::App* command, const char* description, std::vector<int64_t>* sizes) {
  command->add_option("--size", *sizes, description)
      ->allow_extra_args(false)
      ->option_text("M (repeat)");
}

CLI::App* add(CLI::App* app, const char* name, const char* description, Arguments* arguments) {
  CLI::App* command = app->add_subcommand(name, description);
  command->add_flag("--json", arguments->json, "one line of JSON per SPEC on standard output");
  return command;
}

int run(int argc, char** argv) {
  CLI::App app("morello: synthesize fast kernels for tensor computations");
  app.set_version_flag("--version", std::string("morello ") + morello_version_string());
  app.require_subcommand(1);
  app.footer(kFooter);
  Arguments arguments;

  std::map<const CLI::App*, Command> commands;
  const auto add_command = [&](const char* name, const char* description, Command command) {
    CLI::App* added = add(&app, name, description, &arguments);
    add_common(added, &arguments);
    commands[added] = command;
    return added;
  };
  CLI::App* synth = add_command(
      "synth", "find the cheapest program; print its cost and what the search did", synth_command);
  synth->add_option("--save", arguments.save, "store the kernel here, whatever CPU it is for")
      ->option_text("FILE.mkrn");
  CLI::App* show = add_command("show", "print the Impl tree", show_command);
  show->get_option("SPEC")->description("the computation, or -");  // programs are not stored
  show->add_flag("--plan", arguments.plan, "print the plan too");
  CLI::App* run = add_command("run", "run once and check the result", run_command);
  add_check_options(run, &arguments);
  run->add_option("--input", arguments.inputs, "one .npy per operand, in order; others are random")
      ->allow_extra_args(false)
      ->option_text("FILE.npy (repeat)");
  run->add_option("--output", arguments.results, "write the result here; one per output, in order")
      ->allow_extra_args(false)
      ->option_text("FILE.npy (repeat)");
  add_sizes(run, "a run-time size to run; default: its bound", &arguments.sizes);
  CLI::App* bench = add_command("bench", "check the result, then measure", bench_command);
  add_check_options(bench, &arguments);
  add_whole(bench, "--rounds", "how often to measure (default 30)", {1, 100000}, &arguments.rounds);
  add_sizes(bench, "a run-time size to measure; default: several", &arguments.sizes);
  bench->add_flag("--show", arguments.tree, "print the Impl tree first");
  bench->add_flag("--compare", arguments.compare,
                  "time a plain compiled loop and OpenBLAS too, for matmuls of two matrices");
  bench
      ->add_option("OTHER", arguments.rivals,
                   "more Specs or stored kernels, to be timed in the same rounds and compared "
                   "with the first")
      ->option_text("...");
  bench->add_option("--export", arguments.exports, "write every round here, as CSV or JSON")
      ->allow_extra_args(false)
      ->option_text("FILE.csv|FILE.json (repeat)");
  CLI::App* why = add_command("explain", "say where the predicted cycles go, beside what it takes",
                              explain_command);
  why->add_option("--html", arguments.html, "also write a page with pictures here")
      ->option_text("FILE.html");
  add_whole(why, "--rounds", "how often to measure (default 30)", {1, 100000}, &arguments.rounds);
  CLI::App* assembly = add_command("asm", "disassemble the kernel", asm_command);
  assembly->add_option("--bytes", arguments.bytes, "also write the raw code here")
      ->option_text("FILE");
  const CLI::App* cpu =
      add(&app, "cpu", "print what the library knows about this machine", &arguments);

  CLI::App* completion =
      app.add_subcommand("completion", "print what a shell needs to complete this command line");
  std::vector<Choice> choices;
  for (const char* shell : shells())
    choices.emplace_back(shell, static_cast<int32_t>(choices.size()));
  int32_t shell = 0;
  add_choice(completion, "SHELL", "bash, zsh or fish", choices, &shell, "SHELL");
  completion->get_option("SHELL")->required();
  const CLI::App* man = app.add_subcommand("man", "print the manual page");

  const CLI::App* emit = add_emit_command(&app, &arguments);
  const CLI::App* table = add_table_command(&app, &arguments);
  const CLI::App* precompute = add_precompute_command(&app, &arguments);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      write_out(text.str());
      return kExitOk;
    }
    print_error("{}\n", explain(app, error, {argv + 1, argv + argc}));
    return kExitUsage;
  }
  const CLI::App* chosen = app.get_subcommands().front();
  if (chosen == completion || chosen == man) {
    const std::vector<CommandRow> rows = command_rows(app);
    write_out(chosen == man ? manual_page(app, rows)
                            : completion_of(shells()[static_cast<size_t>(shell)], rows));
    return kExitOk;
  }
  if (chosen == emit) return emit_command(arguments);
  if (chosen == precompute) return precompute_command(arguments);
  if (chosen == table)
    return table_command(arguments, table->get_subcommands().front()->get_name());
  if (chosen == cpu) return cpu_command(arguments);
  bool given = false;
  const int exit_code =
      for_each_spec(arguments, [&](const Arguments& numbered, const std::string& line) {
        given = true;
        return commands.at(chosen)(numbered, line);
      });
  if (given || exit_code != kExitOk) return exit_code;
  print_error("morello: no SPEC was given: standard input has no line of one\n");
  return kExitUsage;
}

}  // namespace
}  // namespace morello::tools

int main(int argc, char** argv) {
  using namespace morello::tools;
  prepare_output();
  int exit_code = kExitFailed;
  try {
    exit_code = run(argc, argv);
  } catch (const std::bad_alloc&) {
    write_error("morello: out of memory\n");
  } catch (const std::exception& error) {
    print_error("morello: {}\n", error.what());
  }
  return finish_output(exit_code);
}

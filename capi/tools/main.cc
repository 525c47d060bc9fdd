// SPDX-License-Identifier: MIT
// The `morello` command: reads the command line and calls one subcommand for every Spec.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <new>

#include "CLI/CLI.hpp"
#include "command.hh"
#include "fmt/format.h"

namespace morello::tools {

void add_target_options(CLI::App* command, Arguments* arguments) {
  std::string targets = "what to make kernels for, one of";
  for (const auto& [name, number] : kTargets) targets += std::string(" ") + name;
  command->add_option("--target,--isa", arguments->target, targets)
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, int32_t>(std::begin(kTargets), std::end(kTargets))))
      ->option_text("ISA");
  command->add_option("--threads", arguments->threads, "most threads that the kernel may use")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  command->add_flag("--read-machine", arguments->read_machine,
                    "search for this machine's caches, not for the named model");
}

namespace {

using Command = int (*)(const Arguments&, const std::string&);

constexpr const char* kFooter =
    "SPEC is one line of text, or - to read one per line from standard input, for example\n"
    "  morello bench 'matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]'\n"
    "Exit codes: 0 ok; 1 wrong result or file; 2 command line; 3 the library refused; 130 "
    "interrupted.";

void add_common(CLI::App* command, Arguments* arguments) {
  command->add_option("SPEC", arguments->spec, "the computation, or -")->required();
  add_target_options(command, arguments);
  command
      ->add_option("--search-threads", arguments->search_threads,
                   "threads that search (default 1; 0: one per processor)")
      ->check(CLI::Range(0, 1024))
      ->option_text("N");
  command
      ->add_option("--table", arguments->tables,
                   "look here before searching; several files are merged")
      ->allow_extra_args(false)
      ->option_text("FILE.mtab (repeat)");
  command->add_option("--time-budget", arguments->time_budget, "end the search after this time")
      ->check(CLI::Range(0.0, 1e9))
      ->option_text("SECONDS");
  command->add_option("--memory-budget", arguments->memory_budget, "memory that the search may use")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40))
      ->option_text("MIB");
}

CLI::App* add(CLI::App* app, const char* name, const char* description, Arguments* arguments) {
  CLI::App* command = app->add_subcommand(name, description);
  command->add_flag("--json", arguments->json, "one line of JSON per SPEC on standard output");
  return command;
}

/// Every line of standard input that is neither empty nor a comment. Returns the highest exit code.
int for_each_spec(const Arguments& arguments, Command command) {
  if (arguments.spec != "-") return command(arguments, arguments.spec);
  int exit_code = kExitOk;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == line.npos || line[first] == '#') continue;
    exit_code = std::max(exit_code, command(arguments, line));
  }
  return exit_code;
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
  add_command("synth", "find the cheapest program; print its cost and what the search did",
              synth_command);
  CLI::App* show = add_command("show", "print the Impl tree", show_command);
  show->add_flag("--plan", arguments.plan, "print the plan too");
  CLI::App* run = add_command("run", "run once and check the result", run_command);
  run->add_option("--seed", arguments.seed, "of the random inputs (default 1)");
  run->add_option("--input", arguments.inputs, "one .npy per operand, in order; others are random")
      ->allow_extra_args(false)
      ->option_text("FILE.npy (repeat)");
  run->add_option("--output", arguments.output, "write the result here")->option_text("FILE.npy");
  CLI::App* bench = add_command("bench", "check the result, then measure", bench_command);
  bench->add_option("--seed", arguments.seed, "of the random inputs (default 1)");
  bench->add_option("--rounds", arguments.rounds, "how often to measure (default 30)")
      ->check(CLI::Range(1, 100000));
  bench->add_flag("--show", arguments.tree, "print the Impl tree first");
  bench->add_flag("--compare", arguments.compare,
                  "time a plain compiled loop and OpenBLAS too, for matmuls of two matrices");
  CLI::App* assembly = add_command("asm", "disassemble the kernel", asm_command);
  assembly->add_option("--bytes", arguments.bytes, "also write the raw code here")
      ->option_text("FILE");
  const CLI::App* cpu =
      add(&app, "cpu", "print what the library knows about this machine", &arguments);

  const CLI::App* table = add_table_command(&app, &arguments);
  const CLI::App* precompute = add_precompute_command(&app, &arguments);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  const CLI::App* chosen = app.get_subcommands().front();
  if (chosen == precompute) return precompute_command(arguments);
  if (chosen == table)
    return table_command(arguments, table->get_subcommands().front()->get_name());
  return chosen == cpu ? cpu_command(arguments) : for_each_spec(arguments, commands.at(chosen));
}

}  // namespace
}  // namespace morello::tools

int main(int argc, char** argv) {
  try {
    return morello::tools::run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "morello: out of memory\n");
    return morello::tools::kExitFailed;
  }
}

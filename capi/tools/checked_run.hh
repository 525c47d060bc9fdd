// SPDX-License-Identifier: MIT
// One run of a kernel and the check of its result, as --check says.
#ifndef MORELLO_CAPI_TOOLS_CHECKED_RUN_HH
#define MORELLO_CAPI_TOOLS_CHECKED_RUN_HH

#include "check.hh"
#include "command.hh"

namespace morello::tools {

/// What a run came to. An `exit_code` of its own means that there is no result, and that the reason
/// was reported.
struct Outcome {
  int exit_code = kExitOk;
  Check check;  // nothing checked, and ok, with --check=none
};

/// Runs the kernel once on the operands as they are, and checks the result; says on standard error
/// how far the check is.
Outcome run_checked(const Arguments& arguments, const std::string& text, const Job& job,
                    Operands* operands);

/// "result   ok: ..."
void print_outcome(const Check& check);
void add_outcome(const Check& check, Json* report);

/// --check and --seed
void add_check_options(CLI::App* command, Arguments* arguments);

}  // namespace morello::tools

#endif

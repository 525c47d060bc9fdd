// SPDX-License-Identifier: MIT
// morello bench of several kernels: timed in the same rounds, with a verdict; and rounds as files.
#ifndef MORELLO_CAPI_TOOLS_DUEL_HH
#define MORELLO_CAPI_TOOLS_DUEL_HH

#include <string>
#include <vector>

#include "command.hh"
#include "operands.hh"
#include "rounds.hh"

namespace morello::tools {

/// What was given, what it is, and how long it took.
struct Measured {
  std::string text;
  const Job* job;
  Timing timing;
};

/// Calls of the job's kernel, of its size. REQUIRES: both live as long.
Contender contender_of(const Job& job, Operands* operands);

/// In words: is the one that took `ratio` times as long faster, slower, or is there no telling?
std::string verdict(const Ratio& ratio);

/// Writes the files of --export: every round of every kernel. Returns an empty string, or what went
/// wrong.
std::string export_rounds(const Arguments& arguments, const std::vector<Measured>& all);
/// What is wrong with the files of --export, before anything is measured; "" if nothing is.
std::string find_bad_export(const Arguments& arguments);

}  // namespace morello::tools

#endif

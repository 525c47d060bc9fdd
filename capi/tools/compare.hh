// SPDX-License-Identifier: MIT
// morello bench --compare: the rivals of one kernel, checked like it and timed in the same rounds.
#ifndef MORELLO_CAPI_TOOLS_COMPARE_HH
#define MORELLO_CAPI_TOOLS_COMPARE_HH

#include <string>
#include <utility>
#include <vector>

#include "command.hh"
#include "operands.hh"
#include "rivals.hh"
#include "rounds.hh"

namespace morello::tools {

class Comparison {
 public:
  /// Has no rivals unless --compare was given. REQUIRES: the inputs of
  /// `operands` stay as they are.
  Comparison(const Arguments& arguments, const Job& job, Operands* operands);

  /// Those that can be timed. They refer to this object.
  std::vector<Contender> contenders();

  /// Prints a line for each rival; with --json adds them to `json`. `timings` are of contenders(),
  /// `ours` is the kernel's best time in nanoseconds.
  void report(const Arguments& arguments, const std::vector<Timing>& timings, double ours,
              Json* json) const;

 private:
  struct Entry {
    Rival rival;
    Buffer result;
    std::string problem;  // not empty: is not timed
  };
  std::vector<Entry> entries_;
  double flops_;
};

}  // namespace morello::tools

#endif

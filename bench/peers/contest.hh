// SPDX-License-Identifier: MIT
// One problem: everybody's result is checked, then all are timed in turns.
#ifndef MORELLO_BENCH_PEERS_CONTEST_HH
#define MORELLO_BENCH_PEERS_CONTEST_HH

#include <string>
#include <vector>

#include "limits.hh"
#include "peer.hh"
#include "record.hh"

namespace morello::bench {

struct Effort {
  double seconds = 5;           // for timing one problem, warm or cold, about
  double round_seconds = 2e-3;  // a turn makes as many calls as fit, at least one
  uint64_t least_rounds = 7;
  uint64_t least_turns = 2;  // of who takes far longer than all others
};

/// A line of a problem file: a Spec, and behind # the words "cold" or "warm" or both; warm without.
struct Line {
  std::string spec;
  bool warm = false, cold = false;
};
Line parse_line(const std::string& text);

/// An Outcome for each of warm and cold that `line` asks for.
std::vector<Outcome> hold_contest(const Line& line, const Setting& setting,
                                  const std::vector<Peer>& peers, Limits* limits,
                                  const Effort& effort);

}  // namespace morello::bench

#endif

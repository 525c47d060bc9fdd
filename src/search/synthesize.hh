// SPDX-License-Identifier: MIT
// From a Spec to the cheapest Impl tree.
#ifndef MORELLO_SEARCH_SYNTHESIZE_HH
#define MORELLO_SEARCH_SYNTHESIZE_HH

#include "impl/impl.hh"
#include "support/result.hh"

namespace morello {

struct SearchOptions {
  u32 threads = 1;              // most threads that the program may use; 1: no parallel loop
  u64 time_budget_us = 0;       // 0: none
  u64 memory_budget_bytes = 0;  // 0: none
  u32 disabled_actions = 0;     // bit 1 << ActionKind: for tests of what a rewrite is worth
  bool use_bounds = true;       // false: search without lower bounds, for tests
  int slack_shift = 7;          // see best_first.hh: no influence on the result
};

struct SearchStats {
  u64 specs = 0, states = 0, expanded = 0, previews = 0, memo_hits = 0;
  u64 bytes = 0;
  u64 microseconds = 0;
};

/// The cheapest program for `spec` under the cost model, with ties broken canonically:
/// deterministic. REQUIRES: canonical. Errors: NO_IMPLEMENTATION, BUDGET_EXCEEDED. `stats` may be
/// null.
Result<ImplTree> synthesize(const Spec& spec, const Target& target, const SearchOptions& options,
                            SearchStats* stats);

}  // namespace morello

#endif

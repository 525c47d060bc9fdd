// SPDX-License-Identifier: MIT
// From a Spec to the cheapest Impl tree.
#ifndef MORELLO_SEARCH_SYNTHESIZE_HH
#define MORELLO_SEARCH_SYNTHESIZE_HH

#include <functional>

#include "impl/impl.hh"
#include "support/result.hh"

namespace morello {

/// Where a search is. Costs are in units.
struct SearchProgress {
  u64 states = 0;
  u64 previews = 0;
  u64 bytes = 0;
  u64 microseconds = 0;
  i64 best = 0;   // cost of the best program so far, kInfinite if there is none yet
  i64 bound = 0;  // no program costs less
};

inline constexpr u64 kExactEffort = 0;
inline constexpr u64 kQuickEffort = MORELLO_EFFORT_QUICK;
/// What is searched whatever the effort (search/effort.hh).
inline constexpr u64 kLeastEffort = 1;

class NearDecisions;

struct SearchOptions {
  u32 threads = 1;              // most threads that the program may use; 1: no parallel loop
  u32 search_threads = 1;       // that search; no influence on the result
  u64 time_budget_us = 0;       // 0: none
  u64 memory_budget_bytes = 0;  // 0: none
  /// Most work, in that of usual expansions (search/effort.hh); kExactEffort: until the cheapest is
  /// proven. With one, search_threads is 1.
  u64 effort = kExactEffort;
  /// Called by the thread that called synthesize(), at most every `progress_us` microseconds.
  std::function<void(const SearchProgress&)> progress;
  u64 progress_us = 100000;
  const volatile i32* cancel = nullptr;  // the search ends soon after this is not 0
  const NearDecisions* near = nullptr;   // where to look first, if it may end early
  u32 disabled_actions = 0;       // bit 1 << ActionKind: for tests of what a rewrite is worth
  u32 disabled_restrictions = 0;  // bit 1 << Restriction (actions/action.hh): for tests
  u32 bound_percent = 100;        // of every lower bound, for tests of searches that prune less
  bool borrow = true;             // see best_first.hh: no influence on the result
  int slack_shift = 10;           // likewise
};

struct SearchStats {
  u64 work = 0;  // what an effort counts: search/counts.hh
  u64 specs = 0, states = 0, expanded = 0, previews = 0, misfits = 0, advances = 0, memo_hits = 0;
  u64 borrowed = 0;
  u64 bytes = 0;
  u64 microseconds = 0;
  bool optimal = false;       // proven; or else a budget or the effort ended the search
  bool budget_ended = false;  // it, or a part of it
  bool near = false;  // the program is made of SearchOptions::near, and nothing better known
  i64 bound = 0;      // units; no program costs less
};

/// The cheapest program for `spec` under the cost model, with ties broken canonically:
/// deterministic. With an effort, which is deterministic as well, the best program that so many
/// expansions find. If a budget ends the search, the best program found so far (`stats->optimal` is
/// then false). REQUIRES: canonical. Errors: NO_IMPLEMENTATION; BUDGET_EXCEEDED, if there is no
/// program yet; CANCELLED. `stats` may be null.
Result<ImplTree> synthesize(const Spec& spec, const Target& target, const SearchOptions& options,
                            SearchStats* stats);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
#include "search/solve.hh"

#include <chrono>

#include "search/near.hh"
#include "table/identity.hh"
#include "table/walk.hh"

namespace morello {
namespace {

using Clock = std::chrono::steady_clock;

u64 nanoseconds_since(Clock::time_point start) {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

Result<ImplTree> search(const Spec& spec, const Target& target, const SearchOptions& options,
                        SolveStats& stats) {
  const Clock::time_point start = Clock::now();
  Result<ImplTree> tree = synthesize(spec, target, options, &stats.search);
  stats.search_nanoseconds = nanoseconds_since(start);
  return tree;
}

}  // namespace

Result<ImplTree> solve(const Spec& spec, const Target& target, const SearchOptions& options,
                       const Table* table, SolveStats& stats) {
  stats = {};
  stats.effort = options.effort;
  if (table == nullptr) return search(spec, target, options, stats);
  const Clock::time_point start = Clock::now();
  const u64 table_effort = table->identity().effort;
  const bool promised = covers(*table, spec, target);
  const bool covered = promised && is_enough(table_effort, options.effort);
  std::optional<ImplTree> tree;
  if (covered) tree = guess(*table, spec, target);
  stats.lookup_nanoseconds = nanoseconds_since(start);
  if (covered && tree) {
    stats.table_use = TableUse::kAnswered;
    stats.search.optimal = table_effort == kExactEffort;
    stats.search.bound = stats.search.optimal ? tree->nodes[0].cost
                                              : NearDecisions(*table, target).lower_bound(spec);
    return std::move(*tree);
  }
  stats.table_use = covered ? TableUse::kWrong : TableUse::kNotCovered;
  if (!covered) stats.table_reason = promised ? TableReason::kEffort : TableReason::kSpec;
  const NearDecisions near(*table, target);
  SearchOptions guided = options;
  guided.near = &near;
  Result<ImplTree> found = search(spec, target, guided, stats);
  if (!covered && found && stats.search.near) stats.table_use = TableUse::kNear;
  return found;
}

}  // namespace morello

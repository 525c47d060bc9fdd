// SPDX-License-Identifier: MIT
// Near misses of a table: what it decides for the sizes around those of a Spec, as a space of
// programs to search.
#ifndef MORELLO_SEARCH_NEAR_HH
#define MORELLO_SEARCH_NEAR_HH

#include "search/spec_problem.hh"
#include "table/table.hh"

namespace morello {

/// Immutable; the table is referred to.
class NearDecisions {
 public:
  /// REQUIRES: table.identity() is that of `target`, its processors aside.
  NearDecisions(const Table& table, const Target& target);
  NearDecisions(const NearDecisions&) = delete;
  NearDecisions& operator=(const NearDecisions&) = delete;

  /// Sets `out` to what the table decides for the Spec and for each combination of the next smaller
  /// and larger sizes of the ladder, tiles cut to the sizes at hand: those actions that are listed
  /// for the Spec and fit the limits, the two with the lowest bounds; and to few actions, as
  /// without a table (search/effort.hh), for much of what tiles leave over is near nothing.
  /// REQUIRES: clamped.
  void list(const Spec& spec, const Limits& limits, ActionList& out) const;
  /// Is there something to begin with?
  bool has(const Spec& spec, const Limits& limits) const;

  /// The table's program for the Spec itself, where all of its decisions are there, which may be
  /// none that it promises.
  std::optional<ImplTree> guess(const Spec& spec) const;

  /// What a program for `spec` costs that is as near to its lower bound as those that the table
  /// promises for near sizes: the worst of them. 0 if it promises none.
  i64 expected_cost(const Spec& spec) const;
  /// What no program for `spec` costs less than, within the target's limits.
  i64 lower_bound(const Spec& spec) const;

 private:
  void list_decided(const Spec& spec, const Limits& limits, ActionList& out) const;

  const Table& table_;
  Target target_;  // with the table's processors
  ActionContext context_, few_;
  Bounds bounds_;
};

}  // namespace morello

#endif

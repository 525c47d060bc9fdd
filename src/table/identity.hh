// SPDX-License-Identifier: MIT
// What the decisions of a table depend on, as numbers to compare: of the target, of the prices and
// of the actions.
#ifndef MORELLO_TABLE_IDENTITY_HH
#define MORELLO_TABLE_IDENTITY_HH

#include <functional>
#include <string>

#include "table/content.hh"

namespace morello {

/// Of all numbers of a target but its processors.
u64 target_fingerprint(const Target& target);

/// Of tables that this library makes for `target`, with its processors, and an effort. Prices and
/// actions are fingerprinted by what they say about a fixed set of Specs, so they change with the
/// code and with nothing else. The first call in a process takes a few milliseconds.
TableIdentity identity_of(const Target& target, u64 effort = 0);
/// The space in which entries of a table of some effort are the cheapest. Not so many expansions,
/// as of a search: a decision is the same for whichever program needs it.
inline Breadth space_of(u64 table_effort) {
  return table_effort == MORELLO_EFFORT_EXACT ? Breadth::kWhole : Breadth::kMiddle;
}
/// Do such entries answer a search with this effort?
inline bool is_enough(u64 table_effort, u64 effort) {
  return table_effort == MORELLO_EFFORT_EXACT ||
         (effort != MORELLO_EFFORT_EXACT && effort <= table_effort);
}
/// "exact" or "quick".
std::string name_of_effort(u64 effort);

/// The Specs that the fingerprints ask about, on one target: for tests of what they notice.
void each_probe(const Target& target, const std::function<void(const Spec&)>& seen);

/// What of `found` is not as `wanted`, for people: "target: avx512 (generic-x86-64), wanted avx2
/// (generic-x86-64); cost model". "" if they are equal.
std::string difference(const TableIdentity& found, const TableIdentity& wanted);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// What the decisions of a table amount to: programs, and every pair that its promises specify.
#ifndef MORELLO_TABLE_WALK_HH
#define MORELLO_TABLE_WALK_HH

#include <optional>

#include "actions/walk.hh"
#include "table/table.hh"

namespace morello {

class TableBuilder;

/// The cheapest program for a Spec that the table promises, with its cost; nothing if it does not,
/// or its decisions make none. In microseconds. REQUIRES: table.identity() is that of `target`, its
/// processors aside.
std::optional<ImplTree> program(const Table& table, const Spec& spec, const Target& target);
/// Does the table promise one?
bool covers(const Table& table, const Spec& spec, const Target& target);
/// A program made of what the table decides, promised or not: where it is not, some program, if
/// any. REQUIRES: as program().
std::optional<ImplTree> guess(const Table& table, const Spec& spec, const Target& target);

inline constexpr size_t kMaxDecidedPairs = size_t{1} << 22;

/// The pairs that the table is right for: those of the programs of the promised Specs.
/// @return CORRUPT_TABLE, if a promised Spec has no program, or there are more than `max_pairs`.
/// REQUIRES: as program().
Result<DecidedPairs> decided_pairs(const Table& table, const Target& target,
                                   size_t max_pairs = kMaxDecidedPairs);

/// Adds the families and promises of a table, and returns the decisions for these, to be added.
/// @return what decided_pairs() says. REQUIRES: as program().
Result<DecidedPairs> add_promises(const Table& table, const Target& target, TableBuilder& builder);

/// What both tables promise, and the decisions for it: the same whichever comes first. Guesses
/// that no promise needs are lost.
/// @return INCOMPATIBLE_TABLE, with what differs; CORRUPT_TABLE, if the tables contradict each
/// other; what decided_pairs() says. REQUIRES: as program(), for both.
Result<Table> merge(const Table& a, const Table& b, const Target& target);

}  // namespace morello

#endif

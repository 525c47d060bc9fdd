// SPDX-License-Identifier: MIT
// From a Spec to its program: from a table where it covers the Spec, else by search.
#ifndef MORELLO_SEARCH_SOLVE_HH
#define MORELLO_SEARCH_SOLVE_HH

#include "search/synthesize.hh"
#include "table/table.hh"

namespace morello {

/// What became of a table. Numbers are those of morello_table_use.
enum class TableUse : u8 { kNoTable = 0, kAnswered = 1, kNotCovered = 2, kWrong = 3, kNear = 4 };
/// Why a table does not cover a Spec. Numbers are those of morello_table_reason.
enum class TableReason : u8 { kNoReason = 0, kSpec = 1, kTarget = 2, kThreads = 3, kEffort = 4 };

struct SolveStats {
  SearchStats search;  // of an exact table's program: proven, its cost the bound
  TableUse table_use = TableUse::kNoTable;
  TableReason table_reason = TableReason::kNoReason;
  u64 effort = kExactEffort;  // of SearchOptions
  u64 lookup_nanoseconds = 0, search_nanoseconds = 0;
};

/// synthesize(), after asking `table`, unless that is nullptr. What the table decides is checked
/// before use; where it promises nothing, or less than the effort (table/identity.hh), or what it
/// decides makes no program, it says at most where to look first (search/near.hh), if the search
/// may end early. REQUIRES: table->identity() is that of `target` with `options.threads`
/// processors.
Result<ImplTree> solve(const Spec& spec, const Target& target, const SearchOptions& options,
                       const Table* table, SolveStats& stats);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Solves families of Specs and keeps their programs in a table file. May be interrupted at any
// moment, and run by any number of threads, processes and machines: the file is the same in the
// end.
#ifndef MORELLO_PRECOMPUTE_PRECOMPUTE_HH
#define MORELLO_PRECOMPUTE_PRECOMPUTE_HH

#include <functional>
#include <span>
#include <string>

#include "precompute/keeper.hh"
#include "search/synthesize.hh"
#include "spec/family.hh"
#include "table/allowance.hh"
#include "table/table.hh"
#include "target/target.hh"

namespace morello {

struct PrecomputeProgress {
  u64 members = 0;  // of this part of the families; more while pieces of run-time sizes are chosen
  u64 done = 0;     // of them, solved or found in the file
  u64 found = 0;    // of them, found in the file
  // Of them, those that no program computes within the target's limits, or none of the space of
  // an effort.
  u64 without_program = 0;
  u64 saved = 0;  // solved and in the file by now
  u64 pairs = 0;  // (Spec, limits) pairs that the file decides, as of the last save
  u64 boxes = 0;  // of the file, likewise
  u64 bytes = 0;  // memory of the search
  u64 microseconds = 0;
  u64 remaining_us = 0;  // an estimate; 0 if there is none yet
  bool cancelled = false;
};

struct PrecomputeOptions {
  u32 workers = 1;  // threads that solve; no influence on the result
  /// The search begins anew, slower for a while, when it takes more than half of this.
  u64 memory_bytes = u64{4} << 30;
  u64 effort = kExactEffort;              // or kQuickEffort: see space_of() in table/identity.hh
  u64 table_bytes = kDefaultTableMemory;  // DecodeOptions.max_bytes, for the file
  u32 part = 0, parts = 1;                // solve this one of so many parts of the families
  u64 save_us = 2'000'000;                // between saves, at least
  u64 progress_us = 100'000;              // between calls of `progress`, about
  std::function<void(const PrecomputeProgress&)> progress;  // called by the calling thread
  const volatile i32* cancel = nullptr;  // not 0: the call ends soon, and keeps what is solved
};

inline constexpr u64 kMaxPrecomputeMembers = u64{1} << 24;

/// Adds the members of `families` that the table file at `path` does not promise yet; the file is
/// made if there is none. `target` has the processors that programs may use. What is solved is
/// saved every few seconds and at the end, merged with what others have written meanwhile.
/// @return how it ended. UNSUPPORTED, if there are too many members, or one is not supported; what
/// update() (table/file.hh) and decided_pairs() (table/walk.hh) say.
Result<PrecomputeProgress> precompute(std::span<const Family> families, const Target& target,
                                      const std::string& path, const PrecomputeOptions& options);
/// The same for a table in another place.
Result<PrecomputeProgress> precompute(std::span<const Family> families, const Target& target,
                                      const TableStore& store, const PrecomputeOptions& options);

/// For how many members of a family `is_wanted` holds. UNSUPPORTED as precompute(). REQUIRES: no
/// run-time size; see count_pieces() for these.
Result<u64> count_members(const Family& family, const std::function<bool(const Spec&)>& is_wanted);

}  // namespace morello

#endif

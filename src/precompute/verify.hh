// SPDX-License-Identifier: MIT
// Is a table right? Every decision that a promised program needs is checked, and some promised
// Specs are searched for again.
#ifndef MORELLO_PRECOMPUTE_VERIFY_HH
#define MORELLO_PRECOMPUTE_VERIFY_HH

#include "table/table.hh"

namespace morello {

struct Verification {
  u64 promised = 0;     // Specs
  u64 pairs = 0;        // of Specs and limits that their programs decide; 0 if some have none
  u64 searched = 0;     // promised Specs, each once
  u64 failures = 0;     // 1 if promised programs are missing, and Specs with another program
  std::string failure;  // the first one
};

/// Searches for `points` of the promised Specs, which `seed` chooses; for all, if there are no
/// more. REQUIRES: table.identity() is that of `target`.
Verification verify(const Table& table, const Target& target, u64 points, u64 seed);

}  // namespace morello

#endif

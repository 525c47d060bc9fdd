// SPDX-License-Identifier: MIT
// What a search counts of itself.
#ifndef MORELLO_SEARCH_COUNTS_HH
#define MORELLO_SEARCH_COUNTS_HH

#include "support/types.hh"

namespace morello {

/// Counters of one search.
struct SearchCounts {
  u64 expanded = 0;
  u64 previews = 0;
  u64 misfits = 0;   // previews of actions that do not fit the limits
  u64 advances = 0;  // improvements of an action through its children
  u64 memo_hits = 0;
  u64 borrowed = 0;    // pairs that the answer or bound of looser limits settled without expansion
  u64 open_bytes = 0;  // open actions and their links

  void add(const SearchCounts& o) {
    expanded += o.expanded;
    previews += o.previews;
    misfits += o.misfits;
    advances += o.advances;
    memo_hits += o.memo_hits;
    borrowed += o.borrowed;
    open_bytes += o.open_bytes;
  }
};

}  // namespace morello

#endif

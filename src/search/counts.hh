// SPDX-License-Identifier: MIT
// What a search counts of itself.
#ifndef MORELLO_SEARCH_COUNTS_HH
#define MORELLO_SEARCH_COUNTS_HH

#include "support/types.hh"

namespace morello {

/// What takes a search its time, in the ratio that it takes: pairs that are met first, which are
/// bounded and remembered, actions that are previewed, and improvements of one. An effort is
/// counted so, for it is to mean a time, and to be the same on every machine.
/// The second of each is for keys that take longer (Problem::is_heavy()).
inline constexpr u64 kWorkOfPair[] = {48, 72}, kWorkOfPreview[] = {4, 6}, kWorkOfAdvance = 1;
/// Of an expansion with all that comes of it, as is usual.
inline constexpr u64 kWorkOfExpansion = 112;

/// Counters of one search.
struct SearchCounts {
  u64 work = 0;
  u64 expanded = 0;
  u64 previews = 0;
  u64 misfits = 0;   // previews of actions that do not fit the limits
  u64 advances = 0;  // improvements of an action through its children
  u64 memo_hits = 0;
  u64 borrowed = 0;    // pairs that the answer or bound of looser limits settled without expansion
  u64 open_bytes = 0;  // open actions and their links

  SearchCounts since(const SearchCounts& o) const {
    return {work - o.work,         expanded - o.expanded,    previews - o.previews,
            misfits - o.misfits,   advances - o.advances,    memo_hits - o.memo_hits,
            borrowed - o.borrowed, open_bytes - o.open_bytes};
  }
  void add(const SearchCounts& o) {
    work += o.work;
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

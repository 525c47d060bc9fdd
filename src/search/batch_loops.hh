// SPDX-License-Identifier: MIT
// A space that is small for batches in odd orders of axes: products are computed one element of the
// batch after another, whatever lines these share.
#ifndef MORELLO_SEARCH_BATCH_LOOPS_HH
#define MORELLO_SEARCH_BATCH_LOOPS_HH

#include "actions/action.hh"

namespace morello {

/// Immutable; the target is referred to.
class BatchLoops {
 public:
  explicit BatchLoops(const Target& target) : narrow_{&target} {
    narrow_.breadth = Breadth::kNarrow;
  }

  /// Sets `out` to the actions of the narrowest space. While dimensions of a contraction's batch
  /// are left, these are loops over one of them, that in which results are farthest apart; where
  /// loops leave results that are apart, those that compute them in a buffer, and large tiles.
  void list(const Spec& spec, const Limits& limits, ActionList& out) const;
  /// Are those fewer than in the narrowest space? REQUIRES: clamped.
  bool is_smaller_for(Spec spec, Limits limits) const;

 private:
  // True if actions were left out.
  bool keep_loops(const Spec& spec, ActionList& list) const;
  bool keep_buffers(const Spec& spec, ActionList& list) const;
  bool narrow(const Spec& spec, ActionList& list) const;

  ActionContext narrow_;
};

}  // namespace morello

#endif

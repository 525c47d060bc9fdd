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
  /// `context`: the space that this leaves some actions out of.
  explicit BatchLoops(const ActionContext& context) : context_(context), all_(context) {
    all_.disabled_restrictions |= 1u << static_cast<int>(Restriction::kFirstMoves);
  }

  /// Sets `out` to the actions of the space. While dimensions of a contraction's batch are left,
  /// these are loops over one of them, that in which results are farthest apart; where loops leave
  /// results that are apart, those that compute them in a buffer, and large tiles.
  void list(const Spec& spec, const Limits& limits, ActionList& out) const;

 private:
  ActionContext context_, all_;
};

}  // namespace morello

#endif

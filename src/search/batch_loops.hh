// SPDX-License-Identifier: MIT
// A space that is small for batches in odd orders of axes: products are computed one element of the
// batch after another, whatever lines these share, from a cache where these are read in parts.
#ifndef MORELLO_SEARCH_BATCH_LOOPS_HH
#define MORELLO_SEARCH_BATCH_LOOPS_HH

#include "actions/action.hh"

namespace morello {

/// Is this one product for each element of a batch, and no shallow one? Of shallow ones, whose
/// results count, few limits make a difference.
bool multiplies_batches(const Spec& spec);

/// Immutable; the target is referred to.
class BatchLoops {
 public:
  /// `context`: the space that this leaves some actions out of. `asks_limits`: what comes nearer
  /// before all else is the first operand that has room, for what loops hide may have taken that of
  /// others. Less memory may have cheaper programs then. `in_vectors`: results whose neighbours are
  /// of the batch are computed in vectors along it, for no buffer may have them in another order.
  BatchLoops(const ActionContext& context, bool asks_limits, bool in_vectors)
      : context_(context),
        all_(context),
        whole_(context),
        asks_limits_(asks_limits),
        in_vectors_(in_vectors) {
    whole_.breadth = Breadth::kWhole;
    all_.disabled_restrictions |= 1u << static_cast<int>(Restriction::kFirstMoves);
  }

  /// Sets `out` to the actions of the space. While dimensions of a contraction's batch are left,
  /// these are loops over one of them, that which leaves most lines whole, and what brings an
  /// operand to L2 of which they would use parts of lines; where loops leave results that are
  /// apart, those that compute them in a buffer, and large tiles.
  void list(const Spec& spec, const Limits& limits, ActionList& out) const;
  /// The whole space, of the same target.
  const ActionContext& whole() const { return whole_; }

 private:
  ActionContext context_, all_, whole_;
  bool asks_limits_, in_vectors_;
};

}  // namespace morello

#endif

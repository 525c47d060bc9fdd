// SPDX-License-Identifier: MIT
// A space that is small for graphs of several products: each is computed by itself, with the steps
// on it, and what one leaves to the next is in memory or in a cache, as by kernels that run one
// after another.
#ifndef MORELLO_SEARCH_APART_HH
#define MORELLO_SEARCH_APART_HH

#include "search/batch_loops.hh"

namespace morello {

/// Immutable; the space of the parts is referred to.
class Apart {
 public:
  explicit Apart(const BatchLoops& parts) : parts_(parts) {}

  /// Is there anything to be computed apart?
  static bool serves(const Spec& spec);

  /// Sets `out` to the cut at the first value that a product, or a reduction of products, makes and
  /// another one reads, or a step with what a third one makes, into the farthest buffer that is
  /// listed; where there is none, to the actions of the parts' space.
  void list(const Spec& spec, const Limits& limits, ActionList& out) const;

 private:
  const BatchLoops& parts_;
};

}  // namespace morello

#endif

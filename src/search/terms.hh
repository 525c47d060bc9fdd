// SPDX-License-Identifier: MIT
// A space that is small for products of windows with borders: each term of a window is a product by
// itself, of the places that have it inside, and nothing is padded.
#ifndef MORELLO_SEARCH_TERMS_HH
#define MORELLO_SEARCH_TERMS_HH

#include "search/batch_loops.hh"

namespace morello {

/// Immutable; the space of the parts is referred to.
class Terms {
 public:
  explicit Terms(const BatchLoops& parts) : parts_(parts) {}

  /// Is there a product, with steps on it perhaps, whose windows have borders, whose terms are
  /// deep, and whose vectors do not run along places?
  static bool serves(const Spec& spec);

  /// Sets `out` to what leads to one term after another: panels of free factors, steps by
  /// themselves, sums and what all terms read in a cache, terms by themselves; of what has no
  /// borders, and where there is none of these, to the actions of the parts' space.
  void list(const Spec& spec, const Limits& limits, ActionList& out) const;

 private:
  const BatchLoops& parts_;
};

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
#ifndef MORELLO_TESTS_SUPPORT_LEAST_HH
#define MORELLO_TESTS_SUPPORT_LEAST_HH

#include "actions/action.hh"
#include "cost/bounds.hh"

namespace morello::testing {

/// What a derivation costs at least. Its own cost may be below zero, this may not.
inline i64 least_of(const Derivation& d, const Bounds& bounds) {
  i64 units = 0;
  for (int c = 0; c < d.count; c++)
    units = saturating_add(
        units, saturating_mul(d.child[c].times, bounds.quick(d.child[c].spec, d.child[c].limits)));
  return saturating_add(units, d.own);
}

}  // namespace morello::testing

#endif

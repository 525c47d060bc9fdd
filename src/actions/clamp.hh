// SPDX-License-Identifier: MIT
// Which limits are different questions for a Spec.
#ifndef MORELLO_ACTIONS_CLAMP_HH
#define MORELLO_ACTIONS_CLAMP_HH

#include "spec/limits.hh"
#include "spec/spec.hh"

namespace morello {

/// Lowers limits to what the Spec can use at all, so that more questions are the same. Whatever
/// remembers or looks up a (Spec, limits) pair does so with clamped limits. Idempotent.
void clamp_limits(const Spec& spec, Limits& limits);

}  // namespace morello

#endif

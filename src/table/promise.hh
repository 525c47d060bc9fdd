// SPDX-License-Identifier: MIT
// Promises: which Specs a table answers for, as few boxes that hold exactly these.
#ifndef MORELLO_TABLE_PROMISE_HH
#define MORELLO_TABLE_PROMISE_HH

#include <functional>
#include <vector>

#include "table/content.hh"

namespace morello {

/// The promised Specs as points, at the limits of the target, unclamped. Promises come ascending,
/// and depend on the set of points only.
std::vector<Promise> promises_of(const std::vector<GridPoint>& members);

/// Is a point with the promise's key, at the target's unclamped limits, promised?
bool is_member(const Promise& promise, const std::array<u32, kAxes>& at);

/// How many points are; 2^64-1 if there are more.
u64 member_count(const Promise& promise);

/// Calls visit(Spec, limits of the target) for every member, in order, until it returns false.
/// There may be very many.
void each_member(const Promise& promise,
                 const std::function<bool(const Spec&, const Limits&)>& visit);

}  // namespace morello

#endif

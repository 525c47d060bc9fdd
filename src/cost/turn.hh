// SPDX-License-Identifier: MIT
// Sums that are kept in a buffer whose vectors run along another dimension than the output's.
#ifndef MORELLO_COST_TURN_HH
#define MORELLO_COST_TURN_HH

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// The dimension of the output along which the vectors of such a buffer run; the output is a
/// relayout of it. Of convolutions along rows: vectors of channels broadcast what is in windows. Of
/// a batch whose members are next to each other there: vectors of what one factor has alone.
/// kNoDim: there is none.
u8 turned_dim(const Spec& spec);

/// Is it better perhaps? Where vectors along rows of places read elements that are apart, or leave
/// many lanes unused at the ends of rows; where members of a batch are apart in a factor, or fewer
/// than lanes. Asked of whole rows.
bool may_turn(const Spec& spec, const Target& target);

/// Is it of the Spec or of any part of it? What neighbours there are along is cut to one element in
/// some, as are few results beside many, and copies of factors may have members of a batch apart.
/// What bounds ask.
bool part_may_turn(const Spec& spec, const Target& target);

}  // namespace morello

#endif

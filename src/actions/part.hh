// SPDX-License-Identifier: MIT
// Parts of a Spec: the stages that compute one value, and those that go on from it.
#ifndef MORELLO_ACTIONS_PART_HH
#define MORELLO_ACTIONS_PART_HH

#include <span>

#include "actions/action.hh"

namespace morello {

/// Where the value of a stage is kept between two parts: a new buffer, or an operand of the whole.
struct KeptValue {
  int stage = 0;
  Operand operand;       // over the dimensions of the whole
  u8 place = 0;          // new_buffer(), or the number of the operand
  bool readable = true;  // false: what needs the value computes it again
};

/// What it takes to compute the values into their places.
/// REQUIRES: fits_cut().
void part_before(const Spec& whole, std::span<const KeptValue> kept, const Limits& limits,
                 Child& out);
/// What it takes to compute the outputs, with the values read from their places. Stages that both
/// parts need, other than those that are kept, are in both.
/// REQUIRES: fits_cut().
void part_after(const Spec& whole, std::span<const KeptValue> kept, const Limits& limits,
                Child& out);
/// Are there places enough for the operands of both parts, does the second have anything to do, and
/// nothing to read that the first part overwrites?
/// @param stages  those whose values are kept: bit s.
bool fits_cut(const Spec& whole, u32 stages, bool readable);

/// The output that may hold the value of a stage until it is overwritten by what is made of it,
/// element by element; -1: there is none, or a stage could as well go on from the value.
int output_for_value(const Spec& whole, int stage);

/// `out` filled with `bits`, of the element type of `stage`.
void fill_part(const Spec& whole, const Stage& stage, u32 bits, const Limits& limits, Child& out);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// How reductions over rows read them: what their price and their code have in common.
#ifndef MORELLO_COST_REDUCE_HH
#define MORELLO_COST_REDUCE_HH

#include <optional>

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Does reduce_rows keep an order of bytes (cost/held.hh) in a register? Without mask registers,
/// not beside what combines by several instructions: tiles are worth more.
bool rows_widen_by_order(const Spec& spec, const Target& target);

/// Along the vectors of the output the input moves by two or three elements, by how many is
/// returned, and along the reduced dimension by one: pools that halve a row, or leave a third of
/// it. Vectors are made of every second element of two then, or of every third one of three. 0: it
/// does not.
/// REQUIRES: a reduction of one dimension.
u32 elements_apart(const Spec& spec);

/// Will it be so of parts that loops over other dimensions leave, while the input is not in L1?
/// There it is forgotten that rows of windows which do not overlap are next to one another.
bool is_apart_outside_l1(const Spec& spec);

/// Registers of that besides the result's and those of the operation. Of every second: two vectors
/// as they are read, two of every second element, and where halves of 512 bits go. Of every third:
/// three vectors, two of every third element, and what one of these is made of.
inline u32 apart_registers(u32 apart) { return apart == 2 ? 5 : 6; }

/// A reduction over windows that overlap: each row is combined once, whatever windows have it.
struct SharedRows {
  u8 along, rows;  // neighbours, and the rows of one window, which are reduced
  u8 row;          // the other reduced dimension
  u32 read;        // all rows
};
std::optional<SharedRows> shared_rows(const Spec& spec);

/// A reduction over small windows that do not: of operations of several instructions, what these do
/// about rare numbers is done once for all elements of a window.
bool combines_windows(const Spec& spec);

/// Of one dimension the same may be done for each three elements: vectors of maxima or minima in
/// floats, of which there are so many.
bool combines_together(const Spec& spec, const Stage& stage, DimMask reduced);

/// May reduce_rows begin with the first elements in place of what is in its register tile? In
/// straight code, by operations that make of two elements what NaN and zeros are to be.
bool can_start(const Spec& spec);

/// How many of the points of a reduction are combined at least.
u64 least_combined(const Spec& spec, DimMask reduced, u64 points);

}  // namespace morello

#endif

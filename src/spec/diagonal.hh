// SPDX-License-Identifier: MIT
// The diagonal of a Spec: which columns each row keeps, for stages that keep (Op::kKeep). What they
// do not keep is -inf, and takes no part in what combines along the columns. Programs divide the
// rows, leave out the columns that no row of a part keeps, and mask what is left by a buffer.
#ifndef MORELLO_SPEC_DIAGONAL_HH
#define MORELLO_SPEC_DIAGONAL_HH

#include "spec/view.hh"

namespace morello {

/// The dimensions of windows and of the diagonal, `now[d]` instead of d.
void renumber_pairs(Spec& spec, const std::array<u8, kMaxDims>& now);

/// Points of these dimensions at which stages keep what they read, saturating: all, if they lack
/// the column. REQUIRES: there is a diagonal.
u64 kept_points(const Spec& spec, DimMask dims);

/// A part of a Spec, or what makes its mask.
struct DiagonalPart {
  Spec spec;
  Binding binding;
};

/// May parts of the rows be computed apart? REQUIRES: there is a diagonal.
bool may_divide_rows(const Spec& spec, u32 rows);
/// The first `rows` rows, or the others, without the columns that none of them keeps, if these make
/// no difference; without a diagonal, if it keeps everything.
/// REQUIRES: may_divide_rows().
DiagonalPart part_of_rows(const Spec& spec, u32 rows, bool first);

/// A mask is new_buffer(0): infinite where the diagonal keeps, -inf elsewhere, so that the least of
/// it and x is what a stage keeps of x. Each row is the one before, moved by one element, so all of
/// them are in a run of as many elements as there are rows and columns, less one.
Operand mask_operand(const Spec& spec, Level level);
u64 mask_elements(const Spec& spec);
/// Of the mask as the rest of the program sees it, from its first row on.
View mask_view(const Spec& spec);
/// The elements before those that a part sees: of the fills of what is kept and of what is not, and
/// of the rest.
u64 mask_begin(const Spec& spec, int part);
/// Fills the part of the run that is kept, or the other one.
DiagonalPart mask_fill(const Spec& spec, Level level, bool kept);
/// The Spec with the mask as an operand, and no diagonal.
DiagonalPart masked_rest(const Spec& spec, const Operand& mask);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Borders: windows that reach past the ends of their axis. What is there takes no part in the
// reduction that reads it. Programs copy the operand into a buffer whose borders hold what changes
// nothing, or compute the places next to a border apart, and go on without any.
#ifndef MORELLO_SPEC_BORDER_HH
#define MORELLO_SPEC_BORDER_HH

#include <optional>

#include "spec/view.hh"

namespace morello {

inline bool is_bordered(const Window& w) { return (w.before | w.after) != 0; }
inline bool is_bordered(const Spec& spec, const Operand& x) {
  for (int w = 0; w < kMaxWindows; w++)
    if (x.has_window(w) && is_bordered(spec.window[w])) return true;
  return false;
}
/// The first operand that has borders; -1: none has.
int bordered_operand(const Spec& spec);
/// The dimensions of windows with borders, which cannot be tiled.
DimMask bordered_dims(const Spec& spec);
/// The stage that reads it. REQUIRES: a stage does.
const Stage& reader_of(const Spec& spec, int operand);
/// What elements outside of the operand are as if they were.
double border_value(const Spec& spec, int operand);

/// The same sizes, with the borders of the operand inside of its axes.
Spec with_borders_inside(const Spec& spec, int operand);
/// The operand with its borders, dense, in its order or in any other, perhaps with blocks of
/// neighbours along one dimension, no axis of its windows, which are fastest; over the dimensions
/// of with_borders_inside().
Operand padded_operand(const Spec& spec, int operand, Level level, const Layout& layout);
inline Operand padded_operand(const Spec& spec, int operand, Level level) {
  return padded_operand(spec, operand, level, spec.operand[operand].layout);
}

/// Has padded_operand() made it, in a layout that it may have?
bool is_padded(const Spec& spec, int operand, const Operand& padded);

/// What makes the padded operand, new_buffer(0), and what reads it instead of the operand.
/// REQUIRES: `padded` is as padded_operand() made it.
struct PaddedPart {
  Spec spec;
  Binding binding;
};
PaddedPart border_fill(const Spec& spec, int operand, const Operand& padded);
/// The whole buffer as the one run that is filled.
View border_run(const Spec& spec, const Operand& padded);
/// Into the inner part, which begins at inner_offset().
PaddedPart border_copy(const Spec& spec, int operand, const Operand& padded);
PaddedPart border_rest(const Spec& spec, int operand, const Operand& padded);
/// Elements of the padded operand before the first that is copied.
u64 inner_offset(const Spec& spec, int operand, const Operand& padded);

/// Where to divide the places of the first window with borders: behind its first place, or in front
/// of the last one. One place has no borders, but fewer elements to reduce.
struct BorderCut {
  u8 dim = 0;
  u32 size = 0;   // of the first part
  u8 places = 0;  // the dimension of the window's places
};
/// Nothing if a program does not divide them: a place has nothing inside, or less than a block of
/// another operand.
std::optional<BorderCut> border_cut(const Spec& spec);
/// Has only the last place of the first window with borders one?
bool begins_inside(const Spec& spec);
/// Where to divide the terms of a window with borders of a sum of products, whose places are not
/// those that vectors run along: the first or last term apart, of the places that have it inside.
/// Nothing if no term is inside of all places.
std::optional<BorderCut> term_cut(const Spec& spec);
/// May a dimension be divided behind `size` of its places or terms?
bool may_divide_border(const Spec& spec, u8 dim, u32 size);
/// The part that runs first, and the other one. Of terms that is the part that all places have some
/// of; the other one adds to its sums. REQUIRES: may_divide_border().
PaddedPart part_of_border(const Spec& spec, u8 dim, u32 size, bool first);
/// From the first element of an operand to that of the part that runs first, or of the other one;
/// of a dimension without borders the first `size` elements, and the others. Windows with borders
/// begin inside of their axis, and what they meet, such as weights, with what they have inside.
i64 elements_to_part(const Spec& spec, int operand, const View& view, u8 dim, u32 size, bool first);
/// Points of some dimensions at which windows have something inside, saturating.
u64 inside_points(const Spec& spec, DimMask dims);
/// Has some place of each window with borders all of its elements inside?
bool has_whole_places(const Spec& spec);

}  // namespace morello

#endif

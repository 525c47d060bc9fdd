// SPDX-License-Identifier: MIT
// What people read of a table: its keys, axes, coordinates and decisions in words.
#ifndef MORELLO_TABLE_WORDS_HH
#define MORELLO_TABLE_WORDS_HH

#include <string>

#include "spec/names.hh"
#include "table/boxes.hh"

namespace morello {

/// "muladd(0,1) f32[m,k] f32[k,n] -> f32[m,n]".
std::string key_text(const Spec& key);

/// "f32[m,k]": all that makes keys differ, levels and access aside, which are coordinates.
std::string operand_text(const Operand& operand, const DimNames& names);

/// "m", "operand0", "registers", "L1", ... No two axes of a key share a name.
std::string axis_name(const Spec& key, size_t axis);
/// A size as it is, memory in bytes, registers by count, levels and yes or no by name.
std::string coordinate_text(size_t axis, u32 coordinate);

/// "tile m by 8", "pack operand 1 at L1 in panels of 16", "select outer_product".
std::string action_text(const Spec& key, const Action& action);

/// "m 2..8, L1 0..32768": the ranges of these axes (bit a: axis a).
std::string ranges_text(const Spec& key, u32 axes, const GridBox& box);

}  // namespace morello

#endif

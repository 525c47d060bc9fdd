// SPDX-License-Identifier: MIT
// What people read of a Spec: letters for dimensions, and layouts in terms of them.
#ifndef MORELLO_SPEC_NAMES_HH
#define MORELLO_SPEC_NAMES_HH

#include <string>

#include "spec/spec.hh"

namespace morello {

using DimNames = std::array<std::string, kMaxDims>;

/// Matrix products get the usual letters, numbered where several dimensions have the same role;
/// others d0, d1, ...
DimNames dim_names(const Spec& spec);

/// [n,k; 16 n]: dimensions from slow to fast; panels of 16 along n. Then * if the layout is free.
std::string layout_text(const Operand& operand, const DimNames& names);

}  // namespace morello

#endif

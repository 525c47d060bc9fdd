// SPDX-License-Identifier: MIT
// Which calls of a plan have to set the sizes of tile registers.
#ifndef MORELLO_CODEGEN_TILE_SIZES_HH
#define MORELLO_CODEGEN_TILE_SIZES_HH

#include "codegen/plan.hh"
#include "target/target.hh"

namespace morello {

/// Setting sizes takes as long as some ten products: a call does so only where on some way to it
/// they are others, or none. Functions that threads run begin and end with none.
void set_tile_sizes(Plan& plan, const Target& target);

/// Does the plan use tile registers?
bool uses_tiles(const Plan& plan);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Where a plan sets the sizes of tile registers.
#ifndef MORELLO_CODEGEN_TILE_SIZES_HH
#define MORELLO_CODEGEN_TILE_SIZES_HH

#include "codegen/plan.hh"
#include "target/target.hh"

namespace morello {

/// Puts a PlanTiles before calls, and before loops and routines of which all calls have the same
/// sizes, unless these are set already. Setting them takes as long as some ten products. Functions
/// that threads run begin and end with none.
void set_tile_sizes(Plan& plan, const Target& target);

/// Does the plan use tile registers?
bool uses_tiles(const Plan& plan);

}  // namespace morello

#endif

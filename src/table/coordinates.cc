// SPDX-License-Identifier: MIT
#include "table/coordinates.hh"

namespace morello {

GridPoint to_grid(const Spec& spec, const Limits& limits) {
  GridPoint p{spec, {}};
  p.at[kAxisOverwrites] = spec.out().access == Access::kOut;
  p.key.out().access = Access::kIn;
  p.at[kAxisParallel] = !spec.serial;
  p.key.serial = false;
  for (int d = 0; d < spec.rank; d++) {
    p.at[kAxisSize + d] = spec.size[d] - 2;
    p.key.size[d] = 0;
  }
  for (int o = 0; o < spec.operand_count; o++) {
    p.at[kAxisLevel + o] = static_cast<u32>(spec.operand[o].level);
    p.key.operand[o].level = Level::kRegister;
  }
  for (size_t l = 0; l < limits.use.size(); l++) p.at[kAxisLimit + l] = limits.use[l];
  return p;
}

void from_grid(const GridPoint& p, Spec& spec, Limits& limits) {
  spec = p.key;
  spec.out().access = p.at[kAxisOverwrites] ? Access::kOut : Access::kInOut;
  spec.serial = p.at[kAxisParallel] == 0;
  for (int d = 0; d < spec.rank; d++) spec.size[d] = p.at[kAxisSize + d] + 2;
  for (int o = 0; o < spec.operand_count; o++)
    spec.operand[o].level = static_cast<Level>(p.at[kAxisLevel + o]);
  limits = {};
  for (size_t l = 0; l < limits.use.size(); l++)
    limits.use[l] = static_cast<u8>(p.at[kAxisLimit + l]);
}

}  // namespace morello

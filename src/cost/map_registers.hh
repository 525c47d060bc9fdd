// SPDX-License-Identifier: MIT
// The vector registers of elementwise chains: what the search reserves and what codegen/x64/chain
// uses.
#ifndef MORELLO_COST_MAP_REGISTERS_HH
#define MORELLO_COST_MAP_REGISTERS_HH

#include <optional>

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Which registers the chain needs besides those of its register operands.
struct MapRegisters {
  bool value = false;  // of stages that cannot be computed in the output's registers
  bool other = false;  // a second input that is no memory operand of an instruction
  bool spare =
      false;          // a first input while the output's register is busy; upper half of odd stores
  bool mask = false;  // of odd vectors, without mask registers
  u8 constants = 0;   // bit s: stage s keeps a constant

  u32 count() const;
};

/// What the stages that fill write.
float fill_value_of(const Spec& spec);

/// What the instruction of a stage needs in a register, if it needs something: fill, relu, neg,
/// abs, recip.
std::optional<float> constant_of(Op op, float fill_value);

/// @param scalar  the chain runs on single elements.
MapRegisters map_registers(const Spec& spec, const Target& target, bool scalar);

}  // namespace morello

#endif

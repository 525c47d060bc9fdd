// SPDX-License-Identifier: MIT
// The vector registers of elementwise chains: what the search reserves and what codegen/x64/chain
// uses.
#ifndef MORELLO_COST_MAP_REGISTERS_HH
#define MORELLO_COST_MAP_REGISTERS_HH

#include <array>
#include <optional>

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Which registers the chain needs besides those of its register operands.
struct MapRegisters {
  u8 value = 0;        // of stages that cannot be computed in the output's registers
  bool other = false;  // a second input that is no memory operand of an instruction
  bool spare =
      false;          // a first input while the output's register is busy; upper half of odd stores
  u8 narrow = 0;      // of vectors that are rounded, or converted when they are stored
  bool mask = false;  // of odd vectors, without mask registers
  // Orders of bytes: of bf16 that is loaded or stored. Of operands in memory only.
  bool widening = false, narrowing = false;
  u16 constants = 0;   // bit s: stage s keeps a constant
  u8 temporaries = 0;  // of recipes
  // Whole vectors of bf16 are rounded and stored two at a time, where registers are left for it.
  bool pairs = false;

  u32 count() const;
};

/// Elementwise stages between operands in memory and one output, each of which may read the value
/// of any stage before it, all of one type: as a chain, but values may have to wait in registers.
/// Functions are left to chains, which have these registers for vectors side by side.
bool is_web(const Spec& spec);
/// The register of each stage's value, of `count`. REQUIRES: a chain, which has one, or is_web().
struct ValueRegisters {
  std::array<u8, kMaxStages> of{};
  u8 count = 1;
};
ValueRegisters value_registers(const Spec& spec);

/// What a stage needs in every lane of a register, if it needs something: its constant, or what the
/// instructions of relu, neg, abs, recip do.
std::optional<u32> lanes_constant(const Stage& stage);

/// @param scalar  the chain runs on single elements.
MapRegisters map_registers(const Spec& spec, const Target& target, bool scalar);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Microkernels: the leaf instruction sequences. Each says which Specs it computes, which
// registers it needs and what it costs; codegen/x64 has the emitter of the same name. Search knows
// no more.
#ifndef MORELLO_COST_MICROKERNEL_HH
#define MORELLO_COST_MICROKERNEL_HH

#include <array>
#include <span>

#include "impl/microkernel_id.hh"
#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Per dimension: the most elements that one run of a microkernel's code takes; 0: all of them. The
/// plan loops over such portions.
using Portions = std::array<u32, kMaxDims>;

struct Microkernel {
  MicrokernelId id;
  /// True if it computes this Spec on this target.
  bool (*applies)(const Spec&, const Target&);
  /// Vector registers besides those of the Spec's register operands.
  u32 (*registers)(const Spec&, const Target&);
  /// Units of one execution, including the lines it brings from the levels of its operands.
  i64 (*cost)(const Spec&, const Target&);
  Portions (*portions)(const Spec&);
};

/// All of them, in the order of their numbers.
std::span<const Microkernel* const> microkernels();
const Microkernel& microkernel(MicrokernelId id);

}  // namespace morello

#endif

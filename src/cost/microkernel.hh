// SPDX-License-Identifier: MIT
// Microkernels: the leaf instruction sequences. A family says which Specs it computes, which registers
// it needs and what it costs; codegen/x64 has the emitter of the same name. Search knows no more.
#ifndef MORELLO_COST_MICROKERNEL_HH
#define MORELLO_COST_MICROKERNEL_HH

#include <span>
#include <string_view>

#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// On disk: never renumber.
enum class MicrokernelId : u16 {
  kOuterProduct = 1,  // register tile += column of A times row of B, vectors along the output's fastest dim
  kDotProduct = 2,    // vectors along the reduced dimension, horizontal sum at the end
  kMap = 3,           // elementwise chains, copies and fills, vectors along the fastest dim
  kScalarMap = 4,     // the same, one element at a time: any strides
  kReduceRows = 5,    // reduction of a dimension that is not the fastest: vectors along the output
  kReduceLanes = 6,   // reduction along the fastest dimension: horizontal
  kScalarReduce = 7,  // matmul and reductions, one element at a time: any strides
  kTranspose = 8,     // copy between two layouts with different fastest dims, blocks in registers
};

struct Microkernel {
  MicrokernelId id;
  std::string_view name;  // as in Impl trees, plans and kernel names
  /// True if it computes this Spec on this target.
  bool (*applies)(const Spec&, const Target&);
  /// Vector registers besides those of the Spec's register operands.
  u32 (*registers)(const Spec&, const Target&);
  /// Units of one execution, including the lines it brings from the levels of its operands.
  i64 (*cost)(const Spec&, const Target&);
};

/// All of them, in the order of their numbers.
std::span<const Microkernel> microkernels();
const Microkernel& microkernel(MicrokernelId id);

}  // namespace morello

#endif

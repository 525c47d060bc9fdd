// SPDX-License-Identifier: MIT
// The numbers and names of the microkernels, as decisions: what Impl trees, plans, tables and
// kernel names call them. What they compute and cost is cost/microkernel.hh.
#ifndef MORELLO_IMPL_MICROKERNEL_ID_HH
#define MORELLO_IMPL_MICROKERNEL_ID_HH

#include <string_view>

#include "support/types.hh"

namespace morello {

/// On disk: never renumber.
enum class MicrokernelId : u16 {
  kOuterProduct =
      1,  // register tile += column of A times row of B, vectors along the output's fastest dim
  kDotProduct = 2,    // vectors along the reduced dimension, horizontal sum at the end
  kMap = 3,           // elementwise chains, copies and fills, vectors along the fastest dim
  kScalarMap = 4,     // the same, one element at a time: any strides
  kReduceRows = 5,    // reduction of a dimension that is not the fastest: vectors along the output
  kReduceLanes = 6,   // reduction along the fastest dimension: horizontal
  kScalarReduce = 7,  // matmul and reductions, one element at a time: any strides
  kTranspose = 8,     // copy between two layouts with different fastest dims, blocks in registers
};

/// "" for numbers of no microkernel.
constexpr std::string_view name_of(MicrokernelId id) {
  switch (id) {
    case MicrokernelId::kOuterProduct:
      return "outer_product";
    case MicrokernelId::kDotProduct:
      return "dot_product";
    case MicrokernelId::kMap:
      return "map";
    case MicrokernelId::kScalarMap:
      return "scalar_map";
    case MicrokernelId::kReduceRows:
      return "reduce_rows";
    case MicrokernelId::kReduceLanes:
      return "reduce_lanes";
    case MicrokernelId::kScalarReduce:
      return "scalar_reduce";
    case MicrokernelId::kTranspose:
      return "transpose";
  }
  return "";
}

}  // namespace morello

#endif

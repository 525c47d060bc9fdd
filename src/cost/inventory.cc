// SPDX-License-Identifier: MIT
// The list of microkernels: one row each. codegen/x64 has the row of its emitter.
#include <array>

#include "cost/families.hh"

namespace morello {

std::span<const Microkernel* const> microkernels() {
  static constexpr std::array kAll = {&kOuterProduct, &kDotProduct,  &kMapKernel,    &kScalarMap,
                                      &kReduceRows,   &kReduceLanes, &kScalarReduce, &kTranspose};
  return kAll;
}

const Microkernel& microkernel(MicrokernelId id) {
  return *microkernels()[static_cast<size_t>(id) - 1];
}

}  // namespace morello

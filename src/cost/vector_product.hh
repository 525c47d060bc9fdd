// SPDX-License-Identifier: MIT
#ifndef MORELLO_COST_VECTOR_PRODUCT_HH
#define MORELLO_COST_VECTOR_PRODUCT_HH

#include "cost/microkernel.hh"

namespace morello {

/// Of each step, vectors of `held` are loaded once for all rows of the tile that share them, those
/// of `streamed` are operands of the instruction.
struct VectorFactors {
  Ref streamed = kNoRef, held = kNoRef;
};
/// REQUIRES: the microkernel vector_product computes the Spec.
VectorFactors vector_factors(const Spec& spec);

}  // namespace morello

#endif

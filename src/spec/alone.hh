// SPDX-License-Identifier: MIT
#ifndef MORELLO_SPEC_ALONE_HH
#define MORELLO_SPEC_ALONE_HH

#include "spec/spec.hh"

namespace morello {

/// A product of a graph as a Spec of its own: what it costs at least, whatever the rest does.
/// Results are in L1, and the caller lays them out; of their type they need a buffer, which has any
/// layout. Factors that are values are there as well, in any layout, and so are operands that are
/// `seen`, as bits; the others are added to it.
/// @param dims  dims_of_stages().
Spec product_alone(const Spec& spec, int stage, const std::array<DimMask, kMaxStages>& dims,
                   u8& seen);

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Do two tensors in memory share an element?
#ifndef MORELLO_SUPPORT_OVERLAP_HH
#define MORELLO_SUPPORT_OVERLAP_HH

#include <vector>

#include "support/types.hh"

namespace morello {

/// Elements of `element` bytes at base + element * (sum of index * stride).
/// REQUIRES: as many strides as sizes; sizes >= 1, strides >= 0, all within 2^48 bytes.
struct PlacedTensor {
  u64 base = 0;
  u32 element = 1;
  std::vector<i64> shape, strides;
};

/// kUnknown: not decided in a few thousand steps, as is possible for strides that do not nest.
enum class Overlap { kDisjoint, kSome, kUnknown };

/// Whether any byte belongs to an element of both. Gaps between elements belong to nobody, so
/// interleaved tensors, such as two blocks of columns of one matrix, do not overlap.
Overlap find_overlap(const PlacedTensor& a, const PlacedTensor& b);

}  // namespace morello

#endif

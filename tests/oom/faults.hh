// SPDX-License-Identifier: MIT
// The test allocator: malloc and its kin, operator new, mappings and the start of
// threads, counted, and made to fail.
#ifndef MORELLO_TESTS_OOM_FAULTS_HH
#define MORELLO_TESTS_OOM_FAULTS_HH

#include <cstdint>

namespace morello::testing::faults {

enum class Mode {
  kOnce,    // the n-th call fails
  kOnward,  // and all after it
};

/// From now on calls are counted, and the n-th one fails (0: none). `trace`: says where.
void arm(uint64_t n, Mode mode, bool trace = false);

struct Counts {
  uint64_t calls = 0;   // that could have failed
  uint64_t failed = 0;  // that did
};
/// Nothing fails any more.
Counts disarm();

/// Blocks and mappings that were made between arm() and disarm() and are still there. What the C
/// library keeps for threads is not counted.
uint64_t live();

}  // namespace morello::testing::faults

#endif

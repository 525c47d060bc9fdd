// SPDX-License-Identifier: MIT
// Kernels with a run-time size: a program for each of some sizes, and which of them run for each
// size up to the largest.
#ifndef MORELLO_COMPILER_BUILD_SIZED_HH
#define MORELLO_COMPILER_BUILD_SIZED_HH

#include "compiler/build_kernel.hh"
#include "spec/sized.hh"

namespace morello {

/// As build_kernel(). The options are those of each search, but for the time budget, which is for
/// all of them. UNSUPPORTED, if a piece cannot have the layouts that the largest one chose.
Result<BuiltKernel> build_sized_kernel(const Sized& sized, const Target& target,
                                       const SearchOptions& options, const Table* table,
                                       BuildOutput output);

}  // namespace morello

#endif

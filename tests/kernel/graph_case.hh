// SPDX-License-Identifier: MIT
// A kernel of a graph, beside what its text means node by node.
#ifndef MORELLO_TESTS_KERNEL_GRAPH_CASE_HH
#define MORELLO_TESTS_KERNEL_GRAPH_CASE_HH

#include <string>
#include <vector>

#include "morello/morello.h"
#include "spec/statement.hh"

namespace morello::testing {

/// Each element of a tensor, in row-major order.
std::vector<i64> offsets_of(const Tensor& t);

/// How near results are, in parts of the largest magnitude in the graph; or of which numbers f32
/// has sums, or sums of products, so that they are exact.
enum class Nearness { kOfOutput, kOfCasts, kExactSums, kExactProducts };

/// "" if the kernel of the graph computes what it says.
/// @param skipped  set if the search was given up, for the memory that it took.
std::string wrong(const Statement& s, morello_isa isa, u64 seed, u32 threads, bool& skipped,
                  Nearness nearness = Nearness::kOfOutput);

}  // namespace morello::testing

#endif

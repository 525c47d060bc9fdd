// SPDX-License-Identifier: MIT
// The numbers of f32 as blocks of 65,536 that follow one another: all of them, or a sample; and the
// command line of programs that go through them.
#ifndef MORELLO_TESTS_SUPPORT_BLOCKS_HH
#define MORELLO_TESTS_SUPPORT_BLOCKS_HH

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/types.hh"

namespace morello::testing {

inline constexpr u32 kBlock = 65536;   // numbers in a block, which have the upper 16 bits in common
inline constexpr u32 kBlocks = 65536;  // of them, in order of these bits
inline constexpr int kSkip = 77;       // how a program ends that can try nothing here

/// The blocks that are asked for.
struct Blocks {
  std::vector<u32> list;
  bool all = false;
  u64 seed = 0;      // of a sample
  std::string only;  // the name after --only

  /// Prints how many they were, of what and with which seed, and how many were wrong.
  void report(const std::string& what, size_t wrong) const;
};

/// @param program  its name, for the usage, which is printed for arguments that are none
/// @param edges    upper halves of positive numbers whose blocks are in every sample, as are those
///                 of their negatives
/// @param sample   how many a sample has
/// @param has_only whether it knows --only
std::optional<Blocks> read_arguments(int count, char** values, const char* program,
                                     const std::vector<u32>& edges, u32 sample,
                                     bool has_only = false);

/// work() on as many threads as there are processors.
void on_all_processors(const std::function<void()>& work);

}  // namespace morello::testing

#endif

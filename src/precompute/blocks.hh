// SPDX-License-Identifier: MIT
// Families cut into blocks of members with neighbouring sizes: the units of work of a precompute.
#ifndef MORELLO_PRECOMPUTE_BLOCKS_HH
#define MORELLO_PRECOMPUTE_BLOCKS_HH

#include <functional>
#include <span>
#include <vector>

#include "spec/family.hh"

namespace morello {

/// Members of one family with indices lo[d] <= at[d] < hi[d] along each of its dimensions.
struct MemberBlock {
  size_t family = 0;
  std::vector<u32> lo, hi;
};

/// The same blocks in the same order whenever the families are the same. In order of wavefronts,
/// the smallest sizes first: most of what a block's programs consist of was solved for blocks
/// before it. Of several parts that go to different machines, each gets every so manyth block, so
/// that all have about as much to do. REQUIRES: part < parts.
std::vector<MemberBlock> blocks_of(std::span<const Family> families, u32 part = 0, u32 parts = 1);

u64 members_of(const MemberBlock& block);

/// Calls visit(indices) for each member, the last index fastest, until it returns false.
void each_member(const MemberBlock& block, const std::function<bool(std::span<const u32>)>& visit);

}  // namespace morello

#endif

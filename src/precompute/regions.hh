// SPDX-License-Identifier: MIT
// Families cut into regions of members with neighbouring sizes: the units of work of a precompute.
#ifndef MORELLO_PRECOMPUTE_REGIONS_HH
#define MORELLO_PRECOMPUTE_REGIONS_HH

#include <functional>
#include <span>
#include <vector>

#include "spec/family.hh"

namespace morello {

/// Members of one family with indices lo[d] <= at[d] < hi[d] along each of its dimensions.
struct Region {
  size_t family = 0;
  std::vector<u32> lo, hi;
};

/// The same regions in the same order whenever the families are the same. In order of wavefronts,
/// the smallest sizes first: most of what a region's programs consist of was solved for regions
/// before it. Of several parts that go to different machines, each gets every so manyth region, so
/// that all have about as much to do. REQUIRES: part < parts.
std::vector<Region> regions_of(std::span<const Family> families, u32 part = 0, u32 parts = 1);

u64 members_of(const Region& region);

/// Calls visit(indices) for each member, the last index fastest, until it returns false.
void each_member(const Region& region, const std::function<bool(std::span<const u32>)>& visit);

}  // namespace morello

#endif

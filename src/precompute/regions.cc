// SPDX-License-Identifier: MIT
#include "precompute/regions.hh"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace morello {
namespace {

/// Regions have at most so many members: seconds of work for the largest matmuls.
constexpr u32 kRegionMembers = 64;

u32 edge_of(size_t dims) {
  auto members = [dims](u32 edge) {
    u64 product = 1;
    for (size_t d = 0; d < dims && product <= kRegionMembers; d++) product *= edge;
    return product;
  };
  u32 edge = 1;
  while (dims > 0 && members(edge + 1) <= kRegionMembers) edge++;
  return edge;
}

/// Advances `at`, the last index first; false after the last one.
bool advance(std::vector<u32>& at, std::span<const u32> lo, std::span<const u32> hi) {
  for (size_t d = at.size(); d-- > 0;) {
    if (++at[d] < hi[d]) return true;
    at[d] = lo[d];
  }
  return false;
}

void cut(size_t number, const Family& family, std::vector<Region>& regions) {
  const size_t dims = family.dims().size();
  const u32 edge = edge_of(dims);
  std::vector<u32> none(dims), counts, at(dims);
  for (const std::vector<u32>& sizes : family.dims())
    counts.push_back((static_cast<u32>(sizes.size()) + edge - 1) / edge);
  do {
    Region region{number, {}, {}};
    for (size_t d = 0; d < dims; d++) {
      region.lo.push_back(at[d] * edge);
      region.hi.push_back(std::min(region.lo[d] + edge, static_cast<u32>(family.dims()[d].size())));
    }
    regions.push_back(std::move(region));
  } while (advance(at, none, counts));
}

}  // namespace

std::vector<Region> regions_of(std::span<const Family> families, u32 part, u32 parts) {
  std::vector<Region> all;
  for (size_t f = 0; f < families.size(); f++) cut(f, families[f], all);
  auto wavefront = [](const Region& b) {
    return std::accumulate(b.lo.begin(), b.lo.end(), u64{0});
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Region& a, const Region& b) { return wavefront(a) < wavefront(b); });
  if (parts == 1) return all;
  std::vector<Region> regions;
  for (size_t i = part; i < all.size(); i += parts) regions.push_back(std::move(all[i]));
  return regions;
}

u64 members_of(const Region& region) {
  u64 members = 1;
  for (size_t d = 0; d < region.lo.size(); d++) members *= region.hi[d] - region.lo[d];
  return members;
}

void each_member(const Region& region, const std::function<bool(std::span<const u32>)>& visit) {
  std::vector<u32> at = region.lo;
  do {
    if (!visit(at)) return;
  } while (advance(at, region.lo, region.hi));
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "table/box_index.hh"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "table/allowance.hh"
#include "table/groups.hh"

namespace morello {
namespace {

/// As many are counted as fast as searched.
constexpr u32 kFewCuts = 96;

/// Where boxes begin, and where they have just ended; ascending.
std::vector<u32> cuts_along(const std::vector<GridBox>& boxes, size_t axis) {
  // Almost all are small, and the same ones again and again.
  std::array<u64, 64> small{};
  constexpr u32 kSmall = 64 * 64;
  std::vector<u32> cuts, large;
  auto add = [&](u32 cut) {
    if (cut < kSmall)
      small[cut / 64] |= u64{1} << cut % 64;
    else
      large.push_back(cut);
  };
  for (const GridBox& box : boxes) {
    add(box.lo[axis]);
    if (box.hi[axis] != ~0u) add(box.hi[axis] + 1);
  }
  for (u32 i = 0; i < small.size(); i++)
    for (u64 bits = small[i]; bits != 0; bits &= bits - 1)
      cuts.push_back(i * 64 + static_cast<u32>(std::countr_zero(bits)));
  std::sort(large.begin(), large.end());
  cuts.insert(cuts.end(), large.begin(), std::unique(large.begin(), large.end()));
  return cuts;
}

}  // namespace

std::optional<BoxIndex> BoxIndex::make(const std::vector<GridBox>& boxes,
                                       const std::vector<u32>& values) {
  BoxIndex index;
  if (!index.set_cuts(boxes)) return std::nullopt;
  const size_t chunks = index.chunks_;
  std::vector<Chunk> places(boxes.size() * chunks);
  for (size_t i = 0; i < boxes.size(); i++)
    for (size_t v = 0; v < index.axes_.size(); v++) {
      Chunk& chunk = places[i * chunks + v / kChunk];
      chunk.lo[v % kChunk] = index.place_along(v, boxes[i].lo[index.axes_[v]]);
      chunk.hi[v % kChunk] = index.place_along(v, boxes[i].hi[index.axes_[v]]);
    }
  std::vector<u32> order(boxes.size());
  std::iota(order.begin(), order.end(), 0u);
  index.order(places, order.data(), order.data() + order.size());

  std::vector<Chunk>& leaves = index.levels_.emplace_back();
  leaves.reserve(places.size());
  index.values_.reserve(boxes.size());
  for (const u32 box : order) {
    index.values_.push_back(values[box]);
    for (size_t c = 0; c < chunks; c++) leaves.push_back(places[box * chunks + c]);
  }
  while (index.levels_.back().size() > kFanOut * index.chunks_) index.add_level();
  index.levels_.shrink_to_fit();
  return index;
}

BoxIndex::Memory BoxIndex::memory_to_make(u64 boxes, u64 axes) {
  const u64 leaves = boxes * std::max<u64>(1, ceil_div(axes, u64{kChunk})) * sizeof(Chunk);
  // Each box has two ends along an axis. Lists of these grow: up to three times their length.
  const u64 cuts = std::min<u64>(2 * boxes, std::numeric_limits<u16>::max()) + 4;
  constexpr u64 kBlocks = 24;
  return {leaves + leaves / (kFanOut - 1) + boxes * sizeof(u32) + axes * cuts * sizeof(u32) +
              kBlocks * kBlockBytes,
          leaves + boxes * sizeof(u32) + 3 * (axes * cuts + 3 * 2 * boxes) * sizeof(u32)};
}

bool BoxIndex::set_cuts(const std::vector<GridBox>& boxes) {
  const u32 varying = varying_axes(boxes);
  base_ = boxes[0].lo;
  for (size_t a = 0; a < kAxes; a++) {
    if (!(varying >> a & 1)) {
      fixed_[a] = ~0u;
      continue;
    }
    std::vector<u32> cuts = cuts_along(boxes, a);
    while (cuts.size() % 4 != 0) cuts.push_back(~0u);  // as place_along() wants them
    if (cuts.size() > std::numeric_limits<u16>::max()) return false;
    axes_.push_back(static_cast<u8>(a));
    first_cut_.push_back(static_cast<u32>(cuts_.size()));
    cuts_.insert(cuts_.end(), cuts.begin(), cuts.end());
  }
  first_cut_.push_back(static_cast<u32>(cuts_.size()));
  chunks_ = std::max<size_t>(1, ceil_div(axes_.size(), kChunk));
  for (auto* list : {&first_cut_, &cuts_}) list->shrink_to_fit();
  return true;
}

void BoxIndex::order(const std::vector<Chunk>& places, u32* begin, u32* end) const {
  const size_t count = static_cast<size_t>(end - begin);
  if (count <= kFanOut || axes_.empty()) return;
  auto middle_of = [&](u32 box, size_t v) {
    const Chunk& chunk = places[box * chunks_ + v / kChunk];
    return u32{chunk.lo[v % kChunk]} + chunk.hi[v % kChunk];
  };
  size_t widest = 0;
  u16 most = 0;
  for (size_t c = 0; c < chunks_; c++) {
    __m128i low = _mm_set1_epi16(-1), high = _mm_setzero_si128();  // of all boxes' middles
    for (u32* box = begin; box != end; box++) {
      const Chunk& chunk = places[*box * chunks_ + c];
      const __m128i middle = _mm_avg_epu16(load(chunk.lo.data()), load(chunk.hi.data()));
      low = _mm_sub_epi16(low, _mm_subs_epu16(low, middle));     // the lesser
      high = _mm_add_epi16(high, _mm_subs_epu16(middle, high));  // the greater
    }
    std::array<u16, kChunk> spread;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(spread.data()), _mm_sub_epi16(high, low));
    for (size_t k = 0; k < kChunk; k++) {
      if (spread[k] <= most) continue;
      most = spread[k];
      widest = c * kChunk + k;
    }
  }
  u32* half = begin + round_up(count / 2, kFanOut);
  std::nth_element(begin, half, end, [&](u32 x, u32 y) {
    u32 a = middle_of(x, widest), b = middle_of(y, widest);
    return a != b ? a < b : x < y;
  });
  order(places, begin, half);
  order(places, half, end);
}

u16 BoxIndex::place_along(size_t varying, u32 coordinate) const {
  const u32 begin = first_cut_[varying], end = first_cut_[varying + 1];
  if (end - begin > kFewCuts) {
    u32 first = begin;
    for (u32 left = end - begin; left > 1; left -= left / 2)
      first += cuts_[first + left / 2 - 1] <= coordinate ? left / 2 : 0;
    return static_cast<u16>(first - begin + (cuts_[first] <= coordinate ? 1 : 0));
  }
  // All of them, four at a time: they are few, and a search would branch in ways that cannot be
  // predicted.
  const __m128i sign = _mm_set1_epi32(std::numeric_limits<i32>::min());  // compares unsigned
  const __m128i at = _mm_xor_si128(_mm_set1_epi32(static_cast<i32>(coordinate)), sign);
  __m128i later = _mm_setzero_si128();
  for (u32 i = begin; i < end; i += 4) {
    const auto* cuts = reinterpret_cast<const __m128i*>(&cuts_[i]);
    later = _mm_add_epi32(later, _mm_cmpgt_epi32(_mm_xor_si128(_mm_loadu_si128(cuts), sign), at));
  }
  later = _mm_add_epi32(later, _mm_shuffle_epi32(later, 0x4e));
  later = _mm_add_epi32(later, _mm_shuffle_epi32(later, 0xb1));
  return static_cast<u16>(static_cast<i32>(end - begin) + _mm_cvtsi128_si32(later));
}

bool BoxIndex::place_of(const Coordinates& at, Place& place) const {
  u32 elsewhere = 0;
  for (size_t a = 0; a < kAxes; a++) elsewhere |= (at[a] ^ base_[a]) & fixed_[a];
  if (elsewhere) return false;
  place = {};
  for (size_t v = 0; v < axes_.size(); v++)
    place[v / kChunk][v % kChunk] = place_along(v, at[axes_[v]]);
  return true;
}

void BoxIndex::add_level() {
  const std::vector<Chunk>& below = levels_.back();
  const size_t count = below.size() / chunks_;
  std::vector<Chunk> level(ceil_div(count, kFanOut) * chunks_);
  for (size_t i = 0; i < count; i++)
    for (size_t c = 0; c < chunks_; c++) {
      Chunk& all = level[i / kFanOut * chunks_ + c];
      const Chunk& one = below[i * chunks_ + c];
      if (i % kFanOut == 0) all = one;
      for (size_t k = 0; k < kChunk; k++) {
        all.lo[k] = std::min(all.lo[k], one.lo[k]);
        all.hi[k] = std::max(all.hi[k], one.hi[k]);
      }
    }
  levels_.push_back(std::move(level));
}

GridBox BoxIndex::box(size_t number) const {
  GridBox box{base_, base_, {}};
  for (size_t v = 0; v < axes_.size(); v++) {
    const Chunk& chunk = levels_[0][number * chunks_ + v / kChunk];
    const u32 lo = first_cut_[v] + chunk.lo[v % kChunk] - 1u;
    const u32 hi = first_cut_[v] + chunk.hi[v % kChunk];
    box.lo[axes_[v]] = cuts_[lo];
    box.hi[axes_[v]] = hi == first_cut_[v + 1] ? ~0u : cuts_[hi] - 1;
  }
  return box;
}

size_t BoxIndex::bytes() const {
  size_t bytes = axes_.capacity() + (first_cut_.capacity() + cuts_.capacity()) * sizeof(u32) +
                 values_.capacity() * sizeof(u32) + levels_.capacity() * sizeof(levels_[0]);
  for (const std::vector<Chunk>& level : levels_) bytes += level.capacity() * sizeof(Chunk);
  return bytes;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// BoxIndex: which boxes of one key contain a point. Immutable; any number of threads may ask.
#ifndef MORELLO_TABLE_BOX_INDEX_HH
#define MORELLO_TABLE_BOX_INDEX_HH

#include <emmintrin.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "table/boxes.hh"

namespace morello {

/// A tree of boxes of boxes, kFanOut at a time. Coordinates are counted in the places where some
/// box begins or ends, so that they are small; axes along which all boxes are the same are left
/// out.
class BoxIndex {
 public:
  /// More places than fit into 16 bits along one axis: nothing. What the boxes stand for is in
  /// `values`. REQUIRES: as many boxes as values, and at least one.
  static std::optional<BoxIndex> make(const std::vector<GridBox>& boxes,
                                      const std::vector<u32>& values);

  /// The most memory that make() takes: of what it returns, and on top of that while it runs. Of
  /// the boxes no more than `axes` axes vary.
  struct Memory {
    u64 kept = 0, temporary = 0;
  };
  static Memory memory_to_make(u64 boxes, u64 axes);

  /// Most boxes, and boxes of boxes, that one look-up compares with: some 20 us. Look-ups in tables
  /// of searches take a hundredth of that; boxes of a file may overlap such that a look-up would
  /// compare with all of them.
  static constexpr u32 kMostCompared = 1 << 13;

  /// Calls visit(box) for the boxes that contain `at` until it returns false, always in the same
  /// order for the same list of boxes. Boxes are numbered in an order of their own. Boxes after the
  /// first kMostCompared are not found.
  template <class Visit>
  void each_at(const Coordinates& at, const Visit& visit) const {
    Place place;
    if (!place_of(at, place)) return;
    u32 left = kMostCompared;
    const size_t top = levels_.size() - 1, end = levels_.back().size() / chunks_;
    static_assert(kChunks == 3);
    if (chunks_ == 1)
      descend<1>(top, 0, end, place, left, visit);
    else if (chunks_ == 2)
      descend<2>(top, 0, end, place, left, visit);
    else
      descend<3>(top, 0, end, place, left, visit);
  }

  u32 value(size_t box) const { return values_[box]; }
  /// Without its action.
  GridBox box(size_t number) const;

  size_t size() const { return values_.size(); }
  size_t bytes() const;

 private:
  /// Axes that vary come in chunks: compared all at once.
  static constexpr size_t kChunk = 8, kChunks = (kAxes + kChunk - 1) / kChunk;
  static constexpr size_t kFanOut = 8;
  struct Chunk {
    std::array<u16, kChunk> lo{}, hi{};
  };
  using Place = std::array<std::array<u16, kChunk>, kChunks>;

  BoxIndex() = default;
  bool set_cuts(const std::vector<GridBox>& boxes);
  /// Puts boxes that are near each other side by side.
  void order(const std::vector<Chunk>& places, u32* begin, u32* end) const;
  u16 place_along(size_t varying, u32 coordinate) const;
  bool place_of(const Coordinates& at, Place& place) const;
  void add_level();

  template <size_t kCount>
  static bool contains(const Chunk* box, const Place& place) {
    __m128i outside = _mm_setzero_si128();
    for (size_t c = 0; c < kCount; c++) {
      const __m128i at = load(place[c].data());
      outside = _mm_or_si128(outside, _mm_subs_epu16(load(box[c].lo.data()), at));
      outside = _mm_or_si128(outside, _mm_subs_epu16(at, load(box[c].hi.data())));
    }
    return _mm_movemask_epi8(_mm_cmpeq_epi16(outside, _mm_setzero_si128())) == 0xffff;
  }
  static __m128i load(const u16* values) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  }

  template <size_t kCount, class Visit>
  bool descend(size_t level, size_t begin, size_t end, const Place& place, u32& left,
               const Visit& visit) const {
    if (left < end - begin) return false;
    left -= static_cast<u32>(end - begin);
    for (size_t i = begin; i < end; i++) {
      if (!contains<kCount>(&levels_[level][i * kCount], place)) continue;
      if (level == 0) {
        if (!visit(i)) return false;
      } else if (!descend<kCount>(level - 1, i * kFanOut,
                                  std::min((i + 1) * kFanOut, levels_[level - 1].size() / kCount),
                                  place, left, visit)) {
        return false;
      }
    }
    return true;
  }

  std::vector<u8> axes_;                    // that vary
  size_t chunks_ = 1;                       // that they need
  Coordinates base_{};                      // of the other axes
  Coordinates fixed_{};                     // all bits set for these
  std::vector<u32> first_cut_;              // in cuts_, of each varying axis; and the end
  std::vector<u32> cuts_;                   // where boxes begin, and where they have just ended
  std::vector<std::vector<Chunk>> levels_;  // boxes first, the root's children last
  std::vector<u32> values_;                 // of the boxes
};

}  // namespace morello

#endif

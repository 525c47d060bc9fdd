// SPDX-License-Identifier: MIT
// The loops around a node of a plan: where they will have a cursor next.
#ifndef MORELLO_CODEGEN_NEST_HH
#define MORELLO_CODEGEN_NEST_HH

#include <algorithm>
#include <vector>

#include "codegen/plan.hh"

namespace morello {

inline i64 step_of(const std::vector<CursorStep>& steps, CursorId cursor) {
  for (const CursorStep& s : steps)
    if (s.cursor == cursor) return s.bytes;
  return 0;
}

class Nest {
 public:
  struct Around {
    std::vector<CursorStep> steps;
    u64 trips = 0;
    bool has_rest = false, in_rest = false;
  };
  void enter(Around loop) { loops_.push_back(std::move(loop)); }
  void enter_rest() { loops_.back().in_rest = true; }
  void leave() { loops_.pop_back(); }

  /// What the innermost loop that moves the cursor adds to it before so many lines have come, of
  /// which each trip reads those of `tile`; but no more than few of its trips are for what is
  /// behind it.
  /// @param in_order  what a trip reads. Where the next one goes on behind it, it is no farther
  ///                  than those lines; a whole trip of more is too far.
  i64 ahead(CursorId cursor, const Footprint& tile, bool in_order) const {
    constexpr u64 kOnTheirWay = 64, kFewTrips = 16;
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop)
      if (!loop->in_rest && loop->trips > 1)
        if (const i64 bytes = step_of(loop->steps, cursor)) {
          const u64 lines = tile.lines;
          if (in_order && lines > kOnTheirWay && bytes == static_cast<i64>(tile.bytes))
            return i64{kOnTheirWay} * kLineBytes;
          const u64 trips = ceil_div(kOnTheirWay, std::max<u64>(1, lines));
          return bytes * static_cast<i64>(std::clamp<u64>(loop->trips / kFewTrips, 1, trips));
        }
    return 0;
  }

  /// What the innermost loop that moves the cursor adds to it, if few of its trips are followed by
  /// something else, counting those of loops around it that go on where it ends.
  i64 next_trip(CursorId cursor) const {
    constexpr u64 kManyTrips = 8;
    i64 bytes = 0;
    u64 trips = 0;
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      const i64 step = step_of(loop->steps, cursor);
      if (step == 0) continue;
      if (trips != 0 && step != bytes * static_cast<i64>(trips)) break;
      if (trips == 0 && loop->in_rest) return 0;
      if (trips == 0) bytes = step;
      trips = std::max<u64>(trips, 1) * (loop->in_rest ? 1 : loop->trips);
    }
    return trips < kManyTrips ? 0 : bytes;
  }

  /// Which loop moves the cursor next, and how far from here, if its last trip is not running; 0
  /// bytes if none does.
  struct Next {
    u32 loop = 0;  // from the outermost one on
    i64 bytes = 0;
  };
  Next next(CursorId cursor) const {
    i64 back = 0;  // a rest is behind all trips of its loop
    for (size_t i = loops_.size(); i-- > 0;) {
      const Around& around = loops_[i];
      const i64 bytes = step_of(around.steps, cursor);
      if (around.in_rest)
        back += static_cast<i64>(around.trips) * bytes;
      else if (bytes != 0 && (around.trips > 1 || around.has_rest))
        return {static_cast<u32>(i), bytes - back};
    }
    return {};
  }

 private:
  std::vector<Around> loops_;
};

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Tiles that moves bring to L1 in their place, and who of those that read them asks for the next
// ones.
#ifndef MORELLO_CODEGEN_NEAR_HH
#define MORELLO_CODEGEN_NEAR_HH

#include <utility>
#include <vector>

#include "codegen/plan.hh"

namespace morello {

class NearTiles {
 public:
  /// A move, in whose body the tile of so many bytes is in L1.
  void begin(CursorId cursor, u64 bytes) { tiles_.push_back({cursor, bytes}); }
  void end() { tiles_.pop_back(); }

  /// Of the calls that read the whole of a tile, from the first to the last one: does this one ask
  /// for the next tile? The first one waits for this tile, as those behind it do for its results;
  /// so it is one of these, which finds in L1 what it reads, and has time.
  /// @param can  that call.
  bool asks(CursorId cursor, u64 bytes, bool can) {
    for (Tile& tile : tiles_) {
      if (tile.cursor != cursor || tile.bytes != bytes) continue;
      if (!std::exchange(tile.read, true) || tile.asked || !can) return false;
      return tile.asked = true;
    }
    return false;
  }

 private:
  struct Tile {
    CursorId cursor = 0;
    u64 bytes = 0;
    bool read = false, asked = false;
  };
  std::vector<Tile> tiles_;
};

}  // namespace morello

#endif

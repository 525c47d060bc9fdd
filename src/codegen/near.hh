// SPDX-License-Identifier: MIT
// Tiles that moves bring to L1 in their place, and who of those that read them asks for the next
// ones.
#ifndef MORELLO_CODEGEN_NEAR_HH
#define MORELLO_CODEGEN_NEAR_HH

#include <utility>
#include <vector>

#include "codegen/asks.hh"
#include "codegen/place.hh"

namespace morello {

class NearTiles {
 public:
  explicit NearTiles(const Target& target) : most_(target.at(Level::kL1).bytes / 4) {}

  /// A move, in whose body the tile of so many bytes is in L1.
  void begin(CursorId cursor, u64 bytes) { tiles_.push_back({cursor, bytes}); }
  void end() { tiles_.pop_back(); }

  /// Of the calls that read the whole of a tile, from the first to the last one: does this one ask
  /// for the next tile? The first one waits for this tile, and those that store wait for that; one
  /// that stores nothing but what stays in buffers has time. Not if those that store ask for what
  /// is read later still.
  bool asks(const PlanCall& call, int operand, const Place& place,
            const std::vector<Cursor>& cursors) {
    if (call.spec.operand[operand].access != Access::kIn || place.in_registers) return false;
    const u64 bytes = footprint(call.spec, call.spec.operand[operand]).bytes;
    for (Tile& tile : tiles_) {
      if (tile.cursor != place.cursor || tile.bytes != bytes) continue;
      const bool again = std::exchange(tile.read, true);
      if (!again || tile.asked || bytes > most_ || !can_ask_next(call.id)) return false;
      if (place.passes != 0 && !place.comes_by_itself) return false;
      return tile.asked = stays_in_buffers(call, cursors);
    }
    return false;
  }

 private:
  struct Tile {
    CursorId cursor = 0;
    u64 bytes = 0;
    bool read = false, asked = false;
  };
  static bool stays_in_buffers(const PlanCall& call, const std::vector<Cursor>& cursors) {
    for (int o = 0; o < call.spec.operand_count; o++)
      if (call.spec.operand[o].access != Access::kIn && !call.operand[o].in_registers &&
          cursors[call.operand[o].cursor].base != Cursor::Base::kScratch)
        return false;
    return true;
  }

  u64 most_;  // bytes of a tile that leave room for the next one
  std::vector<Tile> tiles_;
};

}  // namespace morello

#endif

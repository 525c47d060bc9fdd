// SPDX-License-Identifier: MIT
// How a product of matrices uses tile registers: which it needs, of which sizes, and what is loaded
// how often.
#ifndef MORELLO_COST_TILES_HH
#define MORELLO_COST_TILES_HH

#include <array>
#include <optional>
#include <utility>

#include "cost/shared.hh"
#include "target/tiles.hh"

namespace morello {

/// The sizes of all tile registers, which are set together. Those that nothing uses are as large as
/// they can be, so that more products have the same.
struct TileSizes {
  std::array<u8, kMostTiles> rows{};
  std::array<u8, kMostTiles> row_bytes{};
  friend bool operator==(const TileSizes&, const TileSizes&) = default;
};

/// The tile registers of out[m,v] (+)= a[m,k] * b[k,v]: results in row_tiles() x column_tiles() of
/// them, and some that hold parts of the factors in turns. What is left of each dimension has
/// registers of its own sizes.
class TileUse {
 public:
  /// Nothing where the target's registers are too few.
  /// @param bytes  of an element of the factors.
  static std::optional<TileUse> of(const ContractionRoles& roles, u32 bytes, const TileUnit& unit);

  u32 row_tiles() const { return row_tiles_; }
  u32 column_tiles() const { return column_tiles_; }
  /// Along k: whole steps, and bytes of a row of `a` that are left, in whole groups.
  u32 steps() const { return steps_; }
  u32 rest_bytes() const { return rest_bytes_; }
  /// Elements that the last group lacks. What is left is copied then, with zeros for them: rows of
  /// `a` end before, and `b` has anything there.
  u32 lacking() const { return lacking_; }
  /// Of a row of tiles: rows.
  u32 rows(u32 i) const { return i + 1 == row_tiles_ ? last_rows_ : unit_.rows; }

  /// Registers. `rest`: of what is left along k.
  u32 result(u32 i, u32 j) const { return i * column_tiles_ + j; }
  u32 a(u32 i, bool rest) const { return first_a_ + (both(rest) ? a_kinds_ : 0) + kind_of_a(i); }
  u32 b(u32 j, bool rest) const { return first_b_ + (both(rest) ? b_kinds_ : 0) + kind_of_b(j); }

  TileSizes sizes() const;

  /// Calls load_a(i), load_b(j) and multiply(i, j) in the order of a step.
  template <class LoadA, class LoadB, class Multiply>
  void each_of_step(LoadA load_a, LoadB load_b, Multiply multiply) const {
    constexpr u32 kNone = ~u32{0};
    std::array<u32, kMostTiles> a_in, b_in;
    a_in.fill(kNone), b_in.fill(kNone);
    for (u32 i = 0; i < row_tiles_; i++)
      for (u32 n = 0; n < column_tiles_; n++) {
        const u32 j = i % 2 == 0 ? n : column_tiles_ - 1 - n;  // what was used last comes first
        if (std::exchange(a_in[kind_of_a(i)], i) != i) load_a(i);
        if (std::exchange(b_in[kind_of_b(j)], j) != j) load_b(j);
        multiply(i, j);
      }
  }

 private:
  /// Is something left along k, and smaller than whole steps before it?
  bool both(bool rest) const { return rest && steps_ != 0 && rest_bytes_ != unit_.row_bytes; }
  u32 kind_of_a(u32 i) const { return a_each_ ? i : i + 1 == row_tiles_ && a_kinds_ == 2; }
  u32 kind_of_b(u32 j) const { return b_each_ ? j : j + 1 == column_tiles_ && b_kinds_ == 2; }

  TileUnit unit_{};
  u32 row_tiles_ = 1, column_tiles_ = 1, last_rows_ = 0, last_row_bytes_ = 0;
  u32 steps_ = 0, rest_bytes_ = 0, lacking_ = 0;
  bool a_each_ = false, b_each_ = false;  // a register for each tile, or for each size
  u32 a_kinds_ = 1, b_kinds_ = 1, first_a_ = 0, first_b_ = 0;
};

/// May the factors of its contraction come into tile registers?
bool takes_tiles(const Spec& spec, const Target& target);

/// Are all rows of an operand known to begin at lines? Rows next to each other begin where they
/// end; of others, those that are a power of two of lines apart do.
bool begins_at_lines(const Spec& spec, const Operand& x);

/// Reduced dimensions besides k, such as those of a window, whose points are taken one after
/// another while results stay in their registers.
inline constexpr u64 kMostAround = 16;
DimMask around_of(const Spec& spec);
/// Of a leaf that the microkernel computes.
TileUse tile_use_of(const Spec& spec, const Target& target);

}  // namespace morello

#endif

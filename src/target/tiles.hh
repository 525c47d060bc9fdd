// SPDX-License-Identifier: MIT
// The products of matrices in tile registers: which element types an instruction multiplies. A row
// of the first factor has 64 bytes along the reduced dimension; of the second one, groups of
// neighbours along that dimension share lanes of 4 bytes, of which a row has 16.
#ifndef MORELLO_TARGET_TILES_HH
#define MORELLO_TARGET_TILES_HH

#include "support/dtype.hh"
#include "target/target.hh"

namespace morello {

/// What an emitter writes.
enum class TileForm : u8 { kBf16, kI8I8, kI8U8, kU8I8, kU8U8 };

struct TileDot {
  TileForm form;
  Features required;
  Dtype a, b, sum;
};

/// The row for factors of types `a` and `b`, in this order, summed in `sum`. Nothing where no row
/// of the target takes them.
const TileDot* tile_dot_of(const Target& target, Dtype a, Dtype b, Dtype sum);
/// The same in either order.
inline bool tiles_take(const Target& target, Dtype a, Dtype b, Dtype sum) {
  return tile_dot_of(target, a, b, sum) || tile_dot_of(target, b, a, sum);
}

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
// Exponentials of a row below the greatest element of each of its blocks, instead of that of the
// whole row: e^(x - m) of a block is e^(m - M) times too large, and so is all that is summed of it.
// So blocks of a row are computed apart, in any order, each from one part of what is read, and what
// they leave is merged: the greatest, sums of exponentials, and sums of what these are multiplied
// by.
#ifndef MORELLO_SPEC_RESCALE_HH
#define MORELLO_SPEC_RESCALE_HH

#include <optional>
#include <span>

#include "spec/view.hh"

namespace morello {

/// A Spec whose rows are cut into blocks, as one that has all stages.
struct Rescaled {
  /// The same operands. Its last dimension, a new one, is that of blocks, and `dim` that of a
  /// block's elements. Not canonical: its parts are.
  Spec whole;
  u8 dim = 0, block_dim = 0;
  u32 left = 0;   // what each block leaves: the values of these stages, bit s
  int held = -1;  // the exponentials of the blocks, a stage, where an output holds them
  Ref held_in = kNoRef;
};

/// The exponentials that are taken below the greatest of stage `most`, if what is made of them lets
/// blocks be merged; -1: it does not.
int rescaled_exponentials(const Spec& spec, int most);
/// The dimension along which rows run. REQUIRES: rescaled_exponentials() >= 0.
u8 rescaled_dim(const Spec& spec, int most);
/// @param size  of a block, which divides the row.
/// @param held_in  the output that holds exponentials until they are scaled; kNoRef: whoever reads
///   them after the merge computes them again.
/// Nothing if there are too many stages.
/// REQUIRES: rescaled_exponentials() >= 0.
std::optional<Rescaled> rescaled(const Spec& spec, int most, u32 size, Ref held_in);

/// The dimension of blocks, of what computes them; kNoDim: there is none.
u8 dim_of_blocks(const Spec& spec);

/// Of what the blocks leave, in the order of the stages, over the dimensions of the whole.
struct RescaleBuffers {
  int count = 0;
  std::array<Operand, kMaxBuffers> buffer{};
  std::span<const Operand> all() const { return {buffer.data(), static_cast<size_t>(count)}; }
};
RescaleBuffers rescale_buffers(const Rescaled& r, Level level);
/// The parent's view of an operand, with the blocks' dimension.
View view_of_blocks(const Rescaled& r, const View& view);

}  // namespace morello

#endif

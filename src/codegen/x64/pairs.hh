// SPDX-License-Identifier: MIT
// Vectors of every second element of two that are read.
#ifndef MORELLO_CODEGEN_X64_PAIRS_HH
#define MORELLO_CODEGEN_X64_PAIRS_HH

#include "codegen/x64/vectors.hh"

namespace morello::x64 {

/// What vshufps takes of two vectors.
constexpr int kEven = 0x88, kOdd = 0xdd;

/// Of twice as many elements as l has, those behind as many as a vector has: what `high` gets. Four
/// and less are in one vector.
Lanes upper_of_pairs(const Vectors& as, Lanes l);
/// Reads twice as many elements as l has, and none behind them.
/// REQUIRES: set_mask() of upper_of_pairs(l), if that is masked.
void load_pairs(Vectors& as, u32 low, u32 high, Lanes l, Dtype from, Dtype held,
                const Assembler::Reg64& base, i64 bytes);
/// kEven or kOdd of these. Of each 128 bits the first half is of `low`.
void shuffle_pairs(Vectors& as, u32 to, u32 low, u32 high, Lanes l, int which);
/// Brings lanes that were made so to their order.
/// @param order  a register with order_of_pairs(), where vectors have 512 bits.
void order_pairs(Vectors& as, u32 index, u32 width, u32 order);
/// @param back  to the order of elements, or from there.
Assembler::Address order_of_pairs(Vectors& as, bool back);

}  // namespace morello::x64

#endif

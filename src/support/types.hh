// SPDX-License-Identifier: MIT
// Short names for fixed-width integers, and the constants every layer shares.
#ifndef MORELLO_SUPPORT_TYPES_HH
#define MORELLO_SUPPORT_TYPES_HH

#include <cstddef>
#include <cstdint>

namespace morello {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr int kMaxDims = 8;      // dimensions of one iteration space
inline constexpr int kMaxOperands = 8;  // tensors of one Spec, the outputs included
inline constexpr int kMaxStages = 16;   // scalar steps of one Spec
inline constexpr int kMaxInputs = 3;    // of one stage
inline constexpr int kMaxWindows = 2;   // of one Spec
inline constexpr int kMaxPhysical = 8;  // entries of one layout
inline constexpr int kMaxPieces = 3;    // of them that one dimension has
inline constexpr int kMaxBuffers = 3;   // new ones of one node of an Impl tree

inline constexpr u64 kScratchAlignment = 64;  // bytes; of the scratch memory of kernels

constexpr u64 ceil_div(u64 a, u64 b) { return (a + b - 1) / b; }
constexpr u64 round_up(u64 a, u64 b) { return ceil_div(a, b) * b; }

}  // namespace morello

#endif

// SPDX-License-Identifier: MIT
#include "codegen/x64/pairs.hh"

#include <algorithm>

namespace morello::x64 {
namespace {

constexpr u32 kLanesOf128 = 4;

u32 width_of(Lanes l) { return std::max(l.width, kLanesOf128); }

}  // namespace

Lanes upper_of_pairs(const Vectors& as, Lanes l) {
  return l.width < kLanesOf128 ? Lanes{} : as.lanes_of(2 * l.count - l.width);
}

void load_pairs(Vectors& as, u32 low, u32 high, Lanes l, Dtype from, Dtype held,
                const Assembler::Reg64& base, i64 bytes) {
  as.load(low, as.lanes_of(l.width < kLanesOf128 ? 2 * l.count : l.width), from, held, base, bytes);
  if (l.width < kLanesOf128) return;
  as.load(high, upper_of_pairs(as, l), from, held, base, bytes + i64{l.width} * size_of(from));
}

void shuffle_pairs(Vectors& as, u32 to, u32 low, u32 high, Lanes l, int which) {
  const u32 width = width_of(l);
  as.vshufps(as.vec(to, width), as.vec(low, width),
             as.vec(l.width < kLanesOf128 ? low : high, width), static_cast<u8>(which));
}

void order_pairs(Vectors& as, u32 index, u32 width, u32 order) {
  const int i = static_cast<int>(index);
  if (width > 8)
    as.vpermpd(Xbyak::Zmm(i), Xbyak::Zmm(static_cast<int>(order)), Xbyak::Zmm(i));
  else if (width > kLanesOf128)
    as.vpermpd(Xbyak::Ymm(i), Xbyak::Ymm(i), 0xd8);
}

Assembler::Address order_of_pairs(Vectors& as, bool back) {
  return back ? as.table_constant({0, 0, 2, 0, 4, 0, 6, 0, 1, 0, 3, 0, 5, 0, 7, 0})
              : as.table_constant({0, 0, 4, 0, 1, 0, 5, 0, 2, 0, 6, 0, 3, 0, 7, 0});
}

}  // namespace morello::x64

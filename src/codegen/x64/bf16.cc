// SPDX-License-Identifier: MIT
// bf16 in vectors: the upper halves of f32. Between memory and lanes bytes change their places, by
// one instruction that takes an order; and numbers are rounded.
#include <algorithm>

#include "codegen/x64/vectors.hh"
#include "cost/held.hh"

namespace morello::x64 {
namespace {

constexpr u8 kUnordered = 3;  // a predicate of vcmpps
constexpr u32 kFirstExponent = 0x00800000;

/// Four bytes of an order.
constexpr u32 bytes_of(u32 a, u32 b, u32 c, u32 d) { return a | b << 8 | c << 16 | d << 24; }
constexpr u32 words_of(u32 a, u32 b) { return a | b << 16; }

/// For vpshufb, of 16 bytes that are there twice: a half of the elements in each half.
std::vector<u32> widening_bytes() {
  constexpr u32 kZero = 0x80;
  std::vector<u32> lanes;
  for (u32 i = 0; i < 8; i++) lanes.push_back(bytes_of(kZero, kZero, 2 * i, 2 * i + 1));
  return lanes;
}
/// For vpermw, of half a vector: what is behind the elements is zero, as is its last word, whatever
/// the width.
std::vector<u32> widening_words() {
  std::vector<u32> lanes;
  for (u32 i = 0; i < 16; i++) lanes.push_back(words_of(31, i));
  return lanes;
}
/// The upper halves, side by side: for vpshufb in each half of a vector, for vpermw in the first,
/// and for vpermt2w those of two vectors.
std::vector<u32> narrowing_bytes() {
  std::vector<u32> lanes(8);
  for (u32 i = 0; i < 8; i++) {
    const u32 b = 8 * (i % 2) + 2;
    lanes[i] = i % 4 < 2 ? bytes_of(b, b + 1, b + 4, b + 5) : 0x80808080;
  }
  return lanes;
}
std::vector<u32> narrowing_words() {
  std::vector<u32> lanes(16);
  for (u32 i = 0; i < 16; i++) lanes[i] = words_of(4 * i + 1, 4 * i + 3);
  return lanes;
}

}  // namespace

void Vectors::ready_widening(u32 index) {
  vmovups(full(index), table_constant(avx512() ? widening_words() : widening_bytes()));
  widening_ = index;
}

void Vectors::ready_narrowing(u32 index) {
  vmovups(full(index), table_constant(narrowing_words()));
  narrowing_ = index;
}

/// Returns false if there are too few elements for it, or, with mask registers, no order is ready.
bool Vectors::widen_by_order(u32 index, Lanes l, const Reg64& base, i64 bytes) {
  const Vec v = vec(index, l.width);
  if (!folds(l) && !(avx512() && l.masked())) return false;
  const Address from = at(base, bytes);
  if (!avx512()) {
    if (l.width == 8)
      vbroadcasti128(Xbyak::Ymm(static_cast<int>(index)), from);
    else
      vmovq(v, from);
    widening_ ? vpshufb(v, v, vec(*widening_, l.width))
              : vpshufb(v, v, table_constant(widening_bytes()));
    return true;
  }
  if (!widening_) return false;
  const Vec order = vec(*widening_, l.width);
  const Vec packed = vec(index, std::max(4u, l.width / 2));
  if (l.masked())
    vmovdqu16(packed | k1 | T_z, from);
  else if (l.width == 4)
    vmovq(packed, from);
  else
    vmovups(packed, from);
  vpermw(v, order, v);
  return true;
}

/// To the nearest, ties to even: adds half of the last digit, or a little less to even numbers. NaN
/// would overflow, so it is left as it is; it becomes a quiet one. Leaves the result in the upper
/// halves of lanes, with anything below.
void Vectors::round_bf16(u32 index, u32 width, u32 spare) {
  const Vec x = vec(index, width), t = vec(spare, width);
  if (avx512()) vcmpps(k2, x, x, kUnordered);
  vpsrld(t, x, 16);
  vandps(t, t, lanes_constant(1));
  vpaddd(t, t, lanes_constant(0x7fff));
  if (avx512()) {
    vpaddd(t, t, x);
    vorps(t | k2, x, lanes_constant(0x400000));
    return;
  }
  const Vec nan = vec(spare + 1, width);
  vcmpps(nan, x, x, kUnordered);
  vandnps(t, nan, t);
  vpaddd(t, t, x);
  vandps(nan, nan, lanes_constant(0x400000));
  vorps(t, t, nan);
}

/// to = x + half of the last digit, or a little less; of NaN anything.
void Vectors::add_half_bf16(u32 to, u32 index, u32 width) {
  const Vec x = vec(index, width), t = vec(to, width);
  vpsrld(t, x, 16);
  vandps(t, t, lanes_constant(1));
  vpaddd(t, t, lanes_constant(0x7fff));
  vpaddd(t, t, x);
}

void Vectors::store_pair(u32 first, u32 second, const Reg64& base, i64 bytes, u32 spare) {
  Xbyak::Label rare, done;
  const Vec x = full(first), y = full(second), t = full(spare);
  const bool native = narrows_natively(Dtype::kBf16, Dtype::kF32, target());
  if (native) {
    constexpr u8 kDenormal = 0x20;
    vfpclassps(k2, x, kDenormal);
    vfpclassps(k3, y, kDenormal);
    kortestw(k2, k3);
  } else if (avx512()) {
    vcmpps(k2, x, y, kUnordered);
    kortestw(k2, k2);
  } else {
    vcmpps(t, x, y, kUnordered);
    vtestps(t, t);
  }
  jnz(rare, T_NEAR);
  if (native) {
    vcvtne2ps2bf16(t, y, x);
  } else {
    add_half_bf16(spare, first, lanes());
    const u32 other = avx512() ? first : spare + 1;  // no one needs the first any more
    add_half_bf16(other, second, lanes());
    const Vec u = full(other);
    if (avx512()) {
      vpermt2w(t, full(*narrowing_), u);
    } else {
      vpsrld(t, t, 16);
      vpsrld(u, u, 16);
      vpackusdw(t, t, u);
      vpermq(Xbyak::Ymm(t.getIdx()), Xbyak::Ymm(t.getIdx()), 0xd8);
    }
  }
  vmovups(at(base, bytes), t);
  L(done);
  rare_.push_back([=, this]() mutable {
    L(rare);
    const Lanes all = lanes_of(lanes());
    store(first, all, Dtype::kBf16, Dtype::kF32, base, bytes, spare);
    store(second, all, Dtype::kBf16, Dtype::kF32, base, bytes + 2 * i64{lanes()}, spare);
    jmp(done, T_NEAR);
  });
}

void Vectors::write_rare() {
  if (rare_.empty()) return;
  Xbyak::Label behind;
  jmp(behind, T_NEAR);
  for (const auto& write : rare_) write();
  L(behind);
  rare_.clear();
}

/// The instruction takes denormal numbers to be zero. These have the same distances as those of the
/// next exponent, which they are given, and it is taken off again. Leaves the result side by side.
void Vectors::narrow_natively(u32 index, u32 width, u32 spare) {
  const Vec x = vec(index, width), t = vec(spare, width),
            half = vec(spare, std::max(4u, width / 2));
  vptestnmd(k2, x, lanes_constant(0x7f800000));
  vmovaps(t, x);
  vorps(t | k2, t, lanes_constant(kFirstExponent));
  vcvtneps2bf16(half, t, Xbyak::EvexEncoding);
  vpsubw(half | k2, half,
         table_constant(std::vector<u32>(8, kFirstExponent | kFirstExponent >> 16)));
}

/// What round_bf16() or narrow_natively() have made of at most 8 lanes, side by side.
void Vectors::pack_bf16(u32 index, u32 width) {
  if (narrows_natively(Dtype::kBf16, Dtype::kF32, target())) return;
  const Vec all = vec(index, std::max(4u, width));
  if (avx512()) {
    vpsrld(all, all, 16);
    vpmovdw(vec(index, 4), all);
    return;
  }
  vpshufb(all, all, table_constant(narrowing_bytes()));
  if (width > 4)
    vpermq(Xbyak::Ymm(static_cast<int>(index)), Xbyak::Ymm(static_cast<int>(index)), 8);
}

/// The same of any number of lanes, to memory, with mask registers.
void Vectors::store_bf16(u32 index, Lanes l, const Address& at) {
  const Vec all = vec(index, l.width), half = vec(index, std::max(4u, l.width / 2));
  if (!narrows_natively(Dtype::kBf16, Dtype::kF32, target())) {
    if (!narrowing_) {
      vpsrld(all, all, 16);
      vpmovdw(at, all);
      return;
    }
    vpermw(all, vec(*narrowing_, l.width), all);
  }
  if (l.masked())
    vmovdqu16(at, half);
  else if (l.width == 4)
    vmovq(at, half);
  else
    vmovups(at, half);
}

}  // namespace morello::x64

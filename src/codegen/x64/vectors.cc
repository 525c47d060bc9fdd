// SPDX-License-Identifier: MIT
#include "codegen/x64/vectors.hh"

#include <bit>

#include "cost/held.hh"

namespace morello::x64 {
namespace {

constexpr u8 kOrdered = 7, kNotLess = 5;  // predicates of vcmpps

/// Saturating packs take lanes as numbers with a sign.
bool packs_signed(Dtype to, Dtype held) { return to == Dtype::kI8 && held != Dtype::kI8; }

/// Elements that are the upper halves of lanes.
bool is_bf16(Dtype memory, Dtype held) { return memory == Dtype::kBf16 && held == Dtype::kF32; }

}  // namespace

Lanes Vectors::lanes_of(u32 count) const { return {count, std::bit_ceil(count)}; }

Lanes Vectors::part(u32 size, u32 j) const {
  return lanes_of(std::min(lanes(), size - j * lanes()));
}

void Vectors::set_mask(u32 count, u32 index) {
  if (avx512()) {
    mov(far_register().cvt32(), (1u << count) - 1);
    kmovw(k1, far_register().cvt32());
    return;
  }
  mask_register_ = index;
  vmovups(vec(index, 8), mask_constant(count));
}

void Vectors::load(u32 index, Lanes l, const Address& from) {
  Vec v = vec(index, l.width);
  if (l.width == 1)
    vmovss(v, from);
  else if (l.width == 2)
    vmovsd(v, from);
  else if (!l.masked())
    vmovups(v, from);
  else if (avx512())
    vmovups(v | k1 | T_z, from);
  else
    vmaskmovps(v, vec(mask_register_, l.width), from);
}

/// The upper half ends where the elements end, and is moved from there to its place.
void Vectors::load_in_parts(u32 index, Lanes l, const Reg64& base, i64 bytes) {
  if (!l.masked()) return load(index, l, at(base, bytes));
  const u32 half = l.width / 2;
  const Vec low = vec(index, 4);
  if (l.width == 4) {
    vmovsd(low, at(base, bytes));
    return vinsertps(low, low, at(base, bytes + 8), 0x20);
  }
  vmovups(vec(index, half), at(base, bytes + i64{l.count - half} * 4));
  if (avx512()) {
    const Vec v = vec(index, l.width);
    valignd(v, v, v, static_cast<u8>(l.width + half - l.count));
    l.width == 16
        ? vinsertf64x4(Xbyak::Zmm(v.getIdx()), Xbyak::Zmm(v.getIdx()), at(base, bytes), 0)
        : vinsertf32x4(Xbyak::Ymm(v.getIdx()), Xbyak::Ymm(v.getIdx()), at(base, bytes), 0);
    return;
  }
  const Xbyak::Ymm all(static_cast<int>(index));
  vpsrldq(low, low, static_cast<u8>(4 * (8 - l.count)));
  vperm2f128(all, all, all, 0x08);  // to the upper half, zeros below
  vinsertf128(all, all, at(base, bytes), 0);
}

void Vectors::store(u32 index, Lanes l, const Reg64& base, i64 bytes, u32 spare) {
  if (l.masked() && avx512()) {
    vmovups(at(base, bytes) | k1, vec(index, l.width));
    return;
  }
  if (!l.masked() && l.width >= 4) {
    vmovups(at(base, bytes), vec(index, l.width));
    return;
  }
  u32 left = l.count;
  if (left > 4) {
    vmovups(at(base, bytes), vec(index, 4));
    vextractf128(vec(spare, 4), Xbyak::Ymm(static_cast<int>(index)), 1);
    index = spare;
    bytes += 16;
    left -= 4;
  }
  Vec v = vec(index, 4);
  if (left == 1) {
    vmovss(at(base, bytes), v);
    return;
  }
  vmovlps(at(base, bytes), v);
  if (left == 3) vextractps(at(base, bytes + 8), v, 2);
}

void Vectors::load(u32 index, Lanes l, Dtype from, Dtype held, const Reg64& base, i64 bytes) {
  const u32 size = size_of(from);
  Vec v = vec(index, l.width);
  if (size == 4) {
    load(index, l, at(base, bytes));
    if (from != held) convert(index, index, l.width, from, held);
  } else if (is_bf16(from, held) && widen_by_order(index, l, base, bytes)) {
    return;
  } else if (folds(l)) {
    widen(v, at(base, bytes), from, held);
  } else if (l.masked() && avx512()) {
    widen(v | k1 | T_z, at(base, bytes), from, held);
  } else {
    load_bytes(index, l.count * size, base, bytes);
    widen(v, vec(index, 4), from, held);
  }
}

void Vectors::load_in_parts(u32 index, Lanes l, Dtype from, Dtype held, const Reg64& base,
                            i64 bytes) {
  const u32 size = size_of(from), count = l.count * size;
  if (!l.masked() || (size < 4 && !avx512())) return load(index, l, from, held, base, bytes);
  if (size == 4) {
    load_in_parts(index, l, base, bytes);
    if (from != held) convert(index, index, l.width, from, held);
    return;
  }
  const Vec x = vec(index, 4);
  if (count <= 16) {
    load_bytes(index, count, base, bytes);
  } else {
    const Xbyak::Ymm both(static_cast<int>(index));
    vmovups(x, at(base, bytes + count - 16));
    vpsrldq(x, x, static_cast<u8>(32 - count));
    valignd(both, both, both, 4);
    vinserti32x4(both, both, at(base, bytes), 0);
  }
  widen(vec(index, l.width), vec(index, std::max(4u, l.width * size / 4)), from, held);
}

void Vectors::broadcast(u32 index, u32 width, Dtype from, Dtype held, const Reg64& base,
                        i64 bytes) {
  const Address one = at(base, bytes);
  Vec v = vec(index, width);
  if (size_of(from) == 4) {
    vbroadcastss(v, one);
    if (from != held) convert(index, index, width, from, held);
    return;
  }
  if (from == Dtype::kF16 && held == Dtype::kF32) {
    Vec half = vec(index, std::max(4u, width / 2));
    vpbroadcastw(half, one);
    vcvtph2ps(v, half);
    return;
  }
  size_of(from) == 2 ? vpbroadcastw(v, one) : vpbroadcastb(v, one);
  if (from == Dtype::kBf16 && held == Dtype::kF32)
    vpslld(v, v, 16);
  else if (from == Dtype::kI8 && held != Dtype::kI8)
    vpsrad(v, v, 24);
  else
    vpsrld(v, v, size_of(from) == 2 ? 16 : 24);
  if (is_integer(from) && held == Dtype::kF32) vcvtdq2ps(v, v);
}

void Vectors::store(u32 index, Lanes l, Dtype to, Dtype held, const Reg64& base, i64 bytes,
                    u32 spare) {
  const u32 size = size_of(to);
  const bool whole = folds(l) || (l.masked() && avx512());
  if (size == 4) {
    const u32 from = rounded(index, l.width, to, held, spare);
    store(from, l, base, bytes, spare);
  } else if (whole && (avx512() || (to == Dtype::kF16 && held == Dtype::kF32))) {
    const u32 from = rounded(index, l.width, to, held, spare);
    const Address memory = at(base, bytes);
    store_packed(from, l, to, held, l.masked() ? memory | k1 : memory);
  } else {
    const u32 packed = narrow(index, l.width, to, held, spare);
    store_bytes(packed, l.count * size, base, bytes);
  }
}

void Vectors::store_packed(u32 index, Lanes l, Dtype to, Dtype held, const Address& at) {
  const Vec v = vec(index, l.width);
  if (to == Dtype::kF16 && held == Dtype::kF32)
    vcvtps2ph(at, v, 0);
  else if (is_bf16(to, held))
    store_bf16(index, l, at);
  else if (size_of(to) == 2)
    vpmovdw(at, v);
  else
    packs_signed(to, held) ? vpmovsdb(at, v) : vpmovusdb(at, v);
}

void Vectors::convert(u32 to, u32 index, u32 width, Dtype from, Dtype held) {
  const Vec t = vec(to, width), x = vec(index, width);
  if (from == Dtype::kI32 && held == Dtype::kF32)
    vcvtdq2ps(t, x);
  else if (to != index)
    vmovaps(t, x);
}

void Vectors::round_lanes(u32 to, u32 index, u32 width, Dtype narrow, u32 spare) {
  const Vec t = vec(to, width);
  if (narrow == Dtype::kF16) {
    const Vec half = vec(spare, std::max(4u, width / 2));
    vcvtps2ph(half, vec(index, std::max(4u, width)), 0);
    vcvtph2ps(t, half);
  } else {
    const Vec high = vec(spare, width);
    if (narrows_natively(narrow, Dtype::kF32, target())) {
      narrow_natively(index, width, spare);
      widen(t, high, narrow, Dtype::kF32);
    } else {
      round_bf16(index, width, spare);
      vandps(t, high, lanes_constant(0xffff0000));
    }
  }
}

void Vectors::load_bytes(u32 index, u32 count, const Reg64& base, i64 bytes) {
  const Vec x = vec(index, 4);
  if (count >= 16) return vmovups(x, at(base, bytes));
  u32 done = 0;
  if (count >= 8) {
    vmovq(x, at(base, bytes));
    done = 8;
  } else if (count >= 4) {
    vmovd(x, at(base, bytes));
    done = 4;
  } else {
    zero(index);
  }
  if (count - done >= 4) {
    vpinsrd(x, x, at(base, bytes + done), static_cast<u8>(done / 4));
    done += 4;
  }
  if (count - done >= 2) {
    vpinsrw(x, x, at(base, bytes + done), static_cast<u8>(done / 2));
    done += 2;
  }
  if (count > done) vpinsrb(x, x, at(base, bytes + done), static_cast<u8>(done));
}

Xbyak::Reg32 Vectors::load_lane(u32 count, const Reg64& base, i64 bytes) {
  const Xbyak::Reg32 lane = far_register().cvt32();
  if (count % 2 != 0) movzx(lane, at(byte, base, bytes + count - 1));
  if (count == 3) {
    shl(lane, 16);
    mov(lane.cvt16(), at(word, base, bytes));
  } else if (count == 2) {
    movzx(lane, at(word, base, bytes));
  }
  return lane;
}

void Vectors::store_bytes(u32 index, u32 count, const Reg64& base, i64 bytes) {
  const Vec x = vec(index, 4);
  if (count >= 16) return vmovups(at(base, bytes), x);
  u32 done = 0;
  if (count >= 8) {
    vmovq(at(base, bytes), x);
    done = 8;
  }
  if (count - done >= 4) {
    done == 0 ? vmovd(at(base, bytes), x) : vpextrd(at(base, bytes + done), x, 2);
    done += 4;
  }
  if (count - done >= 2) {
    vpextrw(at(base, bytes + done), x, static_cast<u8>(done / 2));
    done += 2;
  }
  if (count > done) vpextrb(at(base, bytes + done), x, static_cast<u8>(done));
}

void Vectors::widen(const Vec& to, const Xbyak::Operand& packed, Dtype from, Dtype held) {
  const Vec v = vec(static_cast<u32>(to.getIdx()), to.getBit() / 32);  // without the mask
  if (size_of(from) == 4) {
    if (is_integer(from) && held == Dtype::kF32)
      vcvtdq2ps(to, packed);
    else
      vmovups(to, packed);
    return;
  }
  if (from == Dtype::kF16 && held == Dtype::kF32) return vcvtph2ps(to, packed);
  if (size_of(from) == 2)
    vpmovzxwd(to, packed);
  else if (from == Dtype::kI8 && held != Dtype::kI8)
    vpmovsxbd(to, packed);
  else
    vpmovzxbd(to, packed);
  if (from == Dtype::kBf16 && held == Dtype::kF32) vpslld(v, v, 16);
  if (is_integer(from) && held == Dtype::kF32) vcvtdq2ps(v, v);
}

u32 Vectors::narrow(u32 index, u32 width, Dtype to, Dtype held, u32 spare) {
  const u32 from = rounded(index, width, to, held, spare);
  return size_of(to) == 4 ? from : pack(from, width, to, held, spare);
}

/// The bits of elements in lanes, in `index` itself or in `spare`; f16 is rounded when it is
/// packed, and integers are cut off then. Those of bf16 are in the upper halves, or already side by
/// side.
u32 Vectors::rounded(u32 index, u32 width, Dtype to, Dtype held, u32 spare) {
  if (to == held || to == Dtype::kF16) return index;
  if (held == Dtype::kI32 && to == Dtype::kF32) {
    convert(spare, index, width, held, to);
    return spare;
  }
  if (held == Dtype::kI32) {
    if (to != Dtype::kU8 || !avx512()) return index;  // packs take a sign
    vpmaxsd(vec(spare, width), vec(index, width), lanes_constant(0));
    return spare;
  }
  if (narrows_natively(to, held, target()))
    narrow_natively(index, width, spare);
  else
    to == Dtype::kBf16 ? round_bf16(index, width, spare) : round_integer(index, width, to, spare);
  return spare;
}

/// To the nearest, ties to even; NaN is 0, and what is too large or too small the last one. A
/// conversion gives the least i32 for all of these.
void Vectors::round_integer(u32 index, u32 width, Dtype to, u32 spare) {
  const Vec x = vec(index, width), t = vec(spare, width);
  if (to == Dtype::kU8) {
    vmaxps(t, x, lanes_constant(0));  // of NaN, too
    vminps(t, t, lanes_constant(std::bit_cast<u32>(255.0f)));
    return vcvtps2dq(t, t);
  }
  if (avx512()) {
    vcmpps(k2, x, x, kOrdered);
    vmovaps(t | k2 | T_z, x);
  } else {
    vcmpps(t, x, x, kOrdered);
    vandps(t, t, x);
  }
  if (to == Dtype::kI8) {
    vminps(t, t, lanes_constant(std::bit_cast<u32>(127.0f)));
    return vcvtps2dq(t, t);
  }
  const Address past = lanes_constant(std::bit_cast<u32>(0x1p31f));
  if (avx512()) {
    vcmpps(k2, t, past, kNotLess);
    vcvtps2dq(t, t);
    vpbroadcastd(t | k2, constant(0x7fffffff));
  } else {
    const Vec large = vec(spare + 1, width);
    vcmpps(large, t, past, kNotLess);
    vcvtps2dq(t, t);
    vxorps(t, t, large);  // the least i32 becomes the largest
  }
}

/// Of lanes that were rounded: their elements side by side, in `spare`.
u32 Vectors::pack(u32 index, u32 width, Dtype to, Dtype held, u32 spare) {
  const Vec packed = vec(spare, 4);
  if (to == Dtype::kF16 && held == Dtype::kF32) {
    vcvtps2ph(packed, vec(index, std::max(width, 4u)), 0);
  } else if (is_bf16(to, held)) {
    pack_bf16(index, width);
    return index;
  } else if (avx512()) {
    const Vec all = vec(index, std::max(width, 4u));
    if (size_of(to) == 2)
      vpmovdw(packed, all);
    else
      packs_signed(to, held) ? vpmovsdb(packed, all) : vpmovusdb(packed, all);
  } else {
    const Vec low = vec(index, 4);
    Vec high = low;
    if (width > 4) {
      high = vec(index == spare ? spare + 1 : spare, 4);
      vextractf128(high, Xbyak::Ymm(static_cast<int>(index)), 1);
    }
    size_of(to) == 2 ? vpackusdw(packed, low, high) : vpackssdw(packed, low, high);
    if (size_of(to) == 1)
      packs_signed(to, held) ? vpacksswb(packed, packed, packed)
                             : vpackuswb(packed, packed, packed);
  }
  return spare;
}

void Vectors::zero(u32 index) {
  Vec v = vec(index, 4);
  if (index < 16)
    vxorps(v, v, v);
  else
    vpxord(v, v, v);
}

void Vectors::fill(u32 index, u32 width, u32 bits) {
  if (bits == 0)
    zero(index);
  else
    vbroadcastss(vec(index, width), constant(bits));
}

void Vectors::binary(Op op, Dtype held, const Vec& to, const Vec& a, const Xbyak::Operand& b) {
  const bool integers = held == Dtype::kI32;
  switch (op) {
    case Op::kAdd:
    case Op::kMulAdd:  // sums its products
      return integers ? vpaddd(to, a, b) : vaddps(to, a, b);
    case Op::kSub:
      return integers ? vpsubd(to, a, b) : vsubps(to, a, b);
    case Op::kMul:
      return integers ? vpmulld(to, a, b) : vmulps(to, a, b);
    case Op::kFastMax:
      return integers ? vpmaxsd(to, a, b) : vmaxps(to, a, b);
    case Op::kFastMin:
      return integers ? vpminsd(to, a, b) : vminps(to, a, b);
    case Op::kMax:
      if (integers) return vpmaxsd(to, a, b);
      break;
    case Op::kMin:
      if (integers) return vpminsd(to, a, b);
      break;
    case Op::kDiv:
      if (!integers) return vdivps(to, a, b);
      break;
    default:
      break;
  }
  throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // it has a recipe
}

}  // namespace morello::x64

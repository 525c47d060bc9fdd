// SPDX-License-Identifier: MIT
#include "codegen/x64/assembler.hh"

#include <bit>
#include <limits>

namespace morello::x64 {
namespace {

constexpr bool fits32(i64 x) {
  return x >= std::numeric_limits<i32>::min() && x <= std::numeric_limits<i32>::max();
}

constexpr size_t kFirstBytes = 1 << 14;

}  // namespace

Assembler::Assembler(const Target& target)
    : CodeGenerator(kFirstBytes, Xbyak::AutoGrow, static_cast<PlainMemory*>(this)),
      target_(target) {}

void Assembler::set_free_registers(std::vector<Reg64> registers) {
  free_ = std::move(registers);
  taken_ = 0;
}

Assembler::Reg64 Assembler::take() {
  if (taken_ == free_.size()) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  return free_[taken_++];
}

Assembler::Reg64 Assembler::pointer(CursorId cursor) {
  const Home& home = homes_[cursor];
  return home.gpr >= 0 ? Reg64(home.gpr) : moving_pointer(cursor);
}

Assembler::Reg64 Assembler::moving_pointer(CursorId cursor) {
  const Home& home = homes_[cursor];
  Reg64 r = take();
  if (home.gpr >= 0)
    mov(r, Reg64(home.gpr));
  else
    mov(r, slot(home.slot));
  return r;
}

Assembler::Address Assembler::at(const Xbyak::AddressFrame& frame, const Reg64& base, i64 bytes) {
  if (fits32(bytes)) return frame[base + static_cast<int>(bytes)];
  mov(far_register(), static_cast<u64>(bytes));
  return frame[base + far_register()];
}

void Assembler::advance(const Reg64& reg, i64 bytes) {
  if (bytes == 0) return;
  if (fits32(bytes)) {
    add(reg, static_cast<u32>(bytes));
  } else {
    mov(far_register(), static_cast<u64>(bytes));
    add(reg, far_register());
  }
}

void Assembler::advance(const Home& home, i64 bytes) {
  if (home.gpr >= 0) return advance(Reg64(home.gpr), bytes);
  if (bytes == 0) return;
  if (fits32(bytes)) {
    add(slot(home.slot), static_cast<u32>(bytes));
  } else {
    mov(far_register(), static_cast<u64>(bytes));
    add(slot(home.slot), far_register());
  }
}

Assembler::Vec Assembler::vec(u32 index, u32 width) {
  int i = static_cast<int>(index);
  if (width > 4) wide_ = true;
  if (width > 8) return Xbyak::Zmm(i);
  if (width > 4) return Xbyak::Ymm(i);
  return Xbyak::Xmm(i);
}

Lanes Assembler::lanes_of(u32 count) const { return {count, std::bit_ceil(count)}; }

Lanes Assembler::part(u32 size, u32 j) const {
  return lanes_of(std::min(lanes(), size - j * lanes()));
}

void Assembler::set_mask(u32 count, u32 index) {
  if (avx512()) {
    mov(far_register().cvt32(), (1u << count) - 1);
    kmovw(k1, far_register().cvt32());
    return;
  }
  mask_register_ = index;
  mask_table_used_ = true;
  vmovups(vec(index, 8), ptr[rip + mask_table_ + static_cast<int>(4 * (8 - count))]);
}

void Assembler::load(u32 index, Lanes l, const Address& from) {
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

void Assembler::store(u32 index, Lanes l, const Reg64& base, i64 bytes, u32 spare) {
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

void Assembler::zero(u32 index) {
  Vec v = vec(index, 4);
  if (index < 16)
    vxorps(v, v, v);
  else
    vpxord(v, v, v);
}

void Assembler::binary(Op op, const Vec& to, const Vec& a, const Xbyak::Operand& b) {
  switch (op) {
    case Op::kAdd:
    case Op::kMulAdd:  // sums its products
      return vaddps(to, a, b);
    case Op::kSub:
      return vsubps(to, a, b);
    case Op::kMul:
      return vmulps(to, a, b);
    case Op::kDiv:
      return vdivps(to, a, b);
    case Op::kMax:
      return vmaxps(to, a, b);
    case Op::kMin:
      return vminps(to, a, b);
    default:
      throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  }
}

void Assembler::reduce_lanes(Op op, u32 index, u32 width, u32 spare) {
  if (width > 8) {
    vextractf32x8(vec(spare, 8), Xbyak::Zmm(static_cast<int>(index)), 1);
    binary(op, vec(index, 8), vec(index, 8), vec(spare, 8));
  }
  Vec v = vec(index, 4), s = vec(spare, 4);
  if (width > 4) {
    if (index < 16 && spare < 16)
      vextractf128(s, Xbyak::Ymm(static_cast<int>(index)), 1);
    else
      vextractf32x4(s, Xbyak::Ymm(static_cast<int>(index)), 1);
    binary(op, v, v, s);
  }
  if (width > 2) {
    vmovhlps(s, v, v);
    binary(op, v, v, s);
  }
  if (width > 1) {
    vmovshdup(s, v);
    binary(op, v, v, s);
  }
}

Assembler::Address Assembler::constant(u32 bits) { return ptr[rip + constants_[bits]]; }

void Assembler::broadcast(u32 index, u32 width, float value) {
  u32 bits = std::bit_cast<u32>(value);
  if (bits == 0)
    zero(index);
  else
    vbroadcastss(vec(index, width), constant(bits));
}

void Assembler::write_constants() {
  if (mask_table_used_) {
    align(32, false);
    L(mask_table_);
    for (int i = 0; i < 16; i++) dd(i < 8 ? ~0u : 0u);
  }
  align(4, false);
  for (auto& [bits, label] : constants_) {
    L(label);
    dd(bits);
  }
}

}  // namespace morello::x64

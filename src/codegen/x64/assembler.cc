// SPDX-License-Identifier: MIT
#include "codegen/x64/assembler.hh"

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

void Assembler::prefetch(const Reg64& base, i64 bytes) {
  prefetcht1(at(base, bytes + kLineBytes - 1));
}

void Assembler::prefetch_near(const Reg64& base, i64 bytes) {
  prefetcht0(at(base, bytes + kLineBytes - 1));
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
  // Xbyak would take another encoding, or another register, of which no one knows.
  if (index >= target_.vector_registers) throw Xbyak::Error(Xbyak::ERR_BAD_PARAMETER);
  int i = static_cast<int>(index);
  if (width > 4) wide_ = true;
  if (width > 8) return Xbyak::Zmm(i);
  if (width > 4) return Xbyak::Ymm(i);
  return Xbyak::Xmm(i);
}

Assembler::Address Assembler::constant(u32 bits) { return ptr[rip + constants_[bits]]; }

Assembler::Address Assembler::lanes_constant(u32 bits) {
  if (avx512()) return ptr_b[rip + constants_[bits]];
  return ptr[rip + lanes_constants_[bits]];
}

Assembler::Address Assembler::mask_constant(u32 count) {
  mask_table_used_ = true;
  return ptr[rip + mask_table_ + static_cast<int>(4 * (8 - count))];
}

void Assembler::write_constants() {
  if (mask_table_used_) {
    align(32, false);
    L(mask_table_);
    for (int i = 0; i < 16; i++) dd(i < 8 ? ~0u : 0u);
  }
  for (auto& [bits, label] : lanes_constants_) {
    align(32, false);
    L(label);
    for (int i = 0; i < 8; i++) dd(bits);
  }
  for (auto& [lanes, label] : tables_) {
    align(static_cast<size_t>(target_.vector_bytes), false);
    L(label);
    for (u32 bits : lanes) dd(bits);
  }
  align(4, false);
  for (auto& [bits, label] : constants_) {
    L(label);
    dd(bits);
  }
}

}  // namespace morello::x64

// SPDX-License-Identifier: MIT
// Assembler: Xbyak with what every emitter needs: addresses of any distance, general registers to
// take, constants beside the code. What is in vectors: vectors.hh.
#ifndef MORELLO_CODEGEN_X64_ASSEMBLER_HH
#define MORELLO_CODEGEN_X64_ASSEMBLER_HH

#include <xbyak/xbyak.h>

#include <map>
#include <string>
#include <vector>

#include "codegen/plan.hh"
#include "target/target.hh"

namespace morello::x64 {

/// Where a value of the program lives between microkernels: a general register, or the stack frame.
struct Home {
  int gpr = -1;  // Xbyak's index
  u32 slot = 0;  // if gpr < 0: 8 bytes at [rsp + 8 * slot]
};

/// Where Xbyak writes: plain memory, never executable. The runtime copies the code.
class PlainMemory : public Xbyak::Allocator {
  bool useProtect() const override { return false; }
};

/// Writes the code of one Plan. Used by one thread; throws Xbyak::Error.
class Assembler : private PlainMemory, public Xbyak::CodeGenerator {
 public:
  using Reg64 = Xbyak::Reg64;
  using Address = Xbyak::Address;
  using Vec = Xbyak::Xmm;  // of any width

  explicit Assembler(const Target& target);

  const Target& target() const { return target_; }
  bool avx512() const { return target_.has_masks; }
  /// Of a vector: elements are computed in 4 bytes, whatever they are in memory.
  u32 lanes() const { return target_.lanes(4); }

  // -- General registers. r11 is no one's: it holds what one instruction needs.
  Reg64 far_register() const { return r11; }
  /// A register until release_all().
  Reg64 take();
  void release_all() { taken_ = 0; }
  void set_free_registers(std::vector<Reg64> registers);

  // -- Addresses
  void set_homes(std::vector<Home> homes) { homes_ = std::move(homes); }
  /// Room on the stack that a microkernel asked for: Emitter::room.
  void set_room(u32 slot) { room_ = slot; }
  Address room() { return slot(room_); }
  Address slot(u32 index) { return qword[rsp + static_cast<int>(8 * index)]; }
  /// A register with the address of a cursor, not to be changed.
  Reg64 pointer(CursorId cursor);
  /// One that may be changed.
  Reg64 moving_pointer(CursorId cursor);
  /// [base + bytes]; overwrites r11 if that is further than an instruction can say.
  Address at(const Reg64& base, i64 bytes) { return at(ptr, base, bytes); }
  Address at(const Xbyak::AddressFrame& frame, const Reg64& base, i64 bytes);
  /// Brings a line to L2, some time: where the 64 bytes from there end. Where they begin is, inside
  /// of a line, what the tile before has read; asked for there, each line came when it was needed.
  void prefetch(const Reg64& base, i64 bytes);
  /// The line at `bytes` will be written.
  void prefetch_to_write(const Reg64& base, i64 bytes) { prefetchw(at(base, bytes)); }
  /// To L1.
  void prefetch_near(const Reg64& base, i64 bytes);
  void advance(const Reg64& reg, i64 bytes);
  void advance(const Home& home, i64 bytes);

  /// Emits `body(count)` for chunks of `unroll` of `total` items, in a loop if there are several,
  /// and for the remainder. After each trip of the loop, `pointers` advance by `unroll` times their
  /// steps.
  struct Moving {
    Reg64 reg;
    i64 step = 0;  // bytes per item
  };
  template <class F>
  void for_chunks(u64 total, u64 unroll, const std::vector<Moving>& pointers, F body);
  /// So many of them are from where `pointers` are then to what is behind the last one.
  static u64 behind_chunks(u64 total, u64 unroll) {
    return total >= 2 * unroll ? total % unroll : total;
  }
  /// How many to unroll of `total` whose last one comes behind the chunks: as much code as if it
  /// did not.
  static u64 unroll_but_last(u64 total, u64 unroll) {
    return unroll > 1 && total % unroll == 0 ? unroll / 2 : unroll;
  }

  // -- Vector registers
  Vec vec(u32 index, u32 width);
  Vec full(u32 index) { return vec(index, lanes()); }

  // -- Constants, addressed relative to the code
  Address constant(u32 bits);
  /// In every lane: what an instruction on whole vectors may name as its operand.
  Address lanes_constant(u32 bits);
  /// The lanes of a vector, or of less.
  Address table_constant(const std::vector<u32>& lanes) { return ptr[rip + tables_[lanes]]; }
  /// Ones up to element 8, then zeros, of 4 bytes each.
  Address mask_constant(u32 count);
  void write_constants();

  /// The vector state that vzeroupper cleans was used since the last begin_function().
  bool wide() const { return wide_; }
  void begin_function() { wide_ = false; }

 private:
  const Target& target_;
  std::vector<Reg64> free_;
  size_t taken_ = 0;
  std::vector<Home> homes_;
  u32 room_ = 0;
  std::map<u32, Xbyak::Label> constants_, lanes_constants_;
  std::map<std::vector<u32>, Xbyak::Label> tables_;
  Xbyak::Label mask_table_;
  bool mask_table_used_ = false;
  bool wide_ = false;
};

template <class F>
void Assembler::for_chunks(u64 total, u64 unroll, const std::vector<Moving>& pointers, F body) {
  u64 trips = total / unroll, rest = total % unroll;
  if (trips < 2) {
    body(total);
    return;
  }
  Reg64 counter = take();
  mov(counter, trips);
  align(32);
  Xbyak::Label top;
  L(top);
  body(unroll);
  for (const Moving& p : pointers) advance(p.reg, p.step * static_cast<i64>(unroll));
  dec(counter);
  jnz(top, T_NEAR);
  taken_--;
  if (rest != 0) body(rest);
}

}  // namespace morello::x64

#endif

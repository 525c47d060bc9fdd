// SPDX-License-Identifier: MIT
// Assembler: Xbyak with what every emitter needs: addresses of any distance, general registers to
// take, vectors with exact edges, constants beside the code.
#ifndef MORELLO_CODEGEN_X64_ASSEMBLER_HH
#define MORELLO_CODEGEN_X64_ASSEMBLER_HH

#include <xbyak/xbyak.h>

#include <map>
#include <string>
#include <vector>

#include "codegen/plan.hh"
#include "target/target.hh"

namespace morello::x64 {

/// A vector of which `count` elements count. The narrowest register that holds them is used, so
/// that 1, 2, 4, 8 and 16 need no mask.
struct Lanes {
  u32 count = 1;
  u32 width = 1;  // elements that an unmasked access would touch
  bool masked() const { return count != width; }
};

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
  u32 lanes() const { return target_.lanes(sizeof(float)); }

  // -- General registers. r11 is no one's: it holds what one instruction needs.
  Reg64 far_register() const { return r11; }
  /// A register until release_all().
  Reg64 take();
  void release_all() { taken_ = 0; }
  void set_free_registers(std::vector<Reg64> registers);

  // -- Addresses
  void set_homes(std::vector<Home> homes) { homes_ = std::move(homes); }
  Address slot(u32 index) { return qword[rsp + static_cast<int>(8 * index)]; }
  /// A register with the address of a cursor, not to be changed.
  Reg64 pointer(CursorId cursor);
  /// One that may be changed.
  Reg64 moving_pointer(CursorId cursor);
  /// [base + bytes]; overwrites r11 if that is further than an instruction can say.
  Address at(const Reg64& base, i64 bytes) { return at(ptr, base, bytes); }
  Address at(const Xbyak::AddressFrame& frame, const Reg64& base, i64 bytes);
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

  // -- Vectors
  Vec vec(u32 index, u32 width);
  Vec full(u32 index) { return vec(index, lanes()); }
  Lanes lanes_of(u32 count) const;
  /// Elements of vector `j` along a dimension of `size`.
  Lanes part(u32 size, u32 j) const;
  /// Readies the mask for `l.count` elements; on AVX2 it lives in vector register `index`.
  void set_mask(u32 count, u32 index);
  /// True if an instruction may name the memory itself as its operand.
  bool folds(Lanes l) const { return !l.masked() && l.width >= 4; }
  /// REQUIRES: set_mask(l.count) if l.masked().
  void load(u32 index, Lanes l, const Address& from);
  /// Overwrites `spare` on AVX2 if more than 4 elements are masked.
  void store(u32 index, Lanes l, const Reg64& base, i64 bytes, u32 spare);
  void zero(u32 index);
  /// a op b for the binary operations and the sums of kMulAdd; the operand order of max and min is
  /// that of Op.
  void binary(Op op, const Vec& to, const Vec& a, const Xbyak::Operand& b);
  /// Combines all elements of vector `index` (of `width`) into element 0.
  void reduce_lanes(Op op, u32 index, u32 width, u32 spare);

  // -- Constants, addressed relative to the code
  Address constant(u32 bits);
  void broadcast(u32 index, u32 width, float value);
  void write_constants();

  /// The vector state that vzeroupper cleans was used since the last begin_function().
  bool wide() const { return wide_; }
  void begin_function() { wide_ = false; }

 private:
  const Target& target_;
  std::vector<Reg64> free_;
  size_t taken_ = 0;
  std::vector<Home> homes_;
  std::map<u32, Xbyak::Label> constants_;
  Xbyak::Label mask_table_;
  bool mask_table_used_ = false;
  u32 mask_register_ = 0;
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

// SPDX-License-Identifier: MIT
// Vectors: the Assembler with loads and stores that touch no byte outside of their elements, and
// with what is computed in between. Lanes have 4 bytes, f32 or i32: loads widen narrower elements,
// and stores round to them.
#ifndef MORELLO_CODEGEN_X64_VECTORS_HH
#define MORELLO_CODEGEN_X64_VECTORS_HH

#include <functional>
#include <optional>
#include <vector>

#include "codegen/x64/assembler.hh"
#include "support/dtype.hh"

namespace morello::x64 {

/// A vector of which `count` elements count. The narrowest register that holds them is used, so
/// that 1, 2, 4, 8 and 16 need no mask.
struct Lanes {
  u32 count = 1;
  u32 width = 1;  // elements that an unmasked access would touch
  bool masked() const { return count != width; }
};

/// What lanes hold is called `held`: f32 or i32, or the type in memory itself, which is no
/// conversion: of types of less than 4 bytes, lanes then have the bits with zeros above.
/// cost/held.hh knows what is held, and how many registers conversions take.
class Vectors : public Assembler {
 public:
  using Assembler::Assembler;

  Lanes lanes_of(u32 count) const;
  /// Elements of vector `j` along a dimension of `size`.
  Lanes part(u32 size, u32 j) const;
  /// Bytes of bf16 are brought to where they belong by an order in register `index`, until
  /// forget_orders(). cost/held.hh says where that is better. Without, AVX2 has it in memory.
  void ready_widening(u32 index);
  void ready_narrowing(u32 index);
  void forget_orders() { widening_.reset(), narrowing_.reset(); }
  /// Readies the mask for `l.count` elements; on AVX2 it lives in vector register `index`.
  void set_mask(u32 count, u32 index);

  // -- Elements of 4 bytes, as they are
  /// True if an instruction may name the memory itself as its operand.
  bool folds(Lanes l) const { return !l.masked() && l.width >= 4; }
  /// Lanes that do not count become 0.
  /// REQUIRES: set_mask(l.count) if l.masked().
  void load(u32 index, Lanes l, const Address& from);
  /// The same by instructions that name no byte behind the elements. A masked one that does waits
  /// some 200 cycles if that byte is in a page that is not there, each time.
  void load_in_parts(u32 index, Lanes l, const Reg64& base, i64 bytes);
  /// Overwrites `spare` on AVX2 if more than 4 elements are masked.
  void store(u32 index, Lanes l, const Reg64& base, i64 bytes, u32 spare);

  // -- Elements of any type
  bool folds(Lanes l, Dtype from, Dtype held) const {
    return folds(l) && from == held && size_of(from) == 4;
  }
  /// Lanes that do not count become 0.
  /// REQUIRES: set_mask(l.count) if l.masked(), of narrow elements with mask registers only.
  void load(u32 index, Lanes l, Dtype from, Dtype held, const Reg64& base, i64 bytes);
  void load_in_parts(u32 index, Lanes l, Dtype from, Dtype held, const Reg64& base, i64 bytes);
  /// One element in all lanes.
  void broadcast(u32 index, u32 width, Dtype from, Dtype held, const Reg64& base, i64 bytes);
  /// @param spare  the first of so many registers as narrowing_registers() says; where nothing is
  ///     converted, as above.
  void store(u32 index, Lanes l, Dtype to, Dtype held, const Reg64& base, i64 bytes, u32 spare);

  /// Two whole vectors of f32 as bf16, one behind the other. What is rare, denormal numbers or NaN,
  /// is looked for in both at once, and done elsewhere: write_rare().
  /// @param first  is overwritten.
  /// REQUIRES: ready_narrowing(), where narrows_by_order().
  void store_pair(u32 first, u32 second, const Reg64& base, i64 bytes, u32 spare);
  /// Ends a microkernel: code that it jumps to. Nothing runs into it.
  void write_rare();

  // -- Parts of these
  /// Lanes of i32 as f32, or a copy.
  void convert(u32 to, u32 index, u32 width, Dtype from, Dtype held);
  /// Lanes of f32 rounded to bf16 or f16, as f32.
  /// @param spare  the first of so many registers as narrowing_registers() says.
  void round_lanes(u32 to, u32 index, u32 width, Dtype narrow, u32 spare);
  /// `bytes` (at most 16) of memory, with zeros above.
  void load_bytes(u32 index, u32 count, const Reg64& base, i64 bytes);
  void store_bytes(u32 index, u32 count, const Reg64& base, i64 bytes);
  /// Less than 4 bytes, with zeros above, in far_register(); not a byte behind them is read.
  Xbyak::Reg32 load_lane(u32 count, const Reg64& base, i64 bytes);
  /// Elements side by side in `from`, a vector or memory, become lanes.
  void widen(const Vec& to, const Xbyak::Operand& packed, Dtype from, Dtype held);
  /// At most 8 lanes become elements side by side, from the start of the register that is returned:
  /// `index`, or one of those from `spare` on.
  u32 narrow(u32 index, u32 width, Dtype to, Dtype held, u32 spare);

  // -- Computing
  void zero(u32 index);
  /// `bits` in every lane.
  void fill(u32 index, u32 width, u32 bits);
  /// a op b for the binary operations of one instruction and the sums of kMulAdd; the operand order
  /// of fast_max and fast_min is that of Op. Of any operation: emit_binary() of recipe.hh.
  void binary(Op op, Dtype held, const Vec& to, const Vec& a, const Xbyak::Operand& b);

 private:
  u32 rounded(u32 index, u32 width, Dtype to, Dtype held, u32 spare);
  // bf16.cc
  bool widen_by_order(u32 index, Lanes l, const Reg64& base, i64 bytes);
  void round_bf16(u32 index, u32 width, u32 spare);
  void add_half_bf16(u32 to, u32 index, u32 width);
  void narrow_natively(u32 index, u32 width, u32 spare);
  void pack_bf16(u32 index, u32 width);
  void store_bf16(u32 index, Lanes l, const Address& at);
  void round_integer(u32 index, u32 width, Dtype to, u32 spare);
  void store_packed(u32 index, Lanes l, Dtype to, Dtype held, const Address& at);
  u32 pack(u32 index, u32 width, Dtype to, Dtype held, u32 spare);

  u32 mask_register_ = 0;
  std::optional<u32> widening_, narrowing_;  // registers
  std::vector<std::function<void()>> rare_;
};

}  // namespace morello::x64

#endif

// SPDX-License-Identifier: MIT
// DotCode: the instructions of a Dot: factors made ready, and products added to lanes.
#ifndef MORELLO_CODEGEN_X64_DOTS_HH
#define MORELLO_CODEGEN_X64_DOTS_HH

#include "codegen/x64/vectors.hh"
#include "target/dots.hh"

namespace morello::x64 {

class DotCode {
 public:
  using Vec = Assembler::Vec;
  using Reg64 = Assembler::Reg64;

  /// @param spare  the first of dot.spare vector registers.
  DotCode(Vectors& as, const Dot& dot, Dtype a, Dtype b, Dtype sum, u32 spare)
      : as_(as), dot_(dot), a_(a), b_(b), sum_(sum), spare_(spare) {}

  const Dot& dot() const { return dot_; }
  bool is_f32() const { return a_ == Dtype::kF32 && b_ == Dtype::kF32 && sum_ == Dtype::kF32; }
  /// Once, before the others.
  void begin();
  /// Passes over lanes of which so many elements count.
  u32 passes(u32 elements) const;

  /// May b be a memory operand? May a, in which the instruction broadcasts a lane?
  bool folds_b(Lanes l) const;
  bool embeds_a() const;

  /// What pass `pass` multiplies of a vector of `type`: a's or b's.
  /// @param in_parts  none behind the elements: Vectors::load_in_parts().
  void load(u32 index, Lanes l, Dtype type, const Reg64& base, i64 bytes, u32 pass, u32 elements,
            bool in_parts);
  /// The same of one lane of a, or one element, in all lanes.
  /// @param step           bytes from one element to the next.
  /// @param others_before  a whole group of a's row is before these elements.
  void broadcast_a(u32 index, u32 width, const Reg64& base, i64 bytes, i64 step, u32 pass,
                   u32 elements, bool others_before);
  /// What was loaded of a is made ready for pass `pass`.
  void make_a_ready(u32 index, u32 width, u32 pass, u32 elements);
  void add(const Vec& sum, const Vec& a, const Xbyak::Operand& b);
  /// What all rows have too much of it. REQUIRES: dot().corrects.
  void add_correction(const Vec& sum, const Vec& b);
  /// The same with a lane of a in memory. REQUIRES: embeds_a().
  void add_embedded(const Vec& sum, const Vec& b, const Assembler::Address& a);

 private:
  void broadcast_last_of_a(u32 index, u32 width, const Reg64& base, i64 bytes, u32 pass,
                           u32 elements);
  void make_ready(u32 index, u32 width, Dtype type, u32 pass, u32 elements);

  Vectors& as_;
  const Dot& dot_;
  Dtype a_, b_, sum_;
  u32 spare_;
};

}  // namespace morello::x64

#endif

// SPDX-License-Identifier: MIT
// Chain: the scalar stages of an elementwise Spec, computed on one vector at a time.
#ifndef MORELLO_CODEGEN_X64_CHAIN_HH
#define MORELLO_CODEGEN_X64_CHAIN_HH

#include <array>

#include "codegen/x64/assembler.hh"

namespace morello::x64 {

/// Takes three vector registers from `first_free`, one per stage that needs a constant, and on AVX2
/// one for the mask.
class Chain {
 public:
  Chain(Assembler& as, const PlanCall& call);

  /// Where the elements of one operand for the vector to compute are.
  struct Source {
    bool in_register = false;
    u32 index = 0;  // the register
    bool broadcast = false;
    Assembler::Reg64 base;
    i64 bytes = 0;
  };
  using Sources = std::array<Source, kMaxOperands>;

  /// Loads constants of `width` elements, and readies the mask for vectors of `l.count` elements.
  void prepare(u32 width, Lanes masked);
  void compute(Lanes l, const Sources& sources);

 private:
  u32 stage(int index, u32 to);
  u32 in_register(i8 input, u32 to);
  template <class F>
  void with_operand(i8 input, u32 to, F f);

  Assembler& as_;
  const PlanCall& call_;
  u32 value_, other_, spare_;
  std::array<u32, kMaxStages> constant_{};
  u32 mask_;
  Lanes lanes_;
  const Sources* sources_ = nullptr;
  u32 previous_ = 0;
};

}  // namespace morello::x64

#endif

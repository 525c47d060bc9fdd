// SPDX-License-Identifier: MIT
// Chain: the scalar stages of an elementwise Spec, computed on one vector at a time.
#ifndef MORELLO_CODEGEN_X64_CHAIN_HH
#define MORELLO_CODEGEN_X64_CHAIN_HH

#include <array>

#include "codegen/x64/vectors.hh"
#include "cost/map_registers.hh"

namespace morello::x64 {

/// Takes the vector registers that map_registers() lists, from `first_free` on.
class Chain {
 public:
  /// @param scalar  vectors have one element.
  Chain(Vectors& as, const PlanCall& call, bool scalar);

  /// Where the elements of one operand for the vector to compute are.
  struct Source {
    bool in_register = false;
    u32 index = 0;  // the register
    bool broadcast = false;
    Assembler::Reg64 base;
    i64 bytes = 0;
  };
  using Sources = std::array<Source, kMaxOperands>;

  /// Loads constants of `width` elements, and readies the mask for vectors like `odd`.
  void prepare(u32 width, Lanes odd);
  void compute(Lanes l, const Sources& sources);

 private:
  u32 stage(int index, u32 to);
  bool is_fetched(Ref input) const;
  u32 in_register(Ref input, u32 to);
  template <class F>
  void with_operand(Ref input, u32 to, F f);

  Vectors& as_;
  const PlanCall& call_;
  MapRegisters needs_;
  u32 value_ = 0, other_ = 0, spare_ = 0, narrow_ = 0, mask_ = 0, temporaries_ = 0;  // registers
  std::array<u32, kMaxStages> constant_{};
  u32 own_ = 0;  // the constant of the stage that is computed
  Lanes lanes_;
  const Sources* sources_ = nullptr;
  Dtype held_{};  // in the stage at hand
  u32 previous_ = 0;
};

}  // namespace morello::x64

#endif

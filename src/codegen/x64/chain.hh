// SPDX-License-Identifier: MIT
// Chain: the scalar stages of an elementwise Spec, a chain or a web, computed on one vector at a
// time.
#ifndef MORELLO_CODEGEN_X64_CHAIN_HH
#define MORELLO_CODEGEN_X64_CHAIN_HH

#include <array>
#include <optional>
#include <span>

#include "codegen/x64/recipe.hh"
#include "codegen/x64/vectors.hh"
#include "cost/map_registers.hh"
#include "cost/recipe.hh"

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
    std::optional<u32> held;  // a register with these elements, as read_as() says
  };
  using Sources = std::array<Source, kMaxOperands>;

  /// Vectors to compute at once: as many as the free registers hold where there is a recipe, whose
  /// instructions depend on one another; what is short needs none of that,
  /// but for two that are stored as a pair.
  /// @param others  registers that each of them takes besides.
  u32 side_by_side(u32 others = 0) const;
  /// Does a vector wait for what functions make of it? Others are as fast alone.
  bool waits() const;
  /// What the elements of an operand are held as by all stages that read it, if that is one type.
  std::optional<Dtype> read_as(int operand) const;
  /// Is an operand one row for all rows of the result?
  bool is_row(Ref operand) const;
  /// The first register behind those of so many vectors.
  u32 after(u32 vectors) const {
    return shared_ + (vectors > 1 ? 1 + (vectors - 1) * own_registers() : 0);
  }

  /// Loads constants of `width` elements and orders, and readies the mask for vectors like `odd`.
  void prepare(u32 width, Lanes odd);
  /// Loads what is one element for all vectors that follow, as far as there are registers: that
  /// which is for second inputs, if nothing else gets there, and those from `free` on. Vectors have
  /// to find it where these sources do, up to the next call.
  /// @return the first register behind them.
  u32 hold(const Sources& sources, u32 free);
  /// The same of the constants of functions, for all vectors that follow. With mask registers only,
  /// where there are registers enough.
  void hold_constants(u32 free);
  void compute(Lanes l, const Sources& sources) { compute(l, std::span(&sources, 1)); }
  /// REQUIRES: at most side_by_side() of them.
  void compute(Lanes l, std::span<const Sources> vectors);

 private:
  void store();
  bool is_pair(size_t first) const;
  const Sources& sources() const { return vectors_[vector_]; }
  u32& place(int stage) { return place_[vector_][static_cast<size_t>(stage)]; }
  u32 value(int stage) const;
  u32 temporaries() const;
  u32 own_registers() const { return u32{needs_.value} + needs_.temporaries; }
  /// The first of the registers of a vector other than the first.
  u32 further() const { return shared_ + 1 + static_cast<u32>(vector_ - 1) * own_registers(); }
  void compute_stage(int index);
  u32 stage(int index, u32 to);
  u32 ternary(const Stage& stage, u32 to);
  bool is_fetched(Ref input) const;
  u32 in_register(Ref input, u32 to);
  template <class F>
  void with_operand(Ref input, u32 to, F f);

  Vectors& as_;
  const PlanCall& call_;
  MapRegisters needs_;
  ValueRegisters values_;
  // Registers of all vectors, but for values and the temporaries, which are the first's.
  u32 value_ = 0, other_ = 0, spare_ = 0, narrow_ = 0, mask_ = 0, widening_ = 0, narrowing_ = 0,
      temporaries_ = 0, shared_ = 0;
  std::array<u32, kMaxStages> constant_{};
  u32 own_ = 0;  // the constant of the stage that is computed
  std::array<std::optional<u32>, kMaxOperands> holds_;  // registers, for all vectors
  HeldConstants held_constants_;
  Lanes lanes_;
  Dtype held_{};  // in the stage at hand
  // The vector at hand, and where the values of its stages are.
  std::span<const Sources> vectors_;
  size_t vector_ = 0;
  std::array<std::array<u32, kMaxStages>, kMostSideBySide> place_{};
};

}  // namespace morello::x64

#endif

// SPDX-License-Identifier: MIT
// A child of an Impl node as its parent sees it, and what programs leave in memory as terms: what
// the validator compares.
#ifndef MORELLO_IMPL_UNBOUND_HH
#define MORELLO_IMPL_UNBOUND_HH

#include <algorithm>
#include <vector>

#include "impl/impl.hh"
#include "spec/roles.hh"

namespace morello {

/// A child's Spec in the numbering of its parent. Operands are in the slots of the parent's, new
/// buffers in the last ones.
struct Unbound {
  static constexpr int kBufferSlot = kMaxOperands, kSlots = kMaxOperands + kMaxBuffers;
  std::array<u32, kMaxDims> size{};
  std::array<Operand, kSlots> operand{};
  std::array<bool, kSlots> used{};
  std::array<Stage, kMaxStages> stage{};
  int stage_count = 0;
  std::array<Window, kMaxWindows> window{};
  Diagonal diagonal;
  friend bool operator==(const Unbound&, const Unbound&) = default;
};

inline int slot_of(u8 operand) {
  return is_new_buffer(operand) ? Unbound::kBufferSlot + operand - new_buffer(0) : operand;
}
/// A slot as something that stages read and write.
inline Ref ref_of_slot(int slot) { return static_cast<Ref>(0x80 + slot); }

/// REQUIRES: the binding is in range.
Unbound unbind(const Spec& child, const Binding& binding);

/// What values are made of, each a number: equal numbers, equal values.
class Terms {
 public:
  using Term = u32;
  using Memory = std::array<Term, Unbound::kSlots>;  // what each slot holds; 0: nothing

  Memory memory_before(const Spec& spec) {
    Memory memory{};
    for (int o = 0; o < spec.operand_count; o++)
      if (spec.operand[o].access != Access::kOut)
        memory[static_cast<size_t>(o)] =
            number({.kind = Kind::kHeld, .dtype = spec.operand[o].dtype, .slot = o});
    return memory;
  }

  /// `spec`, whose stages are named in terms of slots by `unbound`.
  void run(const Spec& spec, const Unbound& unbound, Memory& memory) {
    const Memory before = memory;
    std::array<Term, kMaxStages> value{};
    for (int s = 0; s < spec.stage_count; s++) {
      const Stage& stage = unbound.stage[static_cast<size_t>(s)];
      Node node{.kind = Kind::kStage, .dtype = stage.dtype, .stage = stage};
      node.stage.out = kNoRef;
      for (size_t i = 0; i < kMaxInputs; i++) {
        const Ref in = stage.in[i];
        if (is_value(in))
          node.in[i] = value[static_cast<size_t>(stage_of(in))];
        else if (in != kNoRef && in != kConstant)
          node.in[i] = before[static_cast<size_t>(in - ref_of_slot(0))];
        else
          continue;
        node.stage.in[i] = 0;
      }
      value[static_cast<size_t>(s)] =
          stage.op == Op::kCopy ? rounded(stage.dtype, node.in[0]) : number(node);
      if (stage.out == kNoRef) continue;
      const size_t slot = static_cast<size_t>(stage.out - ref_of_slot(0));
      Term result = value[static_cast<size_t>(s)];
      if (accumulates(spec, spec.stage[s])) result = added(stage, before[slot], result);
      memory[slot] = rounded(unbound.operand[slot].dtype, result);
    }
  }

 private:
  enum class Kind : u8 { kHeld, kStage, kAdded, kRounded };
  struct Node {
    Kind kind{};
    Dtype dtype{};
    int slot = -1;
    Stage stage{};
    std::array<Term, kMaxInputs> in{};
    friend bool operator==(const Node&, const Node&) = default;
  };

  /// A sum on top of what was there: the sum itself, if that was neutral.
  Term added(const Stage& stage, Term before, Term sum) {
    const Stage fill{.op = Op::kFill, .dtype = stage.dtype, .constant = neutral_bits(stage)};
    if (before == number({.kind = Kind::kStage, .dtype = stage.dtype, .stage = fill})) return sum;
    const Stage by{.op = stage.op, .dtype = stage.dtype};
    return number({.kind = Kind::kAdded, .dtype = stage.dtype, .stage = by, .in = {before, sum}});
  }

  /// By a copy, or by where it is written. What becomes 16 bits is f32 on its way, which holds what
  /// had these 16 bits before.
  Term rounded(Dtype dtype, Term x) {
    if (terms_[x].dtype == dtype) return x;
    if (is_narrow_float(dtype)) {
      x = rounded(Dtype::kF32, x);
      const Node& node = terms_[x];
      if (node.kind == Kind::kRounded && terms_[node.in[0]].dtype == dtype) return node.in[0];
    }
    return number({.kind = Kind::kRounded, .dtype = dtype, .in = {x}});
  }

  Term number(const Node& node) {
    const auto at = std::find(terms_.begin(), terms_.end(), node);
    if (at == terms_.end()) terms_.push_back(node);
    return static_cast<Term>(std::find(terms_.begin(), terms_.end(), node) - terms_.begin());
  }

  std::vector<Node> terms_{1};
};

}  // namespace morello

#endif

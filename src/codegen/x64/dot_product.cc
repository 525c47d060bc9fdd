// SPDX-License-Identifier: MIT
// out[m,v] (+)= a[m,k] * b[v,k] with vectors along k, and a horizontal sum per result at the end.
#include <algorithm>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "cost/shared.hh"

namespace morello::x64 {
namespace {

class DotProduct {
 public:
  DotProduct(Vectors& as, const PlanCall& call)
      : as_(as), call_(call), roles_(*contraction_roles(call.spec)) {
    results_ = roles_.rows * roles_.columns;
    chains_ = dot_chains(results_);
    // The side with fewer vectors is held in registers, the other one loaded one by one.
    hold_b_ = roles_.columns <= roles_.rows;
    held_ = call.first_free + results_ * chains_;
    other_ = held_ + std::min(roles_.rows, roles_.columns);
  }

  void emit() {
    u32 lanes = as_.lanes(), full = roles_.depth / lanes;
    Lanes tail = as_.lanes_of(roles_.depth % lanes);
    if (tail.count != 0 && tail.masked()) as_.set_mask(tail.count, other_ + 1);
    for (u32 r = 0; r < results_ * chains_; r++) as_.zero(call_.first_free + r);
    a_ = as_.moving_pointer(call_.operand[roles_.a].cursor);
    b_ = as_.moving_pointer(call_.operand[roles_.b].cursor);
    u32 unroll = call_.rare ? chains_ : results_ <= 8 ? std::max(chains_, 4u) : 2;
    i64 bytes = i64{lanes} * sizeof(float);
    as_.for_chunks(full, unroll, {{a_, bytes}, {b_, bytes}}, [&](u64 count) {
      for (u32 i = 0; i < count; i++) step(i % chains_, i * bytes, as_.lanes_of(lanes));
    });
    if (tail.count != 0) {
      u32 straight = full >= 2 * unroll ? full % unroll : full;
      step(0, straight * bytes, tail);
    }
    for (u32 i = 0; i < roles_.rows; i++)
      for (u32 j = 0; j < roles_.columns; j++) finish(i, j);
  }

 private:
  u32 accumulator(u32 i, u32 j, u32 chain) const {
    return call_.first_free + chain * results_ + i * roles_.columns + j;
  }
  i64 stride(int operand, u8 dim) const {
    return dim == kNoDim ? 0 : call_.operand[operand].stride[dim];
  }
  Assembler::Address a_at(u32 i, i64 bytes) {
    return as_.at(a_, i * stride(roles_.a, roles_.m) + bytes);
  }
  Assembler::Address b_at(u32 j, i64 bytes) {
    return as_.at(b_, j * stride(roles_.b, roles_.v) + bytes);
  }

  void step(u32 chain, i64 bytes, Lanes l) {
    u32 few = std::min(roles_.rows, roles_.columns), many = results_ / few;
    for (u32 i = 0; i < few; i++) as_.load(held_ + i, l, hold_b_ ? b_at(i, bytes) : a_at(i, bytes));
    for (u32 i = 0; i < many; i++) {
      Assembler::Address from = hold_b_ ? a_at(i, bytes) : b_at(i, bytes);
      if (few == 1 && as_.folds(l)) {
        fma(hold_b_ ? accumulator(i, 0, chain) : accumulator(0, i, chain), held_, l, from);
        continue;
      }
      as_.load(other_, l, from);
      for (u32 j = 0; j < few; j++)
        fma(hold_b_ ? accumulator(i, j, chain) : accumulator(j, i, chain), held_ + j, l,
            as_.vec(other_, l.width));
    }
  }

  /// A narrow FMA clears the rest of its register: narrow vectors are loaded with zeros above
  /// instead.
  void fma(u32 to, u32 x, Lanes l, const Xbyak::Operand& y) {
    bool narrow = l.width < as_.lanes() && roles_.depth >= as_.lanes();
    u32 width = narrow ? as_.lanes() : l.width;
    if (narrow && y.isMEM()) {
      as_.load(other_, l, static_cast<const Assembler::Address&>(y));
      as_.vfmadd231ps(as_.vec(to, width), as_.vec(x, width), as_.vec(other_, width));
    } else if (narrow) {
      as_.vfmadd231ps(as_.vec(to, width), as_.vec(x, width),
                      as_.vec(static_cast<u32>(y.getIdx()), width));
    } else {
      as_.vfmadd231ps(as_.vec(to, width), as_.vec(x, width), y);
    }
  }

  void finish(u32 i, u32 j) {
    u32 sum = accumulator(i, j, 0);
    u32 width = std::min(as_.lanes(), as_.lanes_of(roles_.depth).width);
    for (u32 c = 1; c < chains_; c++)
      as_.vaddps(as_.vec(sum, width), as_.vec(sum, width), as_.vec(accumulator(i, j, c), width));
    as_.reduce_lanes(Op::kAdd, Dtype::kF32, sum, width, other_);
    Assembler::Vec x = as_.vec(sum, 1);
    Assembler::Reg64 out = out_pointer();
    i64 at = i * stride(2, roles_.m) + j * stride(2, roles_.v);
    if (call_.spec.out().access == Access::kInOut) as_.vaddss(x, x, as_.at(out, at));
    as_.vmovss(as_.at(out, at), x);
  }

  Assembler::Reg64 out_pointer() {
    if (!out_taken_) out_ = as_.pointer(call_.operand[call_.spec.out_index()].cursor);
    out_taken_ = true;
    return out_;
  }

  Vectors& as_;
  const PlanCall& call_;
  ContractionRoles roles_;
  u32 results_, chains_, held_, other_;
  bool hold_b_, out_taken_ = false;
  Assembler::Reg64 a_, b_, out_;
};

u32 registers(const PlanCall&) { return 4; }
void emit(Vectors& as, const PlanCall& call) { DotProduct(as, call).emit(); }

}  // namespace

extern const Emitter kDotProduct = {MicrokernelId::kDotProduct, registers, emit};

}  // namespace morello::x64

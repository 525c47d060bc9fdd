// SPDX-License-Identifier: MIT
// Contractions and reductions, one element at a time: any strides, any reduced dimensions. The plan
// loops over the others.

#include "codegen/x64/emitter.hh"
#include "codegen/x64/recipe.hh"
#include "cost/held.hh"

namespace morello::x64 {
namespace {

class ScalarReduce {
 public:
  ScalarReduce(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        op_(head_of(call.spec).op),
        held_(head_of(call.spec).dtype),
        inputs_(call.spec.out_index()) {}

  void emit() {
    as_.fill(sum(), 1, neutral_bits(head_of(call_.spec)));
    for (int o = 0; o < inputs_; o++) in_[o] = as_.moving_pointer(call_.operand[o].cursor);
    loop(0);
    Assembler::Reg64 out = as_.pointer(call_.operand[inputs_].cursor);
    const Assembler::Vec before = as_.vec(sum() + 1, 1);
    if (call_.spec.out().access == Access::kInOut) {
      as_.vmovss(before, as_.at(out, 0));
      emit_binary(as_, op_, held_, 1, sum(), sum() + 1, sum(), sum() + 2);
    }
    as_.store(sum(), Lanes{}, call_.spec.out().dtype, held_, out, 0, sum() + 1);
  }

 private:
  u32 sum() const { return call_.first_free; }

  /// Loops over the reduced dimensions from `dim` on; pointers are back where they were afterwards,
  /// unless the loop is the outermost.
  void loop(int dim) {
    const Spec& spec = call_.spec;
    while (dim < spec.rank && !has_dim(spec.reduced(), dim)) dim++;
    if (dim == spec.rank) return add_point({});
    int next = dim + 1;
    while (next < spec.rank && !has_dim(spec.reduced(), next)) next++;
    u32 size = spec.size[dim];
    u32 unroll = next == spec.rank ? 4 : 1;
    std::vector<Assembler::Moving> pointers;
    for (int o = 0; o < inputs_; o++) pointers.push_back({in_[o], call_.operand[o].stride[dim]});
    as_.for_chunks(size, unroll, pointers, [&](u64 count) {
      if (next < spec.rank) return loop(next);
      for (u64 i = 0; i < count; i++) {
        std::array<i64, 2> bytes{};
        for (int o = 0; o < inputs_; o++) bytes[o] = pointers[o].step * static_cast<i64>(i);
        add_point(bytes);
      }
    });
    u32 passed = size >= 2 * unroll ? size / unroll * unroll : 0;
    for (const auto& p : pointers) as_.advance(p.reg, -p.step * i64{passed});
  }

  void add_point(const std::array<i64, 2>& bytes) {
    const Assembler::Vec s = as_.vec(sum(), 1), x = as_.vec(sum() + 1, 1);
    load(x, source_of(call_.spec), bytes);
    if (op_ == Op::kMulAdd)
      multiply_add(s, x, bytes);
    else
      emit_binary(as_, op_, held_, 1, sum(), sum(), sum() + 1, sum() + 2);
  }

  void multiply_add(const Assembler::Vec& s, const Assembler::Vec& x,
                    const std::array<i64, 2>& bytes) {
    const Ref second = factors_of(call_.spec)[1];
    if (held_ == Dtype::kF32 && is_plain(call_.spec.operand[second].dtype, held_))
      return as_.vfmadd231ss(s, x, as_.at(in_[second], bytes[second]));
    const Assembler::Vec y = as_.vec(sum() + 2, 1);
    load(y, second, bytes);
    if (held_ == Dtype::kF32) return as_.vfmadd231ss(s, x, y);
    as_.vpmulld(x, x, y);
    as_.vpaddd(s, s, x);
  }

  void load(const Assembler::Vec& to, Ref input, const std::array<i64, 2>& bytes) {
    as_.load(static_cast<u32>(to.getIdx()), Lanes{}, call_.spec.operand[input].dtype, held_,
             in_[input], bytes[input]);
  }

  Vectors& as_;
  const PlanCall& call_;
  Op op_;
  Dtype held_;
  int inputs_;
  std::array<Assembler::Reg64, 2> in_;
};

/// Pointers, and a counter per loop.
u32 registers(const PlanCall&) { return 8; }
void emit(Vectors& as, const PlanCall& call) { ScalarReduce(as, call).emit(); }

}  // namespace

extern const Emitter kScalarReduce = {MicrokernelId::kScalarReduce, registers, emit};

}  // namespace morello::x64

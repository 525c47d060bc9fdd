// SPDX-License-Identifier: MIT
// Contractions and reductions, one element at a time: any strides, any reduced dimensions. The plan
// loops over the others.

#include "codegen/x64/assembler.hh"
#include "codegen/x64/emitter.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

class ScalarReduce {
 public:
  ScalarReduce(Assembler& as, const PlanCall& call)
      : as_(as), call_(call), op_(head_of(call.spec).op), inputs_(call.spec.out_index()) {}

  void emit() {
    as_.broadcast(sum(), 1, neutral_of(head_of(call_.spec)));
    for (int o = 0; o < inputs_; o++) in_[o] = as_.moving_pointer(call_.operand[o].cursor);
    loop(0);
    Assembler::Reg64 out = as_.pointer(call_.operand[inputs_].cursor);
    Assembler::Vec x = as_.vec(sum(), 1), before = as_.vec(sum() + 1, 1);
    if (call_.spec.out().access == Access::kInOut) {
      as_.vmovss(before, as_.at(out, 0));
      as_.binary(op_, x, before, x);
    }
    as_.vmovss(as_.at(out, 0), x);
  }

 private:
  u32 sum() const { return call_.first_free; }

  /// Loops over the reduced dimensions from `dim` on; pointers are back where they were afterwards,
  /// unless the loop is the outermost.
  void loop(int dim) {
    const Spec& spec = call_.spec;
    while (dim < spec.rank && !has_dim(spec.reduced(), dim)) dim++;
    if (dim == spec.rank) return combine({});
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
        combine(bytes);
      }
    });
    u32 passed = size >= 2 * unroll ? size / unroll * unroll : 0;
    for (const auto& p : pointers) as_.advance(p.reg, -p.step * i64{passed});
  }

  void combine(const std::array<i64, 2>& bytes) {
    Assembler::Vec s = as_.vec(sum(), 1), x = as_.vec(sum() + 1, 1);
    as_.vmovss(x, as_.at(in_[0], bytes[0]));
    if (op_ == Op::kMulAdd)
      as_.vfmadd231ss(s, x, as_.at(in_[1], bytes[1]));
    else
      as_.binary(op_, s, s, x);
  }

  Assembler& as_;
  const PlanCall& call_;
  Op op_;
  int inputs_;
  std::array<Assembler::Reg64, 2> in_;
};

/// Pointers, and a counter per loop.
u32 registers(const PlanCall&) { return 8; }
void emit(Assembler& as, const PlanCall& call) { ScalarReduce(as, call).emit(); }

}  // namespace

extern const Emitter kScalarReduce = {MicrokernelId::kScalarReduce, registers, emit};

}  // namespace morello::x64

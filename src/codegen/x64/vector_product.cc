// SPDX-License-Identifier: MIT
// out[m,v] += a[m,k,v] * b[k,v], out in registers: products of vectors with vectors.
#include <bit>
#include <vector>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "cost/vector_product.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

u32 registers(const PlanCall&) { return 3; }

class VectorProduct {
 public:
  VectorProduct(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        spec_(call.spec),
        factors_(vector_factors(spec_)),
        v_(unit_dim(spec_.out())),
        columns_(spec_.size[v_]),
        vecs_(static_cast<u32>(ceil_div(columns_, as.lanes()))),
        held_(call.first_free),
        loaded_(held_ + 1) {}

  void emit() {
    const Lanes tail = as_.part(columns_, vecs_ - 1);
    if (tail.masked()) as_.set_mask(tail.count, loaded_ + 1);
    streamed_rows_ = places_of_rows(call_, factors_.streamed);
    held_rows_ = places_of_rows(call_, factors_.held);
    a_ = as_.moving_pointer(call_.operand[factors_.streamed].cursor);
    b_ = as_.moving_pointer(call_.operand[factors_.held].cursor);
    const DimMask reduced = spec_.reduced();
    if (std::popcount(reduced) > 1) {
      std::vector<u8> terms;
      for (u8 d = 0; d < spec_.rank; d++)
        if (has_dim(reduced, d)) terms.push_back(d);
      const std::vector<i64> a = places_along(call_, factors_.streamed, terms),
                             b = places_along(call_, factors_.held, terms);
      for (size_t k = 0; k < a.size(); k++) {
        in_parts_ = k + 1 == a.size();
        step(a[k], b[k]);
      }
      return;
    }
    const u8 k = static_cast<u8>(std::countr_zero(reduced));
    const i64 of_a = call_.operand[factors_.streamed].stride[k],
              of_b = call_.operand[factors_.held].stride[k];
    u64 unroll = std::max<u64>(1, 16 / (streamed_rows_.size() * vecs_));
    // What is held is read by each of many tiles: as outer products read b.
    const bool apart = tail.masked();
    const u64 before = spec_.size[k] - apart;
    if (apart) unroll = Assembler::unroll_but_last(spec_.size[k], unroll);
    as_.for_chunks(before, unroll, {{a_, of_a}, {b_, of_b}}, [&](u64 count) {
      for (i64 i = 0; i < static_cast<i64>(count); i++) step(i * of_a, i * of_b);
    });
    const i64 here = static_cast<i64>(Assembler::behind_chunks(before, unroll));
    in_parts_ = true;
    if (apart) step(here * of_a, here * of_b);
  }

 private:
  void step(i64 a, i64 b) {
    const Dtype from_a = spec_.operand[factors_.streamed].dtype,
                from_b = spec_.operand[factors_.held].dtype;
    const u32 first = call_.operand[spec_.out_index()].first_register;
    for (u32 j = 0; j < vecs_; j++) {
      const Lanes l = as_.part(columns_, j);
      const i64 in_row = i64{j} * as_.lanes();
      for (size_t row = 0; row < streamed_rows_.size(); row++) {
        const i64 at_b = b + held_rows_[row] + in_row * size_of(from_b);
        if (row == 0 || held_rows_[row] != held_rows_[row - 1])
          in_parts_ ? as_.load_in_parts(held_, l, from_b, Dtype::kF32, b_, at_b)
                    : as_.load(held_, l, from_b, Dtype::kF32, b_, at_b);
        const i64 at = a + streamed_rows_[row] + in_row * size_of(from_a);
        const Assembler::Vec sum = as_.vec(first + static_cast<u32>(row) * vecs_ + j, l.width);
        const Assembler::Vec x = as_.vec(held_, l.width);
        if (as_.folds(l, from_a, Dtype::kF32)) {
          as_.vfmadd231ps(sum, x, as_.at(a_, at));
        } else {
          as_.load(loaded_, l, from_a, Dtype::kF32, a_, at);
          as_.vfmadd231ps(sum, x, as_.vec(loaded_, l.width));
        }
      }
    }
  }

  Vectors& as_;
  const PlanCall& call_;
  const Spec& spec_;
  const VectorFactors factors_;
  u8 v_;
  u32 columns_, vecs_, held_, loaded_;
  bool in_parts_ = false;  // no byte behind what is held is loaded
  std::vector<i64> streamed_rows_, held_rows_;
  Assembler::Reg64 a_, b_;
};

void emit(Vectors& as, const PlanCall& call) { VectorProduct(as, call).emit(); }

}  // namespace

extern const Emitter kVectorProduct = {MicrokernelId::kVectorProduct, registers, emit};

}  // namespace morello::x64

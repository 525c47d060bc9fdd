// SPDX-License-Identifier: MIT
// out[m] (op)= f(in..)[m,r] with vectors along the reduced dimension, where f is a chain, of which
// the vectors may be stored as well. The plan loops over m.
#include <algorithm>
#include <bit>

#include "codegen/x64/chain.hh"
#include "codegen/x64/emitter.hh"
#include "codegen/x64/recipe.hh"
#include "codegen/x64/steps.hh"
#include "cost/fold.hh"
#include "cost/steps.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

constexpr u32 kUnroll = 8;  // vectors of a trip of the loop, or so many that are side by side more

class FoldLanes {
 public:
  /// @param whole  with the steps on its results, and `call` without.
  FoldLanes(Vectors& as, const PlanCall& call, const PlanCall& whole)
      : as_(as),
        call_(call),
        whole_(whole),
        reduction_(call.spec.stage[call.spec.stage_count - 1]),
        op_(combined_by(call.spec)),
        held_(reduction_.dtype),
        kept_(kept_by_fold(call.spec)),
        needs_(fold_registers(call.spec, as.target())),
        sum_(call.first_free),
        before_(prologue_call()),
        chain_(as, before_, false) {}

  void emit() {
    const u32 lanes = as_.lanes(), r = static_cast<u32>(std::countr_zero(call_.spec.reduced()));
    const u32 size = call_.spec.size[r], full = size / lanes,
              sums = std::clamp(full, 1u, needs_.sums);
    for (int o = 0; o < call_.spec.out_index(); o++) {
      in_[o] = as_.moving_pointer(call_.operand[o].cursor);
      step_[o] = has_dim(call_.spec.operand[o].dims, static_cast<int>(r))
                     ? static_cast<i64>(lanes) * size_of(call_.spec.operand[o].dtype)
                     : 0;
    }
    chain_.prepare(lanes, Lanes{});
    if (needs_.widening) as_.ready_widening(widening());
    for (u32 c = 0; c < sums; c++) as_.fill(sum_ + c, lanes, neutral());
    const u32 together = chain_.side_by_side(1);
    const u32 free = chain_.hold(sources(0, 0), chain_.after(together) + together - 1);
    if (full >= together && together > 1) chain_.hold_constants(free);
    const u32 unroll = static_cast<u32>(round_up(kUnroll, together));
    as_.for_chunks(full, unroll, moving(), [&](u64 count) {
      for (u64 i = 0; i < count; i += together) {
        const u32 vectors = static_cast<u32>(std::min<u64>(together, count - i));
        compute(as_.lanes_of(lanes), static_cast<i64>(i), vectors);
        for (u32 v = 0; v < vectors; v++) {
          ask(static_cast<i64>(i + v));
          keep(as_.lanes_of(lanes), static_cast<i64>(i + v), x(v));
          combine(sum_ + static_cast<u32>(i + v) % sums, x(v));
        }
      }
    });
    if (size % lanes != 0) add_tail(size % lanes, full >= 2 * unroll ? full % unroll : full);
    for (u32 c = 1; c < sums; c++) combine(sum_, sum_ + c);
    emit_reduced_lanes(as_, op_, held_, sum_, lanes, x(), temporaries());
    store();
  }

 private:
  /// Of one of the vectors that are computed side by side.
  u32 x(u32 vector = 0) const {
    return vector == 0 ? sum_ + needs_.sums : chain_.after(chain_.side_by_side(1)) + vector - 1;
  }
  u32 mask() const { return x() + 1; }
  u32 half() const { return mask() + needs_.mask; }
  u32 widening() const { return half() + needs_.half; }
  u32 temporaries() const { return widening() + needs_.widening; }
  u32 neutral() const { return neutral_bits(reduction_); }

  PlanCall prologue_call() const {
    PlanCall before = call_;
    before.spec = prologue_of(call_.spec);
    before.first_free = static_cast<u16>(temporaries() + needs_.temporaries);
    return before;
  }

  std::vector<Assembler::Moving> moving() const {
    std::vector<Assembler::Moving> all;
    for (int o = 0; o < call_.spec.out_index(); o++)
      if (step_[o] != 0) all.push_back({in_[o], step_[o]});
    return all;
  }

  /// Of the `v`-th of some vectors that are computed side by side, which is vector `j`.
  Chain::Sources sources(u32 v, i64 j) const {
    Chain::Sources from;
    const int out = call_.spec.out_index();
    for (int o = 0; o < out; o++) {
      from[o].broadcast = step_[o] == 0;
      from[o].base = in_[o];
      from[o].bytes = j * step_[o];
    }
    from[out].in_register = true;
    from[out].index = x(v);
    return from;
  }

  /// Leaves what the stages make of vectors `j` and following from the pointers in x().
  void compute(Lanes l, i64 j, u32 vectors = 1) {
    std::array<Chain::Sources, kMostSideBySide> all;
    for (u32 v = 0; v < vectors; v++) all[v] = sources(v, j + v);
    chain_.compute(l, std::span(all.data(), vectors));
  }

  void keep(Lanes l, i64 j, u32 from) {
    if (kept_ != kNoRef) as_.store(from, l, held_, held_, in_[kept_], j * step_[kept_], half());
  }

  /// For the next trip's lines, at the places of those of a vector.
  void ask(i64 j) {
    for (int o = 0; o < call_.spec.out_index(); o++)
      if (call_.operand[o].next != 0 && step_[o] != 0 && j * step_[o] % kLineBytes == 0)
        as_.prefetch_near(in_[o], j * step_[o] + call_.operand[o].next);
  }

  void combine(u32 sum, u32 with) {
    emit_binary(as_, op_, held_, as_.lanes(), sum, sum, with, temporaries());
  }

  /// Lanes without an element, of which the stages made something, add nothing.
  void add_tail(u32 count, i64 j) {
    as_.set_mask(count, mask());
    compute({count, as_.lanes()}, j);
    keep(as_.lanes_of(count), j, x());
    const Assembler::Vec sum = as_.full(sum_), with = as_.full(x());
    const bool adds = op_ == Op::kAdd;
    if (as_.avx512())
      adds ? as_.vmovaps(with | as_.k1 | as_.T_z, with) : as_.vblendmps(with | as_.k1, sum, with);
    else if (adds)
      as_.vandps(with, with, as_.full(mask()));
    else
      as_.vblendvps(with, sum, with, as_.full(mask()));
    combine(sum_, x());
  }

  void store() {
    if (has_result_steps(whole_.spec)) return store_by_steps(as_, whole_, sum_, sum_ + 1);
    const Operand& to = call_.spec.out();
    const Assembler::Reg64 out = as_.pointer(call_.operand[call_.spec.out_index()].cursor);
    if (to.access == Access::kInOut) {
      as_.vmovss(as_.vec(x(), 1), as_.at(out, 0));
      emit_binary(as_, op_, held_, 1, sum_, x(), sum_, temporaries());
    }
    as_.store(sum_, Lanes{}, to.dtype, held_, out, 0, x());
  }

  Vectors& as_;
  const PlanCall &call_, &whole_;
  Stage reduction_;
  Op op_;
  Dtype held_;
  Ref kept_;  // where vectors are stored, or kNoRef
  FoldRegisters needs_;
  u32 sum_;
  PlanCall before_;
  Chain chain_;
  std::array<Assembler::Reg64, kMaxOperands> in_;
  std::array<i64, kMaxOperands> step_{};
};

u32 registers(const PlanCall& call) { return call.spec.operand_count + 2u; }
void emit(Vectors& as, const PlanCall& call) {
  const PlanCall core = without_steps(call);
  FoldLanes(as, core, call).emit();
}

}  // namespace

extern const Emitter kFoldLanes = {MicrokernelId::kFoldLanes, registers, emit};

}  // namespace morello::x64

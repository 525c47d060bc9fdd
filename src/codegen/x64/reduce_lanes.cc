// SPDX-License-Identifier: MIT
// out[m] (op)= in[m,r] with vectors along the reduced dimension. The plan loops over m.
#include <algorithm>
#include <bit>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/recipe.hh"
#include "codegen/x64/steps.hh"
#include "cost/held.hh"
#include "cost/steps.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

constexpr u32 kChains = 4;

int reduced_dim(const Spec& spec) { return std::countr_zero(spec.reduced()); }

class ReduceLanes {
 public:
  ReduceLanes(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        op_(head_of(call.spec).op),
        held_(head_of(call.spec).dtype),
        from_(call.spec.operand[source_of(call.spec)].dtype),
        sum_(call.first_free),
        next_(call.operand[source_of(call.spec)].next) {}

  void emit() {
    u32 size = call_.spec.size[reduced_dim(call_.spec)], lanes = as_.lanes();
    u32 full = size / lanes, chains = std::min(full, kChains);
    in_ = as_.moving_pointer(call_.operand[source_of(call_.spec)].cursor);
    if (full == 0) {
      start_short(as_.lanes_of(size));
      reduce_lanes(as_.lanes_of(size).width);
    } else {
      if (widens_by_order(from_, held_, as_.target())) as_.ready_widening(mask_() + 1);
      for (u32 c = 0; c < chains; c++) load(sum_ + c, whole(), c * bytes());
      loop(full - chains, chains);
      if (size % lanes != 0) add_tail(size % lanes);
      for (u32 c = 1; c < chains; c++) combine(as_.lanes(), sum_, sum_ + c);
      reduce_lanes(lanes);
    }
    store();
  }

 private:
  i64 bytes() const { return i64{as_.lanes()} * size_of(from_); }
  Lanes whole() const { return as_.lanes_of(as_.lanes()); }
  void load(u32 to, Lanes l, i64 at) { as_.load(to, l, from_, held_, in_, at); }
  u32 other_() const { return sum_ + kChains; }
  u32 spare_() const { return sum_ + kChains + 1; }
  u32 temporaries_() const { return sum_ + kChains + 2; }
  u32 mask_() const {
    const Recipe* recipe = recipe_of(op_, held_);
    return temporaries_() + (recipe ? recipe->temporaries : 0);
  }

  /// sum = sum op x
  void combine(u32 width, u32 sum, u32 x) {
    emit_binary(as_, op_, held_, width, sum, sum, x, temporaries_());
  }
  void reduce_lanes(u32 width) {
    emit_reduced_lanes(as_, op_, held_, sum_, width, other_(), temporaries_());
  }

  void loop(u32 vecs, u32 chains) {
    as_.advance(in_, chains * bytes());
    constexpr u32 kUnroll = 2 * kChains;
    as_.for_chunks(vecs, kUnroll, {{in_, bytes()}}, [&](u64 count) {
      for (u32 i = 0; i < count; i++) {
        const u32 to = sum_ + i % chains;
        if (next_ != 0 && i * bytes() % kLineBytes == 0)
          as_.prefetch_near(in_, i * bytes() + next_);
        if (as_.folds(whole(), from_, held_) && !recipe_of(op_, held_)) {
          as_.binary(op_, held_, as_.full(to), as_.full(to), as_.at(in_, i * bytes()));
        } else {
          load(other_(), whole(), i * bytes());
          combine(as_.lanes(), to, other_());
        }
      }
    });
    as_.advance(in_, (vecs >= 2 * kUnroll ? vecs % kUnroll : vecs) * bytes());
  }

  /// A whole reduction of less than a vector: lanes without an element get a neutral one.
  void start_short(Lanes l) {
    if (l.masked()) as_.set_mask(l.count, mask_());
    load(sum_, l, 0);
    if (!l.masked() || op_ == Op::kAdd) return;
    as_.fill(other_(), l.width, neutral_bits(head_of(call_.spec)));
    Assembler::Vec sum = as_.vec(sum_, l.width), other = as_.vec(other_(), l.width);
    if (as_.avx512()) {
      as_.vmovaps(other | as_.k1, sum);
      as_.vmovaps(sum, other);
    } else {
      as_.vblendvps(sum, other, sum, as_.vec(mask_(), l.width));
    }
  }

  void add_tail(u32 count) {
    Lanes l{count, as_.lanes()};
    Assembler::Vec sum = as_.full(sum_), other = as_.full(other_());
    as_.set_mask(count, mask_());
    load(other_(), l, 0);
    if (as_.avx512() && !recipe_of(op_, held_)) {
      as_.binary(op_, held_, sum | as_.k1, sum, other);
      return;
    }
    if (as_.avx512())
      as_.vblendmps(other | as_.k1, sum, other);
    else if (op_ != Op::kAdd)
      as_.vblendvps(other, sum, other, as_.full(mask_()));
    combine(as_.lanes(), sum_, other_());
  }

  void store() {
    if (has_result_steps(call_.spec)) return store_by_steps(as_, call_, sum_, sum_ + 1);
    Assembler::Reg64 out = as_.pointer(call_.operand[call_.spec.out_index()].cursor);
    if (call_.spec.out().access == Access::kInOut) {
      as_.vmovss(as_.vec(spare_(), 1), as_.at(out, 0));
      emit_binary(as_, op_, held_, 1, sum_, spare_(), sum_, temporaries_());
    }
    as_.store(sum_, Lanes{}, call_.spec.out().dtype, held_, out, 0, other_());
  }

  Vectors& as_;
  const PlanCall& call_;
  Op op_;
  Dtype held_, from_;
  u32 sum_;
  i64 next_;
  Assembler::Reg64 in_;
};

u32 registers(const PlanCall&) { return 3; }
void emit(Vectors& as, const PlanCall& call) { ReduceLanes(as, call).emit(); }

}  // namespace

extern const Emitter kReduceLanes = {MicrokernelId::kReduceLanes, registers, emit};

}  // namespace morello::x64

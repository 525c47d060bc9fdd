// SPDX-License-Identifier: MIT
// out[m,v] (+)= a[m,k] * b[v,k] with vectors along k, and a horizontal sum per result at the end.
#include <algorithm>

#include "codegen/x64/dots.hh"
#include "codegen/x64/emitter.hh"
#include "codegen/x64/recipe.hh"
#include "cost/shared.hh"

namespace morello::x64 {
namespace {

class DotProduct {
 public:
  DotProduct(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        roles_(*contraction_roles(call.spec)),
        sum_(type(call.spec.out_index())),
        dot_(*dot_along(call.spec, roles_, as.target())),
        last_dot_(*morello::dot_of(as.target(), type(roles_.a), type(roles_.b), sum_, 1)),
        code_(as, dot_, type(roles_.a), type(roles_.b), sum_, call.first_free),
        last_(as, last_dot_, type(roles_.a), type(roles_.b), sum_, call.first_free) {
    results_ = roles_.rows * roles_.columns;
    chains_ = dot_chains(results_);
    // The side with fewer vectors is held in registers, the other one loaded one by one.
    hold_b_ = roles_.columns <= roles_.rows;
    sums_ = call.first_free + std::max(dot_.spare, last_dot_.spare);
    held_ = sums_ + results_ * chains_;
    other_ = held_ + std::min(roles_.rows, roles_.columns);
    width_ = code_.is_f32() ? std::min(as.lanes(), as.lanes_of(roles_.depth).width) : as.lanes();
  }

  void emit() {
    const u32 lanes = as_.lanes(), vector = lanes * dot_.group;
    const u32 full = roles_.depth / vector;
    u32 rest = roles_.depth % vector;
    const Lanes tail = as_.lanes_of(rest % lanes);
    if (tail.count != 0 && tail.masked()) as_.set_mask(tail.count, other_ + 1);
    code_.begin();
    for (u32 r = 0; r < results_ * chains_; r++) as_.zero(sums_ + r);
    a_ = as_.moving_pointer(call_.operand[roles_.a].cursor);
    b_ = as_.moving_pointer(call_.operand[roles_.b].cursor);
    u32 unroll = call_.rare ? chains_ : results_ <= 8 ? std::max(chains_, 4u) : 2;
    const i64 a_bytes = i64{vector} * size_of(type(roles_.a)),
              b_bytes = i64{vector} * size_of(type(roles_.b));
    as_.for_chunks(full, unroll, {{a_, a_bytes}, {b_, b_bytes}}, [&](u64 count) {
      for (u32 i = 0; i < count; i++) step(code_, i % chains_, i * vector, as_.lanes_of(lanes));
    });
    u32 here = static_cast<u32>(Assembler::behind_chunks(full, unroll)) * vector;
    // What is left of a vector of groups, one element per lane.
    for (; rest >= lanes; rest -= lanes, here += lanes) step(last_, 0, here, as_.lanes_of(lanes));
    if (tail.count != 0) step(last_, 0, here, tail);
    for (u32 r = 0, n = 0; r < results_; r += n) {
      n = width_ < 4 ? 1 : adjoining(r);
      n == 1 ? finish(r) : finish_together(r, n);
    }
  }

 private:
  Dtype type(int operand) const { return call_.spec.operand[operand].dtype; }
  u32 accumulator(u32 i, u32 j, u32 chain) const {
    return sums_ + chain * results_ + i * roles_.columns + j;
  }
  /// Bytes from the output's pointer to result `r`, in the order of accumulators.
  i64 out_at(u32 r) const {
    const int o = call_.spec.out_index();
    return r / roles_.columns * stride(o, roles_.m) + r % roles_.columns * stride(o, roles_.v);
  }
  /// So many results from `r` on follow one another in memory, up to four.
  u32 adjoining(u32 r) const {
    u32 n = 1;
    while (n < 4 && r + n < results_ && out_at(r + n) == out_at(r) + i64{n} * kElementBytes) n++;
    return n;
  }
  i64 stride(int operand, u8 dim) const {
    return dim == kNoDim ? 0 : call_.operand[operand].stride[dim];
  }
  /// Bytes from the pointer of a factor to element `at` of its row `i`.
  i64 a_at(u32 i, i64 at) const {
    return i * stride(roles_.a, roles_.m) + at * i64{size_of(type(roles_.a))};
  }
  i64 b_at(u32 j, i64 at) const {
    return j * stride(roles_.b, roles_.v) + at * i64{size_of(type(roles_.b))};
  }

  /// The same place of a row in the next tile: of each line one.
  void fetch_ahead(int operand, const Assembler::Reg64& base, i64 bytes, i64 at) {
    const i64 ahead = call_.operand[operand].ahead;
    if (ahead != 0 && at * size_of(type(operand)) % kLineBytes == 0)
      as_.prefetch(base, bytes + ahead);
  }

  void step(DotCode& code, u32 chain, i64 at, Lanes l) {
    const u32 group = code.dot().group;
    for (u32 i = 0; i < roles_.rows; i++) fetch_ahead(roles_.a, a_, a_at(i, at), at);
    for (u32 j = 0; j < roles_.columns; j++) fetch_ahead(roles_.b, b_, b_at(j, at), at);
    for (u32 pass = 0; pass < code.passes(group); pass++) {
      // Memory may end where the last row does.
      auto load_a = [&](u32 index, u32 i) {
        code.load(index, l, type(roles_.a), a_, a_at(i, at), pass, group, i + 1 == roles_.rows);
      };
      auto load_b = [&](u32 index, u32 j) {
        code.load(index, l, type(roles_.b), b_, b_at(j, at), pass, group, j + 1 == roles_.columns);
      };
      u32 few = std::min(roles_.rows, roles_.columns), many = results_ / few;
      for (u32 i = 0; i < few; i++) hold_b_ ? load_b(held_ + i, i) : load_a(held_ + i, i);
      for (u32 i = 0; i < many; i++) {
        if (few == 1 && code.is_f32() && as_.folds(l)) {
          Assembler::Address from = hold_b_ ? as_.at(a_, a_at(i, at)) : as_.at(b_, b_at(i, at));
          fma(hold_b_ ? accumulator(i, 0, chain) : accumulator(0, i, chain), held_, l, from);
          continue;
        }
        if (few == 1 && !code.is_f32() && !hold_b_ && l.width == as_.lanes() && code.folds_b(l)) {
          code.add(as_.full(accumulator(0, i, chain)), as_.full(held_), as_.at(b_, b_at(i, at)));
          continue;
        }
        hold_b_ ? load_a(other_, i) : load_b(other_, i);
        for (u32 j = 0; j < few; j++) {
          const u32 to = hold_b_ ? accumulator(i, j, chain) : accumulator(j, i, chain);
          if (code.is_f32())
            fma(to, held_ + j, l, as_.vec(other_, l.width));
          else  // what is loaded has zeros above
            code.add(as_.full(to), as_.full(hold_b_ ? other_ : held_ + j),
                     as_.full(hold_b_ ? held_ + j : other_));
        }
      }
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

  void add_chains(u32 r) {
    for (u32 c = 1; c < chains_; c++) add(sums_ + r, sums_ + r, sums_ + c * results_ + r, width_);
  }
  void add(u32 to, u32 x, u32 y, u32 width) {
    as_.binary(Op::kAdd, sum_, as_.vec(to, width), as_.vec(x, width), as_.vec(y, width));
  }

  void finish(u32 r) {
    const u32 sum = sums_ + r;
    add_chains(r);
    emit_reduced_lanes(as_, Op::kAdd, sum_, sum, width_, other_, 0);
    Assembler::Vec x = as_.vec(sum, 1);
    Assembler::Reg64 out = out_pointer();
    const i64 at = out_at(r);
    if (call_.spec.out().access == Access::kInOut) {
      if (sum_ == Dtype::kF32) {
        as_.vaddss(x, x, as_.at(out, at));
      } else {
        as_.vmovss(as_.vec(other_, 1), as_.at(out, at));
        as_.binary(Op::kAdd, sum_, x, x, as_.vec(other_, 1));
      }
    }
    as_.vmovss(as_.at(out, at), x);
  }

  /// Up to four results: sums of pairs of their lanes, side by side, then of pairs of those. What
  /// is left are the same four in each quarter of a vector.
  void finish_together(u32 r, u32 n) {
    for (u32 i = 0; i < n; i++) add_chains(r + i);
    const auto vec = [&](u32 index) { return as_.vec(index, width_); };
    const u32 first = sums_ + r, third = sums_ + r + (n > 2 ? 2 : 0);
    const auto pair = [&](u32 x, u32 y) {
      as_.vunpckhps(vec(other_), vec(x), vec(y));
      as_.vunpcklps(vec(x), vec(x), vec(y));
      add(x, x, other_, width_);
    };
    pair(first, first + 1);
    if (n > 2) pair(third, sums_ + r + n - 1);
    as_.vunpckhpd(vec(other_), vec(first), vec(third));
    as_.vunpcklpd(vec(first), vec(first), vec(third));
    add(first, first, other_, width_);
    emit_added_quarters(as_, sum_, first, width_, other_);
    const Assembler::Reg64 out = out_pointer();
    const i64 at = out_at(r);
    const Assembler::Vec x = as_.vec(first, 4), had = as_.vec(other_, 4);
    if (call_.spec.out().access == Access::kInOut) {
      if (n == 4) {
        as_.vmovups(had, as_.at(out, at));
      } else {
        as_.vmovsd(had, as_.at(out, at));
        if (n == 3) as_.vinsertps(had, had, as_.at(out, at + 8), 0x20);
      }
      add(first, first, other_, 4);
    }
    if (n == 4) return as_.vmovups(as_.at(out, at), x);
    as_.vmovlps(as_.at(out, at), x);
    if (n == 3) as_.vextractps(as_.at(out, at + 8), x, 2);
  }

  Assembler::Reg64 out_pointer() {
    if (!out_taken_) out_ = as_.pointer(call_.operand[call_.spec.out_index()].cursor);
    out_taken_ = true;
    return out_;
  }

  Vectors& as_;
  const PlanCall& call_;
  ContractionRoles roles_;
  Dtype sum_;
  const Dot &dot_, &last_dot_;
  DotCode code_, last_;  // of whole vectors of groups; of what is left
  u32 results_, chains_, sums_, held_, other_;
  u32 width_ = 0;  // lanes of the accumulators that have sums
  bool hold_b_, out_taken_ = false;
  Assembler::Reg64 a_, b_, out_;
};

u32 registers(const PlanCall&) { return 4; }
void emit(Vectors& as, const PlanCall& call) { DotProduct(as, call).emit(); }

}  // namespace

extern const Emitter kDotProduct = {MicrokernelId::kDotProduct, registers, emit};

}  // namespace morello::x64

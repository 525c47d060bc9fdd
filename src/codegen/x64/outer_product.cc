// SPDX-License-Identifier: MIT
// out[m,v] += a[m,k] * b[k,v], out in registers: for each k, a vector row of b times broadcasts of
// a.
#include <algorithm>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "cost/shared.hh"

namespace morello::x64 {
namespace {

class OuterProduct {
 public:
  OuterProduct(Vectors& as, const PlanCall& call)
      : as_(as), call_(call), roles_(*contraction_roles(call.spec)) {
    rows_ = roles_.rows;
    vecs_ = static_cast<u32>(ceil_div(roles_.columns, as.lanes()));
    tile_ = call.operand[call.spec.out_index()].first_register;
    extra_ = call.first_free;
  }

  void emit() {
    Lanes tail = part(vecs_ - 1);
    // With one row, b is the memory operand of the FMA, which for odd widths needs a mask, too.
    bool fold_tail = rows_ == 1 && as_.avx512() && !as_.folds(tail);
    if (tail.masked() || fold_tail)
      as_.set_mask(tail.count, extra_ + 1 + (rows_ == 1 ? 1 : held()));
    a_ = pointer(roles_.a);
    b_ = pointer(roles_.b);
    as_.for_chunks(roles_.depth, unroll(), {{a_, step_of(roles_.a)}, {b_, step_of(roles_.b)}},
                   [&](u64 count) {
                     for (u64 k = 0; k < count; k++) emit_step(static_cast<i64>(k));
                   });
  }

 private:
  u32 held() const { return std::min(rows_, vecs_); }
  Lanes part(u32 j) const { return as_.part(roles_.columns, j); }
  u32 tile(u32 i, u32 j) const { return tile_ + i * vecs_ + j; }
  i64 stride(int operand, u8 dim) const {
    return dim == kNoDim ? 0 : call_.operand[operand].stride[dim];
  }
  i64 step_of(int operand) const { return stride(operand, roles_.k); }

  /// Instructions of one step along k.
  u32 step_length() const {
    if (rows_ == 1) return 1 + vecs_;
    if (embeds()) return 1 + rows_;
    return rows_ * vecs_ + rows_ + vecs_;
  }
  /// A loop body large enough to hide the loop, small enough for the caches of decoded
  /// instructions. Where time counts, 48 are too few: rows of a that come from memory come up to
  /// 20% slower, perhaps as prefetchers go by the step of each instruction.
  u64 unroll() const {
    const bool is_short = roles_.depth < 8;  // the end of a loop would be predicted wrong
    const u32 most_instructions = call_.rare && !is_short ? 48 : 192;
    u64 u = 1;
    while (u < 8 && 2 * u * step_length() <= most_instructions) u *= 2;
    return u;
  }
  /// One vector per row: the FMA itself broadcasts a.
  bool embeds() const { return as_.avx512() && vecs_ == 1 && rows_ > 1 && part(0).width >= 4; }

  Assembler::Reg64 pointer(int operand) {
    CursorId cursor = call_.operand[operand].cursor;
    bool moves = roles_.depth >= 2 * unroll();
    return moves ? as_.moving_pointer(cursor) : as_.pointer(cursor);
  }

  Assembler::Address a_at(u32 i, i64 k) {
    return as_.at(a_, i * stride(roles_.a, roles_.m) + k * step_of(roles_.a));
  }
  Assembler::Address b_at(u32 j, i64 k) {
    return as_.at(b_, static_cast<i64>(j) * as_.lanes() * sizeof(float) + k * step_of(roles_.b));
  }

  void emit_step(i64 k) {
    if (rows_ == 1)
      one_row(k);
    else if (embeds())
      one_column(k);
    else if (rows_ >= vecs_)
      hold_b(k);
    else
      hold_a(k);
  }

  void one_row(i64 k) {
    u32 a = extra_, b = extra_ + 1;
    as_.vbroadcastss(as_.vec(a, part(0).width), a_at(0, k));
    for (u32 j = 0; j < vecs_; j++) {
      Lanes l = part(j);
      Assembler::Vec acc = as_.vec(tile(0, j), l.width);
      if (as_.folds(l)) {
        as_.vfmadd231ps(acc, as_.vec(a, l.width), b_at(j, k));
      } else if (as_.avx512()) {
        as_.vfmadd231ps(acc | as_.k1, as_.vec(a, l.width), b_at(j, k));
      } else {
        as_.load(b, l, b_at(j, k));
        as_.vfmadd231ps(acc, as_.vec(a, l.width), as_.vec(b, l.width));
      }
    }
  }

  void one_column(i64 k) {
    Lanes l = part(0);
    Assembler::Vec b = as_.vec(extra_, l.width);
    as_.load(extra_, l, b_at(0, k));
    for (u32 i = 0; i < rows_; i++) {
      Assembler::Address a =
          as_.at(as_.ptr_b, a_, i * stride(roles_.a, roles_.m) + k * step_of(roles_.a));
      as_.vfmadd231ps(as_.vec(tile(i, 0), l.width), b, a);
    }
  }

  void hold_b(i64 k) {
    u32 a = extra_ + vecs_;
    for (u32 j = 0; j < vecs_; j++) as_.load(extra_ + j, part(j), b_at(j, k));
    for (u32 i = 0; i < rows_; i++) {
      as_.vbroadcastss(as_.vec(a, part(0).width), a_at(i, k));
      for (u32 j = 0; j < vecs_; j++) fma(i, j, a, extra_ + j);
    }
  }

  void hold_a(i64 k) {
    u32 b = extra_ + rows_;
    for (u32 i = 0; i < rows_; i++)
      as_.vbroadcastss(as_.vec(extra_ + i, part(0).width), a_at(i, k));
    for (u32 j = 0; j < vecs_; j++) {
      as_.load(b, part(j), b_at(j, k));
      for (u32 i = 0; i < rows_; i++) fma(i, j, extra_ + i, b);
    }
  }

  void fma(u32 i, u32 j, u32 a, u32 b) {
    u32 width = part(j).width;
    as_.vfmadd231ps(as_.vec(tile(i, j), width), as_.vec(a, width), as_.vec(b, width));
  }

  Vectors& as_;
  const PlanCall& call_;
  ContractionRoles roles_;
  u32 rows_, vecs_, tile_, extra_;
  Assembler::Reg64 a_, b_;
};

u32 registers(const PlanCall&) { return 3; }
void emit(Vectors& as, const PlanCall& call) { OuterProduct(as, call).emit(); }

}  // namespace

extern const Emitter kOuterProduct = {MicrokernelId::kOuterProduct, registers, emit};

}  // namespace morello::x64

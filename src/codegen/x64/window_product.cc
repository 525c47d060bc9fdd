// SPDX-License-Identifier: MIT
// out[m,v] += image[m+k0, v+k1] * weights[k0,k1], out in registers: vectors of an image, or of
// every second of its elements, times broadcasts.
#include <vector>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/pairs.hh"
#include "codegen/x64/vectors.hh"
#include "cost/window_product.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

u32 registers(const PlanCall&) { return 3; }

class WindowProduct {
 public:
  WindowProduct(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        roles_(*window_roles(call.spec, as.target())),
        image_(call.operand[roles_.image]),
        weights_(call.operand[roles_.weights]),
        from_(call.spec.operand[roles_.image].dtype),
        columns_(call.spec.size[roles_.v]),
        terms_(call.spec.size[roles_.terms]),
        column_(roles_.across == kNoDim ? 1 : call.spec.size[roles_.across]),
        tile_(call.operand[call.spec.out_index()].first_register),
        low_(call.first_free),
        rows_(places_of_rows(call, roles_.image)) {}

  void emit() {
    const Lanes tail = part(vecs() - 1);
    if (const Lanes l = roles_.apart ? upper_of_pairs(as_, tail) : tail; l.masked())
      as_.set_mask(l.count, low_ + window_registers(call_.spec, roles_));
    x_ = as_.moving_pointer(image_.cursor);
    w_ = as_.moving_pointer(weights_.cursor);
    if (roles_.apart) order(false);
    // Over columns of terms or rows of them, the other of which is straight code.
    const u8 outer = roles_.shared ? roles_.terms : roles_.across;
    const u32 inner = roles_.shared ? column_ : terms_;
    const i64 of_image = stride(image_, outer), of_weights = stride(weights_, outer);
    constexpr u64 kProducts = 160;  // in straight code
    const u64 unroll = std::max<u64>(1, kProducts / (rows_.size() * vecs() * inner));
    as_.for_chunks(outer == kNoDim ? 1 : call_.spec.size[outer], unroll,
                   {{x_, of_image}, {w_, of_weights}}, [&](u64 count) {
                     for (i64 i = 0; i < static_cast<i64>(count); i++)
                       part_of_window(i * of_image, i * of_weights);
                   });
    if (roles_.apart) order(true);
  }

 private:
  u32 vecs() const { return static_cast<u32>(roles_.vecs); }
  Lanes part(u32 j) const { return as_.part(columns_, j); }
  u32 high() const { return low_ + 1; }
  u32 made() const { return low_ + 2; }
  u32 weight(u32 i) const { return low_ + (roles_.apart ? 3 : 1) + i; }
  Assembler::Vec vec(u32 index, u32 width) const { return as_.vec(index, width); }
  static i64 stride(const PlanOperand& x, u8 dim) { return dim == kNoDim ? 0 : x.stride[dim]; }
  i64 place(size_t row, u32 j) const {
    return rows_[row] + i64{j} * as_.lanes() * image_.stride[roles_.v];
  }
  void load_weight(u32 i, i64 bytes) {
    as_.broadcast(weight(i), part(0).width, call_.spec.operand[roles_.weights].dtype, Dtype::kF32,
                  w_, bytes);
  }

  template <class F>
  void each_vector(F f) {
    u32 sum = tile_;
    for (size_t row = 0; row < rows_.size(); row++)
      for (u32 j = 0; j < vecs(); j++) f(sum++, part(j), place(row, j));
  }

  void part_of_window(i64 image, i64 weights) {
    if (roles_.shared) return column_of_terms(image, weights);
    roles_.apart ? row_apart(image, weights) : row_of_terms(image, weights);
  }

  /// Each row of the image once, for all rows of results that have it.
  void column_of_terms(i64 image, i64 weights) {
    for (u32 k = 0; k < column_; k++) load_weight(k, weights + k * weights_.stride[roles_.across]);
    for (u32 i = 0; i < roles_.read_rows; i++)
      for (u32 j = 0; j < vecs(); j++) {
        const Lanes l = part(j);
        const i64 bytes = image + i * image_.stride[roles_.across] + place(0, j);
        as_.load(low_, l, from_, Dtype::kF32, x_, bytes);
        for (u32 row = 0; row < rows_.size() && row * roles_.shared <= i; row++)
          if (const u32 k = i - row * roles_.shared; k < column_)
            as_.vfmadd231ps(vec(tile_ + row * vecs() + j, l.width), vec(weight(k), l.width),
                            vec(low_, l.width));
      }
  }

  void row_of_terms(i64 image, i64 weights) {
    for (u32 term = 0; term < terms_; term++) {
      load_weight(0, weights + term * weights_.stride[roles_.terms]);
      const i64 bytes = image + term * image_.stride[roles_.terms];
      each_vector([&](u32 sum, Lanes l, i64 at) {
        if (as_.folds(l, from_, Dtype::kF32))
          return as_.vfmadd231ps(vec(sum, l.width), vec(weight(0), l.width),
                                 as_.at(x_, bytes + at));
        as_.load(low_, l, from_, Dtype::kF32, x_, bytes + at);
        as_.vfmadd231ps(vec(sum, l.width), vec(weight(0), l.width), vec(low_, l.width));
      });
    }
  }

  /// Terms by twos. Of each 128 bits that are made of two vectors the first half is of the first:
  /// so are results meanwhile.
  void row_apart(i64 image, i64 weights) {
    for (u32 term = 0; term < terms_; term += 2) {
      const bool both = term + 1 < terms_;
      for (u32 i = 0; i < 1u + both; i++)
        load_weight(i, weights + (term + i) * weights_.stride[roles_.terms]);
      // Nothing is read behind the last term of the last place.
      const i64 bytes = image + i64{both ? term : term - 1} * size_of(from_);
      each_vector([&](u32 sum, Lanes l, i64 at) {
        load_pairs(as_, low_, high(), l, from_, Dtype::kF32, x_, bytes + at);
        const auto add = [&](u32 to, int which, u32 w) {
          shuffle_pairs(as_, to, low_, high(), l, which);
          as_.vfmadd231ps(vec(sum, l.width), vec(to, l.width), vec(w, l.width));
        };
        if (both) add(made(), kEven, weight(0));
        add(low_, kOdd, weight(both ? 1 : 0));
      });
    }
  }

  /// Results as they are summed, or as they were.
  void order(bool back) {
    if (as_.lanes() > 8 && columns_ > 8) as_.vmovups(as_.full(made()), order_of_pairs(as_, back));
    each_vector([&](u32 sum, Lanes l, i64) { order_pairs(as_, sum, l.width, made()); });
  }

  Vectors& as_;
  const PlanCall& call_;
  const WindowRoles roles_;
  const PlanOperand &image_, &weights_;
  Dtype from_;
  u32 columns_, terms_, column_, tile_, low_;
  std::vector<i64> rows_;
  Assembler::Reg64 x_, w_;
};

void emit(Vectors& as, const PlanCall& call) { WindowProduct(as, call).emit(); }

}  // namespace

extern const Emitter kWindowProduct = {MicrokernelId::kWindowProduct, registers, emit};

}  // namespace morello::x64

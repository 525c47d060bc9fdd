// SPDX-License-Identifier: MIT
// out[m,v] += image[m+k0, v+k1] * weights[k0,k1], out in registers: vectors of an image, or of
// every second of its elements, times broadcasts.
#include <algorithm>
#include <map>
#include <vector>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/pairs.hh"
#include "codegen/x64/vectors.hh"
#include "cost/window_product.hh"

namespace morello::x64 {
namespace {

u32 registers(const PlanCall&) { return 3; }

/// A row of the image, and who has it: rows of the tile, each with a term of a column.
struct ReadRow {
  i64 bytes = 0;
  struct Use {
    u32 row, term;
  };
  std::vector<Use> uses;
};

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
        vecs_(static_cast<u32>(roles_.vecs)),
        tile_(call.operand[call.spec.out_index()].first_register),
        low_(call.first_free),
        rows_(rows()) {}

  /// Terms that are apart are in pairs.
  void emit() {
    const Lanes tail = part(vecs_ - 1);
    if (const Lanes l = roles_.apart ? upper_of_pairs(as_, tail) : tail; l.masked())
      as_.set_mask(l.count, low_ + window_registers(roles_));
    x_ = as_.moving_pointer(image_.cursor);
    w_ = as_.moving_pointer(weights_.cursor);
    if (roles_.apart) order(false);
    const u32 terms = call_.spec.size[roles_.terms], group = roles_.apart ? 2 : 1;
    const u64 groups = terms / group;
    const i64 of_weights = group * weights_.stride[roles_.terms],
              of_image = group * image_.stride[roles_.terms];
    constexpr u64 kProducts = 160;  // in straight code
    const u64 products = roles_.rows * vecs_ * roles_.column * group,
              unroll = std::max<u64>(1, kProducts / products);
    as_.for_chunks(groups, unroll, {{x_, of_image}, {w_, of_weights}}, [&](u64 count) {
      for (i64 i = 0; i < static_cast<i64>(count); i++) {
        if (roles_.pairs) {
          columns(i * of_image, i * of_weights, 0, 2);
          continue;
        }
        for (u32 t = 0; t < group; t++) columns(i * of_image, i * of_weights, t, 1);
      }
    });
    // The last one is the second of a pair, whose first one was another's second.
    const i64 here = static_cast<i64>(Assembler::behind_chunks(groups, unroll));
    if (terms % group != 0)
      columns(here * of_image - size_of(from_), here * of_weights - weights_.stride[roles_.terms],
              1, 1);
    if (roles_.apart) order(true);
  }

 private:
  Lanes part(u32 j) const { return as_.part(columns_, j); }
  u32 weight(u32 t, u32 term) const {
    return low_ + 1 + roles_.apart + roles_.pairs + t * roles_.column + term;
  }

  std::vector<ReadRow> rows() const {
    std::map<i64, ReadRow> read;
    const std::vector<i64> places = places_of_rows(call_, roles_.image);
    for (u32 row = 0; row < places.size(); row++)
      for (u32 term = 0; term < roles_.column; term++) {
        const i64 bytes = places[row] + (term == 0 ? 0 : term * image_.stride[roles_.across]);
        read[bytes].bytes = bytes;
        read[bytes].uses.push_back({row, term});
      }
    std::vector<ReadRow> all;
    for (auto& [bytes, row] : read) all.push_back(std::move(row));
    return all;
  }

  /// `count` terms of each row of a window, from number `first` on of a pair, if they are apart.
  void columns(i64 image, i64 weights, u32 first, u32 count) {
    for (u32 t = 0; t < count; t++)
      for (u32 term = 0; term < roles_.column; term++) {
        const i64 across = term == 0 ? 0 : term * weights_.stride[roles_.across];
        as_.broadcast(weight(t, term), part(0).width, call_.spec.operand[roles_.weights].dtype,
                      Dtype::kF32, w_,
                      weights + (first + t) * weights_.stride[roles_.terms] + across);
      }
    for (const ReadRow& row : rows_)
      for (u32 j = 0; j < vecs_; j++) {
        const Lanes l = part(j);
        const i64 bytes = image + row.bytes + i64{j} * as_.lanes() * image_.stride[roles_.v];
        if (!roles_.apart) {
          as_.load(low_, l, from_, Dtype::kF32, x_, bytes);
          add(row, j, low_, 0);
          continue;
        }
        load_pairs(as_, low_, low_ + 1, l, from_, Dtype::kF32, x_, bytes);
        for (u32 t = 0; t < count; t++) {
          const u32 made = t + 1 < count ? low_ + 2 : low_;
          shuffle_pairs(as_, made, low_, low_ + 1, l, first + t == 0 ? kEven : kOdd);
          add(row, j, made, t);
        }
      }
  }

  void add(const ReadRow& row, u32 j, u32 vector, u32 t) {
    const u32 width = part(j).width;
    for (const ReadRow::Use& use : row.uses)
      as_.vfmadd231ps(as_.vec(tile_ + use.row * vecs_ + j, width),
                      as_.vec(weight(t, use.term), width), as_.vec(vector, width));
  }

  /// Results as they are summed, or as they were.
  void order(bool back) {
    if (as_.lanes() > 8 && columns_ > 8) as_.vmovups(as_.full(low_), order_of_pairs(as_, back));
    for (u32 i = 0; i < roles_.rows * vecs_; i++)
      order_pairs(as_, tile_ + i, part(i % vecs_).width, low_);
  }

  Vectors& as_;
  const PlanCall& call_;
  const WindowRoles roles_;
  const PlanOperand &image_, &weights_;
  Dtype from_;
  u32 columns_, vecs_, tile_, low_;
  std::vector<ReadRow> rows_;
  Assembler::Reg64 x_, w_;
};

void emit(Vectors& as, const PlanCall& call) { WindowProduct(as, call).emit(); }

}  // namespace

extern const Emitter kWindowProduct = {MicrokernelId::kWindowProduct, registers, emit};

}  // namespace morello::x64

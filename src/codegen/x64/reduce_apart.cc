// SPDX-License-Identifier: MIT
#include "codegen/x64/reduce_apart.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/extremes.hh"
#include "codegen/x64/pairs.hh"
#include "codegen/x64/recipe.hh"
#include "cost/reduce.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

/// All elements of every row at once, where vectors of results are made of every second element.
class EverySecond {
 public:
  EverySecond(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        op_(head_of(call.spec).op),
        held_(head_of(call.spec).dtype),
        from_(call.spec.operand[source_of(call.spec)].dtype),
        low_(call.first_free),
        extremes_(as, op_, held_, 0, temporaries() - 1) {}

  void emit() {
    const Spec& spec = call_.spec;
    if (extremes_.serve_one()) extremes_.prepare();
    const u8 v = unit_dim(spec.out());
    const u32 columns = spec.size[v], vecs = static_cast<u32>(ceil_div(columns, as_.lanes()));
    if (const Lanes high = upper_of_pairs(as_, as_.part(columns, vecs - 1)); high.masked())
      as_.set_mask(high.count, temporaries() + recipe_temporaries());
    if (as_.avx512() && columns > 8) as_.vmovups(as_.full(order()), order_of_pairs(as_, true));
    in_ = as_.moving_pointer(input_of(call_).cursor);
    u32 index = call_.operand[spec.out_index()].first_register;
    for (i64 row : places_of_rows(call_, source_of(spec)))
      for (u32 j = 0; j < vecs; j++)
        vector(index++, as_.part(columns, j), row + i64{2 * j * as_.lanes()} * size_of(from_));
  }

 private:
  u32 high() const { return low_ + 1; }
  u32 found() const { return low_ + 2; }
  u32 next() const { return low_ + 3; }
  u32 order() const { return low_ + 4; }
  u32 temporaries() const { return low_ + apart_registers(2); }
  u32 recipe_temporaries() const {
    const Recipe* recipe = recipe_of(op_, held_);
    return recipe ? recipe->temporaries : 0;
  }

  /// result = result op element 0 op element 1 ..; nothing is read behind the last of them.
  void vector(u32 result, Lanes l, i64 bytes) {
    const u32 count = call_.spec.size[std::countr_zero(call_.spec.reduced())];
    const u32 width = std::max(l.width, 4u);
    u32 taken = 0;
    auto take = [&](u32 to, int which) {
      if (taken++ == 0) to = found();
      shuffle_pairs(as_, to, low_, high(), l, which);
      if (taken > 1) combine(found(), width, to);
    };
    for (u32 i = 0; i < count; i += 2) {
      const bool both = i + 1 < count;
      load_pairs(as_, low_, high(), l, from_, held_, in_,
                 bytes + i64{both ? i : i - 1} * size_of(from_));
      if (both) take(next(), kEven);
      take(low_, kOdd);
    }
    order_pairs(as_, found(), width, order());
    if (call_.starts)
      as_.vmovaps(as_.vec(result, l.width), as_.vec(found(), l.width));
    else
      combine(result, l.width, found());
  }

  void combine(u32 to, u32 width, u32 with) {
    if (extremes_.serve_one())
      extremes_.combine(to, width, std::span(&with, 1));
    else
      emit_binary(as_, op_, held_, width, to, to, with, temporaries());
  }

  Vectors& as_;
  const PlanCall& call_;
  Op op_;
  Dtype held_, from_;
  u32 low_;
  Extremes extremes_;
  Assembler::Reg64 in_;
};

/// The same of every third element of three vectors. Of the elements that leave r when they are
/// divided by three each lane has one, in one of the vectors: these are blended, and brought to
/// their order.
class EveryThird {
 public:
  EveryThird(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        op_(head_of(call.spec).op),
        held_(head_of(call.spec).dtype),
        from_(call.spec.operand[source_of(call.spec)].dtype),
        read_(call.first_free),
        extremes_(as, op_, held_, 0, temporaries() - 1) {}

  void emit() {
    const Spec& spec = call_.spec;
    if (extremes_.serve_one()) extremes_.prepare();
    const u8 v = unit_dim(spec.out());
    const u32 columns = spec.size[v], vecs = static_cast<u32>(ceil_div(columns, as_.lanes()));
    const Recipe* recipe = recipe_of(op_, held_);
    const Lanes tail = as_.part(columns, vecs - 1);
    for (u32 j = 0; j < 3; j++)
      if (const Lanes l = part_of(tail, j); l.masked())
        as_.set_mask(l.count, temporaries() + (recipe ? recipe->temporaries : 0u));
    in_ = as_.moving_pointer(input_of(call_).cursor);
    u32 index = call_.operand[spec.out_index()].first_register;
    for (i64 row : places_of_rows(call_, source_of(spec)))
      for (u32 j = 0; j < vecs; j++)
        vector(index++, as_.part(columns, j), row + i64{3 * j * as_.lanes()} * size_of(from_));
  }

 private:
  u32 third(u32 r) const { return r == 2 ? read_ : read_ + 3 + r; }  // the last where none is read
  u32 blended() const { return read_ + 5; }
  u32 temporaries() const { return read_ + apart_registers(3); }
  static u32 width_of(Lanes l) { return std::max(l.width, 4u); }
  /// Vector `j` of three times as many elements as l has; none may be left for it.
  Lanes part_of(Lanes l, u32 j) const {
    const u32 before = j * width_of(l), all = 3 * l.count;
    if (all <= before) return {0, 0};
    return as_.lanes_of(std::min(all - before, width_of(l)));
  }

  void vector(u32 result, Lanes l, i64 bytes) {
    const u32 width = width_of(l);
    for (u32 j = 0; j < 3; j++) {
      const Lanes part = part_of(l, j);
      if (part.count == 0)
        as_.zero(read_ + j);
      else
        as_.load(read_ + j, part, from_, held_, in_, bytes + i64{j * width} * size_of(from_));
    }
    for (u32 r = 0; r < 3; r++) {
      blend(r, width);
      std::vector<u32> order(as_.lanes());
      for (u32 i = 0; i < order.size(); i++) order[i] = (3 * i + r) % width;
      bring(third(r), order, width);
    }
    const std::array<u32, 3> all = {third(0), third(1), third(2)};
    if (call_.starts) as_.vmovaps(as_.vec(result, l.width), as_.vec(all[0], l.width));
    const auto rest = std::span(all).subspan(call_.starts);
    if (extremes_.serve_one()) return extremes_.combine(result, l.width, rest);
    for (u32 with : rest)
      emit_binary(as_, op_, held_, l.width, result, result, with, temporaries());
  }

  /// Lane i of vector j is element width j + i: which vector's leaves r?
  static u32 source(u32 r, u32 lane, u32 width) {
    u32 j = 0;
    while ((width * j + lane) % 3 != r) j++;
    return j;
  }
  void blend(u32 r, u32 width) {
    const Assembler::Vec to = as_.vec(blended(), width);
    Assembler::Vec from = as_.vec(read_ + source(r, 0, width), width);
    for (u32 first : {1u, 2u}) {  // of lanes 1, 4, .., then 2, 5, ..
      const Assembler::Vec with = as_.vec(read_ + source(r, first, width), width);
      if (as_.avx512()) {
        std::vector<u32> lanes(as_.lanes());
        for (u32 i = first; i < lanes.size(); i += 3) lanes[i] = ~0u;
        if (first == 1) as_.vmovaps(to, from);
        as_.vpternlogd(to, with, as_.table_constant(lanes), 0xd8);  // where lanes has ones: with
      } else {
        as_.vblendps(to, from, with, static_cast<u8>(0x49 << first));  // 0b01001001
        from = to;
      }
    }
  }
  void bring(u32 to, const std::vector<u32>& order, u32 width) {
    const u32 at_least = std::max(width, 8u);
    as_.vmovups(as_.vec(to, at_least), as_.table_constant(order));
    const auto index = [](u32 i) { return static_cast<int>(i); };
    if (at_least > 8)
      as_.vpermps(Xbyak::Zmm(index(to)), Xbyak::Zmm(index(to)), Xbyak::Zmm(index(blended())));
    else
      as_.vpermps(Xbyak::Ymm(index(to)), Xbyak::Ymm(index(to)), Xbyak::Ymm(index(blended())));
  }

  Vectors& as_;
  const PlanCall& call_;
  Op op_;
  Dtype held_, from_;
  u32 read_;
  Extremes extremes_;
  Assembler::Reg64 in_;
};

}  // namespace

const PlanOperand& input_of(const PlanCall& call) { return call.operand[source_of(call.spec)]; }

void emit_apart(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  // A plan's Specs do not know any more which dimensions are one run.
  const i64 step = input_of(call).stride[unit_dim(spec.out())];
  const bool third = step == 3 * i64{size_of(spec.operand[source_of(spec)].dtype)};
  third ? EveryThird(as, call).emit() : EverySecond(as, call).emit();
}

}  // namespace morello::x64

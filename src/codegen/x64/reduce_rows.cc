// SPDX-License-Identifier: MIT
// out[m,v] = out op in[m,r,v], out in registers: a reduction over whole vectors.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <span>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/extremes.hh"
#include "codegen/x64/halves.hh"
#include "codegen/x64/recipe.hh"
#include "codegen/x64/reduce_apart.hh"
#include "cost/reduce.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

u32 registers(const PlanCall&) { return 2; }

/// Windows of rows of windows: each row is combined once, and then with its neighbours.
class WindowRows {
 public:
  WindowRows(Vectors& as, const PlanCall& call, const SharedRows& shared)
      : as_(as),
        call_(call),
        spec_(call.spec),
        shared_(shared),
        op_(head_of(spec_).op),
        held_(head_of(spec_).dtype),
        from_(spec_.operand[source_of(spec_)].dtype),
        v_(unit_dim(spec_.out())),
        vecs_(static_cast<u32>(ceil_div(spec_.size[v_], as.lanes()))),
        loaded_(call.first_free),
        spare_(loaded_ + 1 + (!as.avx512() && tail().masked())),
        extremes_(as, op_, held_, loaded_, spare_) {
    const Recipe* recipe = recipe_of(op_, held_);
    ring_ = spare_ + (recipe ? recipe->temporaries : 0u) + 1;
  }

  void emit() {
    if (tail().masked()) as_.set_mask(tail().count, loaded_ + 1);
    if (extremes_.serve()) extremes_.prepare();
    in_ = as_.moving_pointer(input_of(call_).cursor);
    rows(0, 0, 0);
  }

 private:
  Lanes tail() const { return as_.part(spec_.size[v_], vecs_ - 1); }
  i64 stride(u8 dim) const { return input_of(call_).stride[dim]; }

  /// Over the tile's dimensions from slow to fast, but those of vectors and of shared rows.
  /// @param index  of registers, in which those are 0.
  void rows(int depth, i64 bytes, u32 index) {
    const Layout& layout = spec_.out().layout;
    if (depth == layout.count()) {
      for (u32 j = 0; j < vecs_; j++)
        line(as_.part(spec_.size[v_], j), bytes + i64{j * as_.lanes()} * size_of(from_), index + j);
      return;
    }
    const u8 d = layout.dim[depth];
    if (d == v_) return rows(depth + 1, bytes, index);
    const u32 count = d == shared_.along ? 1 : spec_.size[d];
    for (u32 i = 0; i < count; i++)
      rows(depth + 1, bytes + i * stride(d), index + i * registers_of(depth));
  }
  /// From one place along an entry of the layout to the next.
  u32 registers_of(int depth) const {
    const Layout& layout = spec_.out().layout;
    u32 n = vecs_;
    for (int at = depth + 1; at < layout.count(); at++)
      if (layout.dim[at] != v_) n *= spec_.size[layout.dim[at]];
    return n;
  }

  void line(Lanes l, i64 bytes, u32 index) {
    const Layout& layout = spec_.out().layout;
    int depth = 0;
    while (layout.dim[depth] != shared_.along) depth++;
    const u32 step = registers_of(depth), first = call_.operand[spec_.out_index()].first_register;
    const u32 rows = spec_.size[shared_.rows];
    for (u32 y = 0; y < shared_.read; y++) {
      row(ring_ + y % rows, l, bytes + y * stride(shared_.rows));
      if (y + 1 < rows) continue;
      const u32 result = first + index + (y + 1 - rows) * step;
      auto from = [&](u64 i) { return ring_ + (y + 1 + static_cast<u32>(i)) % rows; };
      if (extremes_.serve())
        extremes_.combine(
            result, l.width, rows,
            [&](u32 to, u64 i) { as_.vmovaps(as_.vec(to, l.width), as_.vec(from(i), l.width)); },
            call_.starts);
      else
        for (u32 i = 0; i < rows; i++) combine(result, l.width, from(i));
    }
  }

  void row(u32 to, Lanes l, i64 bytes) {
    const u32 others = spec_.size[shared_.row] - 1;
    const i64 step = stride(shared_.row);
    auto load = [&](u32 where, i64 i) { as_.load(where, l, from_, held_, in_, bytes + i * step); };
    load(to, 0);
    if (extremes_.serve()) {
      if (others == 0) return;
      return extremes_.combine(
          to, l.width, others, [&](u32 where, u64 i) { load(where, static_cast<i64>(i) + 1); },
          false);
    }
    const Assembler::Vec sum = as_.vec(to, l.width);
    for (u32 i = 1; i <= others; i++) {
      if (!recipe_of(op_, held_) && as_.folds(l, from_, held_)) {
        as_.binary(op_, held_, sum, sum, as_.at(in_, bytes + i * step));
        continue;
      }
      load(loaded_, i);
      combine(to, l.width, loaded_);
    }
  }

  void combine(u32 to, u32 width, u32 with) {
    emit_binary(as_, op_, held_, width, to, to, with, spare_);
  }

  Vectors& as_;
  const PlanCall& call_;
  const Spec& spec_;
  const SharedRows shared_;
  Op op_;
  Dtype held_, from_;
  u8 v_;
  u32 vecs_, loaded_, spare_;
  Extremes extremes_;
  u32 ring_ = 0;
  Assembler::Reg64 in_;
};

void emit_rows(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  if (const auto shared = shared_rows(spec)) return WindowRows(as, call, *shared).emit();
  if (unit_dim(spec.operand[source_of(spec)]) != unit_dim(spec.out())) return emit_apart(as, call);
  u8 v = unit_dim(spec.out());
  int r = std::countr_zero(spec.reduced());
  const Op op = head_of(spec).op;
  const Dtype held = head_of(spec).dtype, from = spec.operand[source_of(spec)].dtype;
  u32 columns = spec.size[v], vecs = static_cast<u32>(ceil_div(columns, as.lanes()));
  u32 loaded = call.first_free, mask = loaded + 1;
  std::vector<i64> rows = places_of_rows(call, source_of(spec));
  if (Lanes tail = as.part(columns, vecs - 1); tail.masked()) as.set_mask(tail.count, mask);

  const i64 step = input_of(call).stride[r];
  // Of windows, the elements are rows of rows.
  const u8 other = static_cast<u8>(std::bit_width(spec.reduced()) - 1);
  const bool windows = other != r;
  const u64 elements = spec.size[r] * u64{windows ? spec.size[other] : 1};
  auto element = [&](u64 i) {
    if (!windows) return static_cast<i64>(i) * step;
    return static_cast<i64>(i % spec.size[r]) * step +
           static_cast<i64>(i / spec.size[r]) * input_of(call).stride[other];
  };
  Assembler::Reg64 in = as.moving_pointer(input_of(call).cursor);
  u64 unroll = windows ? elements : std::max<u64>(1, 16 / (rows.size() * vecs));
  // One register was asked for what is read, one for the mask, and the rest for this.
  const bool masked = !as.avx512() && as.part(columns, vecs - 1).masked();
  const Extremes extremes(as, op, held, loaded, mask + masked);
  if (extremes.serve()) {
    assert(recipe_of(op, held)->temporaries + 2u > Extremes::kTogether);
    if (!windows) unroll = round_up(unroll, extremes.most_together());
    extremes.prepare();
  }
  const Halves halves(as, op, held, from, extremes, loaded, mask + masked);
  if (!windows && vecs > 1 && halves.serve(elements)) unroll = std::max(unroll, Halves::kEnough);
  as.for_chunks(elements, unroll, {{in, step}}, [&](u64 count) {
    for (u32 x = 0; extremes.serve() && x < rows.size() * vecs; x++) {
      const i64 row = rows[x / vecs] + i64{x % vecs * as.lanes()} * size_of(from);
      const Lanes l = as.part(columns, x % vecs);
      const u32 result = call.operand[spec.out_index()].first_register + x;
      if (halves.serve(count) && (x % vecs + 2) * as.lanes() <= columns) {
        halves.combine(
            result, count, [&](u64 i) { return as.at(in, element(i) + row); }, call.starts);
        x++;  // both of them
        continue;
      }
      extremes.combine(
          result, l.width, count,
          [&](u32 to, u64 i) { as.load(to, l, from, held, in, element(i) + row); }, call.starts);
    }
    if (extremes.serve()) return;
    for (u64 i = 0; i < count; i++) {
      for (u32 x = 0; x < rows.size() * vecs; x++) {
        u32 j = x % vecs;
        Lanes l = as.part(columns, j);
        const i64 bytes = element(i) + rows[x / vecs] + i64{j * as.lanes()} * size_of(from);
        const u32 index = call.operand[spec.out_index()].first_register + x;
        if (recipe_of(op, held)) {
          as.load(loaded, l, from, held, in, bytes);
          emit_binary(as, op, held, l.width, index, index, loaded, mask + 1);
        } else if (as.folds(l, from, held)) {
          const Assembler::Vec to = as.vec(index, l.width);
          as.binary(op, held, to, to, as.at(in, bytes));
        } else {
          as.load(loaded, l, from, held, in, bytes);
          const Assembler::Vec to = as.vec(index, l.width);
          as.binary(op, held, to, to, as.vec(loaded, l.width));
        }
      }
    }
  });
}

void emit(Vectors& as, const PlanCall& call) {
  if (!rows_widen_by_order(call.spec, as.target())) return emit_rows(as, call);
  PlanCall behind = call;
  as.ready_widening(behind.first_free++);
  emit_rows(as, behind);
}

}  // namespace

extern const Emitter kReduceRows = {MicrokernelId::kReduceRows, registers, emit};

}  // namespace morello::x64

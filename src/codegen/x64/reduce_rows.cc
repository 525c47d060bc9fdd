// SPDX-License-Identifier: MIT
// out[m,v] = out op in[m,r,v], out in registers: a reduction over whole vectors.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <span>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/recipe.hh"
#include "cost/reduce.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

u32 registers(const PlanCall&) { return 2; }

const PlanOperand& input_of(const PlanCall& call) { return call.operand[source_of(call.spec)]; }

/// Byte offset in the input of each row of the register tile, in the order of its registers.
std::vector<i64> row_offsets(const PlanCall& call, u8 v) {
  std::vector<i64> rows = {0};
  const Layout& layout = call.spec.out().layout;
  for (int at = 0; at < layout.count(); at++) {
    const u8 d = layout.dim[at];
    if (d == v) continue;
    std::vector<i64> finer;
    for (i64 row : rows)
      for (u32 i = 0; i < call.spec.size[d]; i++)
        finer.push_back(row + i * input_of(call).stride[d]);
    rows = std::move(finer);
  }
  return rows;
}

/// max and min of floats, of several vectors at once: what there is to do about NaN and zeros is
/// done for all of them together. Where there is a NaN is found of two vectors by one instruction.
/// With mask registers the rest is right by itself; without, the sign of the greatest of some
/// numbers is that of their signs together: it is set if all are, and of the least if one is. So it
/// is also if they are zeros, which compare alike.
class Extremes {
 public:
  static constexpr u32 kTogether = 3;  // at least, where there are so many

  /// @param first  the first of registers(), behind one for what is loaded.
  Extremes(Vectors& as, Op op, Dtype held, u32 loaded, u32 first)
      : as_(as),
        greatest_(op == Op::kMax),
        loaded_(loaded),
        first_(first),
        serve_(held == Dtype::kF32 && (op == Op::kMax || op == Op::kMin)) {}

  /// Is it an operation of these?
  bool serve() const { return serve_; }
  bool serve_one() const { return serve_ && as_.avx512(); }
  void prepare() const {
    if (as_.avx512()) as_.fill(nan(), as_.lanes(), kNan);
  }

  /// result = result op each of `count` vectors, which load(to, i) loads; or, if it `starts`, of
  /// two and more alone.
  template <class F>
  void combine(u32 result, u32 width, u64 count, F load, bool starts) const {
    if (starts) load(result, 0);
    if (!as_.avx512()) return combine_by_signs(result, width, count, load, starts);
    for (u64 i = starts; i < count; i += kTogether) {
      const std::array<u32, kTogether> all = {loaded_, first_, first_ + 1};
      const auto together = std::span(all).first(std::min<u64>(kTogether, count - i));
      for (size_t j = 0; j < together.size(); j++) load(all[j], i + j);
      combine(result, width, together);
    }
  }

  /// With mask registers.
  void combine(u32 result, u32 width, std::span<const u32> vectors) const {
    const Assembler::Vec to = as_.vec(result, width);
    auto x = [&](size_t i) { return as_.vec(vectors[std::min(i, vectors.size() - 1)], width); };
    as_.vcmpps(as_.k2, to, x(0), kOrdered);
    for (size_t i = 1; i < vectors.size(); i += 2)
      as_.vcmpps(as_.k2 | as_.k2, x(i), x(i + 1), kOrdered);
    for (size_t i = 0; i < vectors.size(); i++) as_.vrangeps(to, to, x(i), greatest_ ? 5 : 4);
    as_.vblendmps(to | as_.k2, as_.vec(nan(), width), to);
  }

 private:
  static constexpr u32 kNan = 0x7fc00000;
  static constexpr u8 kOrdered = 7, kUnordered = 3;
  u32 nan() const { return first_ + 2; }

  template <class F>
  void combine_by_signs(u32 result, u32 width, u64 count, F load, bool starts) const {
    const Assembler::Vec to = as_.vec(result, width), sign = as_.vec(first_ + 1, width),
                         odd = as_.vec(first_ + 2, width);
    const Assembler::Vec vectors[] = {as_.vec(loaded_, width), as_.vec(first_, width)};
    auto signs = [&](const Assembler::Vec& with, const Assembler::Vec& x) {
      greatest_ ? as_.vandps(sign, with, x) : as_.vorps(sign, with, x);
    };
    count -= starts;
    for (u64 i = 0; i < count; i++) {
      const Assembler::Vec x = vectors[i % 2], &before = i == 0 ? to : vectors[(i - 1) % 2];
      load(static_cast<u32>(x.getIdx()), i + starts);
      signs(i == 0 ? to : sign, x);
      // Of the result and the first vector, of the second and the third, and so on.
      if (i == 0) as_.vcmpps(odd, to, x, kUnordered);
      greatest_ ? as_.vmaxps(to, x, to) : as_.vminps(to, x, to);
      const bool alone = i % 2 == 1 && i + 1 == count;
      if (i == 0 || (i % 2 == 1 && !alone)) continue;
      as_.vcmpps(before, alone ? x : before, x, kUnordered);
      as_.vorps(odd, odd, before);
    }
    const Xbyak::Address bits = as_.lanes_constant(greatest_ ? 0x7fffffff : 0x80000000);
    greatest_ ? as_.vorps(sign, sign, bits) : as_.vandps(sign, sign, bits);
    greatest_ ? as_.vandps(to, to, sign) : as_.vorps(to, to, sign);
    as_.vblendvps(to, to, as_.lanes_constant(kNan), odd);
  }

  Vectors& as_;
  bool greatest_;
  u32 loaded_, first_;
  bool serve_;
};

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
    if (const Lanes high = high_part(as_.part(columns, vecs - 1)); high.masked())
      as_.set_mask(high.count, temporaries() + recipe_temporaries());
    if (as_.avx512() && columns > 8)  // see vector()
      as_.vmovups(as_.full(order()),
                  as_.table_constant({0, 0, 2, 0, 4, 0, 6, 0, 1, 0, 3, 0, 5, 0, 7, 0}));
    in_ = as_.moving_pointer(input_of(call_).cursor);
    u32 index = call_.operand[spec.out_index()].first_register;
    for (i64 row : row_offsets(call_, v))
      for (u32 j = 0; j < vecs; j++)
        vector(index++, as_.part(columns, j), row + i64{2 * j * as_.lanes()} * size_of(from_));
  }

 private:
  u32 high() const { return low_ + 1; }
  u32 found() const { return low_ + 2; }
  u32 next() const { return low_ + 3; }
  u32 order() const { return low_ + 4; }
  u32 temporaries() const { return low_ + kSecondRegisters; }
  u32 recipe_temporaries() const {
    const Recipe* recipe = recipe_of(op_, held_);
    return recipe ? recipe->temporaries : 0;
  }

  /// The elements behind as many as a vector has, of twice as many as count. Four and less are in
  /// one vector.
  Lanes high_part(Lanes l) const {
    return l.width < 4 ? Lanes{} : as_.lanes_of(2 * l.count - l.width);
  }

  /// result = result op element 0 op element 1 ..; nothing is read behind the last of them.
  void vector(u32 result, Lanes l, i64 bytes) {
    const u32 count = call_.spec.size[std::countr_zero(call_.spec.reduced())];
    const u32 width = std::max(l.width, 4u);
    u32 taken = 0;
    auto take = [&](u32 to, int which) {
      if (taken++ == 0) to = found();
      as_.vshufps(as_.vec(to, width), as_.vec(low_, width),
                  as_.vec(l.width < 4 ? low_ : high(), width), which);
      if (taken > 1) combine(found(), width, to);
    };
    for (u32 i = 0; i < count; i += 2) {
      const bool both = i + 1 < count;
      load(l, bytes + i64{both ? i : i - 1} * size_of(from_));
      if (both) take(next(), 0x88);
      take(low_, 0xdd);
    }
    // Of each 128 bits, the first half is of the first vector that was read.
    const int to = static_cast<int>(found());
    if (width > 8)
      as_.vpermpd(Xbyak::Zmm(to), Xbyak::Zmm(static_cast<int>(order())), Xbyak::Zmm(to));
    else if (width > 4)
      as_.vpermpd(Xbyak::Ymm(to), Xbyak::Ymm(to), 0xd8);
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

  void load(Lanes l, i64 bytes) {
    const Lanes low = as_.lanes_of(l.width < 4 ? 2 * l.count : l.width);
    as_.load(low_, low, from_, held_, in_, bytes);
    if (l.width < 4) return;
    as_.load(high(), high_part(l), from_, held_, in_, bytes + i64{l.width} * size_of(from_));
  }

  Vectors& as_;
  const PlanCall& call_;
  Op op_;
  Dtype held_, from_;
  u32 low_;
  Extremes extremes_;
  Assembler::Reg64 in_;
};

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
  if (unit_dim(spec.operand[source_of(spec)]) != unit_dim(spec.out()))
    return EverySecond(as, call).emit();
  u8 v = unit_dim(spec.out());
  int r = std::countr_zero(spec.reduced());
  const Op op = head_of(spec).op;
  const Dtype held = head_of(spec).dtype, from = spec.operand[source_of(spec)].dtype;
  u32 columns = spec.size[v], vecs = static_cast<u32>(ceil_div(columns, as.lanes()));
  u32 loaded = call.first_free, mask = loaded + 1;
  std::vector<i64> rows = row_offsets(call, v);
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
    if (!windows) unroll = round_up(unroll, Extremes::kTogether);  // straight code of few
    extremes.prepare();
  }
  as.for_chunks(elements, unroll, {{in, step}}, [&](u64 count) {
    for (u32 x = 0; extremes.serve() && x < rows.size() * vecs; x++) {
      const i64 row = rows[x / vecs] + i64{x % vecs * as.lanes()} * size_of(from);
      const Lanes l = as.part(columns, x % vecs);
      extremes.combine(
          call.operand[spec.out_index()].first_register + x, l.width, count,
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

// SPDX-License-Identifier: MIT
// Elementwise chains, copies and fills, in vectors along the output's fastest dimension. With a
// register tile everything is unrolled; in memory, rows and vectors are loops.
#include <algorithm>
#include <optional>

#include "codegen/x64/chain.hh"
#include "codegen/x64/emitter.hh"
#include "cost/held.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

/// The dimension that rows in memory run along: the slowest but one. kNoDim if there are no rows.
u8 row_dim(const Spec& spec) {
  const Layout& layout = spec.out().layout;
  int rank = layout.count();
  return rank < 2 ? kNoDim : layout.dim[rank - 2];
}

class MapEmitter {
 public:
  /// @param left  bytes of each row behind its columns, to be copied as they are.
  MapEmitter(Vectors& as, const PlanCall& call, u32 left)
      : as_(as),
        left_(left),
        call_(call),
        spec_(call.spec),
        chain_(as, call, false),
        v_(unit_dim(spec_.out())) {
    columns_ = v_ == kNoDim ? 1 : spec_.size[v_];
    vecs_ = static_cast<u32>(ceil_div(columns_, as.lanes()));
    side_by_side_ = chain_.side_by_side();
  }

  void emit() {
    chain_.prepare(std::min(as_.lanes(), as_.lanes_of(columns_).width),
                   as_.part(columns_, vecs_ - 1));
    hold_constants();
    if (register_operand(spec_) >= 0)
      emit_tile();
    else
      emit_memory();
  }

 private:
  bool moves_along(int o, u8 dim) const {
    return dim != kNoDim && has_dim(spec_.operand[o].dims, dim);
  }
  i64 stride(int o, u8 dim) const { return dim == kNoDim ? 0 : call_.operand[o].stride[dim]; }

  /// Vectors of one width that follow one another are computed side by side.
  void compute(u32 j, Lanes l, const std::array<i64, kMaxOperands>& bytes, u32 tile_index) {
    fetch_ahead(j, bytes);
    if (waiting_ > 0 && (waiting_ == side_by_side_ || l.count != lanes_.count)) flush();
    lanes_ = l;
    place(sources_[waiting_++], j, bytes, tile_index);
  }
  /// Of each line of a row one place, in the next tile, or in that which comes to L1 next.
  void fetch_ahead(u32 j, const std::array<i64, kMaxOperands>& bytes) {
    for (int o = 0; o < spec_.operand_count; o++) {
      const i64 ahead = call_.operand[o].ahead, next = call_.operand[o].next;
      const i64 along = i64{j} * as_.lanes() * size_of(spec_.operand[o].dtype);
      if (!moves_along(o, v_) || along % kLineBytes != 0) continue;
      if (next != 0)
        as_.prefetch_near(pointer_[o], bytes[o] + along + next);
      else if (ahead != 0)
        as_.prefetch(pointer_[o], bytes[o] + along + ahead);
    }
  }
  /// For a row, whose vectors come next.
  void hold(const std::array<i64, kMaxOperands>& bytes) {
    bool any = false;
    for (int o = 0; o < spec_.out_index(); o++) any |= !moves_along(o, v_);
    if (!any) return;
    flush();
    Chain::Sources row;
    place(row, 0, bytes, 0);
    chain_.hold(row, chain_.after(side_by_side_));
  }
  /// Of functions, behind what hold() takes, if they are used again.
  void hold_constants() {
    const u64 vectors = volume(spec_) / columns_ * vecs_;
    if (side_by_side_ == 1 || vectors <= side_by_side_) return;
    chain_.hold_constants(chain_.after(side_by_side_) + static_cast<u32>(spec_.out_index()));
  }
  /// The last vectors of operands that all rows share, if odd, for they take several instructions.
  void hold_tails() {
    const Lanes tail = as_.part(columns_, vecs_ - 1);
    if (!tail.masked()) return;
    // hold() takes registers for other operands, from the first on.
    u32 behind = chain_.after(side_by_side_) + static_cast<u32>(spec_.out_index());
    for (int o = 0; o < spec_.out_index(); o++) {
      const std::optional<Dtype> held = chain_.read_as(o);
      if (!held || !moves_along(o, v_) || !chain_.is_row(static_cast<Ref>(o)) ||
          --behind >= as_.target().vector_registers)
        continue;
      const Dtype from = spec_.operand[o].dtype;
      as_.load_in_parts(behind, tail, from, *held, pointer_[o],
                        i64{vecs_ - 1} * as_.lanes() * size_of(from));
      tail_[static_cast<size_t>(o)] = behind;
    }
  }
  void flush() {
    if (waiting_ > 0) chain_.compute(lanes_, std::span(sources_.data(), waiting_));
    waiting_ = 0;
  }

  /// The sources of vector `j`, `bytes[o]` from the pointers.
  void place(Chain::Sources& sources, u32 j, const std::array<i64, kMaxOperands>& bytes,
             u32 tile_index) {
    for (int o = 0; o < spec_.operand_count; o++) {
      Chain::Source& s = sources[o];
      const PlanOperand& at = call_.operand[o];
      s.in_register = at.in_registers;
      s.index = at.first_register + tile_index;
      s.broadcast = !moves_along(o, v_);
      s.base = pointer_[o];
      s.bytes =
          bytes[o] + (s.broadcast ? 0 : i64{j} * as_.lanes() * size_of(spec_.operand[o].dtype));
      s.held = j + 1 == vecs_ ? tail_[static_cast<size_t>(o)] : std::nullopt;
    }
  }

  /// All operands in registers have the same elements in the same order.
  void emit_tile() {
    for (int o = 0; o < spec_.operand_count; o++)
      if (!call_.operand[o].in_registers) pointer_[o] = as_.pointer(call_.operand[o].cursor);
    hold_tails();
    emit_tile_rows(spec_.operand[register_operand(spec_)].layout, 0, {}, 0);
    flush();
  }

  /// The tile's dimensions from slow to fast: registers are numbered in that order.
  void emit_tile_rows(const Layout& layout, int depth, const std::array<i64, kMaxOperands>& bytes,
                      u32 row) {
    u8 dim = depth < layout.count() ? layout.dim[depth] : kNoDim;
    if (dim == kNoDim || dim == v_) {
      for (u32 j = 0; j < vecs_; j++) compute(j, as_.part(columns_, j), bytes, row * vecs_ + j);
      return;
    }
    for (u32 i = 0; i < spec_.size[dim]; i++) {
      std::array<i64, kMaxOperands> there = bytes;
      for (int o = 0; o < spec_.operand_count; o++) there[o] += i * stride(o, dim);
      emit_tile_rows(layout, depth + 1, there, row * spec_.size[dim] + i);
    }
  }

  void emit_memory() {
    u8 m = row_dim(spec_);
    u32 rows = m == kNoDim ? 1 : spec_.size[m];
    for (int o = 0; o < spec_.operand_count; o++)
      pointer_[o] = as_.moving_pointer(call_.operand[o].cursor);
    u32 full = columns_ / as_.lanes();
    if (full > kMostVectors) return emit_long_rows(rows, m, full);
    hold_tails();
    as_.for_chunks(rows, std::max(1u, kMostVectors / vecs_), pointers(m, 1), [&](u64 count) {
      for (u64 i = 0; i < count; i++) {
        if (vecs_ > 1 && (side_by_side_ == 1 || !chain_.waits()))
          hold(along(m, i));  // not for vectors of several rows
        for (u32 j = 0; j < vecs_; j++) compute(j, as_.part(columns_, j), along(m, i), 0);
        move_left(columns_, along(m, i));
      }
      flush();
    });
  }

  void emit_long_rows(u32 rows, u8 m, u32 full) {
    u32 chunks = full / kMostVectors * kMostVectors;
    as_.for_chunks(rows, 1, pointers(m, 1), [&](u64) {
      hold({});
      as_.for_chunks(chunks, kMostVectors, pointers(v_, as_.lanes()), [&](u64 count) {
        for (u64 j = 0; j < count; j++)
          compute(static_cast<u32>(j), as_.lanes_of(as_.lanes()), {}, 0);
        flush();
      });
      // The pointers have passed the loop's chunks, unless there was only one and no loop.
      u32 passed = chunks >= 2 * kMostVectors ? chunks : 0;
      for (u32 j = chunks; j < vecs_; j++) compute(j - passed, as_.part(columns_, j), {}, 0);
      flush();
      move_left(columns_ - passed * as_.lanes(), {});
      if (rows > 1 && passed)
        for (const auto& p : pointers(v_, as_.lanes())) as_.advance(p.reg, -p.step * i64{passed});
    });
  }

  /// What is left of a row, so many columns on.
  void move_left(u32 column, const std::array<i64, kMaxOperands>& bytes) {
    if (left_ == 0) return;
    flush();
    const i64 from = i64{column} * 4;
    const int out = spec_.out_index();
    if (out == 0)
      as_.fill(call_.first_free, as_.lanes(), head_of(spec_).constant);
    else
      as_.load_bytes(call_.first_free, left_, pointer_[0], bytes[0] + from);
    as_.store_bytes(call_.first_free, left_, pointer_[out], bytes[out] + from);
  }

  std::array<i64, kMaxOperands> along(u8 dim, u64 i) const {
    std::array<i64, kMaxOperands> bytes{};
    for (int o = 0; o < spec_.operand_count; o++) bytes[o] = static_cast<i64>(i) * stride(o, dim);
    return bytes;
  }

  std::vector<Assembler::Moving> pointers(u8 dim, u32 elements) const {
    std::vector<Assembler::Moving> all;
    for (int o = 0; o < spec_.operand_count; o++)
      if (moves_along(o, dim)) all.push_back({pointer_[o], stride(o, dim) * elements});
    return all;
  }

  static constexpr u32 kMostVectors = 8;  // per trip of a loop

  Vectors& as_;
  u32 left_;
  const PlanCall& call_;
  const Spec& spec_;
  Chain chain_;
  u8 v_;
  u32 columns_, vecs_;
  std::array<Assembler::Reg64, kMaxOperands> pointer_;
  std::array<std::optional<u32>, kMaxOperands> tail_;  // registers: hold_tails()
  u32 side_by_side_;
  // Vectors that wait to be computed.
  std::array<Chain::Sources, kMostSideBySide> sources_;
  u32 waiting_ = 0;
  Lanes lanes_;
};

u32 registers(const PlanCall& call) {
  if (register_operand(call.spec) < 0) return call.spec.operand_count + 2u;
  u32 n = 0;
  for (int o = 0; o < call.spec.operand_count; o++) n += !call.operand[o].in_registers;
  return n;
}

void emit(Vectors& as, const PlanCall& call) {
  if (!moves_rows(call.spec)) return MapEmitter(as, call, 0).emit();
  PlanCall lanes = call;
  lanes.spec = move_of_lanes(call.spec);
  for (int o = 0; o < lanes.spec.operand_count; o++)
    lanes.operand[o].stride[unit_dim(call.spec.out())] = 4;
  MapEmitter(as, lanes, left_of_row(call.spec)).emit();
}

}  // namespace

extern const Emitter kMap = {MicrokernelId::kMap, registers, emit};

}  // namespace morello::x64

// SPDX-License-Identifier: MIT
// Rows of narrow elements into groups that share lanes: for each lane, the elements at its place of
// 2 or 4 rows. What a last group lacks is 0.
#include <algorithm>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

class Interleave {
 public:
  Interleave(Vectors& as, const PlanCall& call)
      : as_(as),
        in_(call.operand[source_of(call.spec)]),
        out_(call.operand[call.spec.out_index()]),
        type_(call.spec.out().dtype),
        group_(lane_group(call.spec.out())),
        grouped_(call.spec.out().layout.fastest()),
        rows_(call.spec.size[grouped_]),
        columns_(call.spec.size[lane_dim(call.spec.out())]),
        sum_(call.first_free) {}

  void emit() {
    const u32 lanes = as_.lanes(), vecs = static_cast<u32>(ceil_div(columns_, lanes));
    if (const Lanes tail = as_.part(columns_, vecs - 1); tail.masked())
      as_.set_mask(tail.count, sum_ + 2);
    from_ = as_.moving_pointer(in_.cursor);
    to_ = as_.moving_pointer(out_.cursor);
    const u32 groups = rows_ / group_;
    as_.for_chunks(groups, 1, moves(in_.stride[grouped_] * group_, out_.stride[grouped_]),
                   [&](u64 count) {
                     for (u64 i = 0; i < count; i++) row(group_, static_cast<i64>(i));
                   });
    if (rows_ % group_ != 0) row(rows_ % group_, groups >= 2 ? 0 : groups);
  }

 private:
  std::vector<Assembler::Moving> moves(i64 from, i64 to) const {
    return {{from_, from}, {to_, to}};
  }

  /// All columns of a group of so many rows, the `index`th from the pointers.
  void row(u32 rows, i64 index) {
    const u32 lanes = as_.lanes(), full = columns_ / lanes;
    const i64 from = index * in_.stride[grouped_] * group_, to = index * out_.stride[grouped_];
    const i64 step = i64{lanes} * size_of(type_), made = i64{lanes} * 4;
    constexpr u32 kUnroll = 4;
    as_.for_chunks(full, kUnroll, moves(step, made), [&](u64 count) {
      for (u64 j = 0; j < count; j++)
        vector(rows, as_.lanes_of(lanes), from + static_cast<i64>(j) * step,
               to + static_cast<i64>(j) * made, static_cast<i64>(j) * step % kLineBytes == 0);
    });
    const u32 passed = full >= 2 * kUnroll ? full / kUnroll * kUnroll : 0;
    if (columns_ % lanes != 0)
      vector(rows, as_.lanes_of(columns_ % lanes), from + i64{full - passed} * step,
             to + i64{full - passed} * made, true);
    as_.advance(from_, -i64{passed} * step);
    as_.advance(to_, -i64{passed} * made);
  }

  /// @param line  it is the first of a line: the same one of the next tile is asked for.
  void vector(u32 rows, Lanes l, i64 from, i64 to, bool line) {
    for (u32 i = 0; line && in_.ahead != 0 && i < rows; i++)
      as_.prefetch(from_, from + i * in_.stride[grouped_] + in_.ahead);
    const Assembler::Vec sum = as_.vec(sum_, l.width), next = as_.vec(sum_ + 1, l.width);
    as_.load(sum_, l, type_, type_, from_, from);
    for (u32 i = 1; i < rows; i++) {
      as_.load(sum_ + 1, l, type_, type_, from_, from + i * in_.stride[grouped_]);
      as_.vpslld(next, next, static_cast<u8>(8 * size_of(type_) * i));
      if (as_.avx512())
        as_.vpord(sum, sum, next);
      else
        as_.vpor(sum, sum, next);
    }
    as_.store(sum_, l, to_, to, sum_ + 1);
  }

  Vectors& as_;
  const PlanOperand &in_, &out_;
  Dtype type_;
  u32 group_;
  u8 grouped_;
  u32 rows_, columns_, sum_;
  Assembler::Reg64 from_, to_;
};

u32 registers(const PlanCall&) { return 4; }
void emit(Vectors& as, const PlanCall& call) { Interleave(as, call).emit(); }

}  // namespace

extern const Emitter kInterleave = {MicrokernelId::kInterleave, registers, emit};

}  // namespace morello::x64

// SPDX-License-Identifier: MIT
// A copy between two operands of different fastest dimensions: blocks in registers, several of them
// at a time, so that a cache line of the source is read once. The plan loops over them. Lanes of 4
// bytes, which may be converted, and groups that become lanes, come in blocks of 8x8, narrower
// elements that stay as they are in up to 8 rows of 16 bytes.
#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "cost/held.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

constexpr u32 kBlock = 8, kLaneBytes = 4;

u32 registers(const PlanCall&) { return 2; }

/// Rows in registers in..in+7 become columns in out..out+7; both ranges are overwritten.
void transpose_block(Vectors& as, u32 in, u32 out) {
  auto a = [&](u32 i) { return as.vec(in + i, kBlock); };
  auto b = [&](u32 i) { return as.vec(out + i, kBlock); };
  for (u32 i = 0; i < 8; i += 2) {
    as.vunpcklps(b(i), a(i), a(i + 1));
    as.vunpckhps(b(i + 1), a(i), a(i + 1));
  }
  for (u32 i = 0; i < 8; i += 4) {
    for (u32 h = 0; h < 2; h++) {
      as.vshufps(a(i + 2 * h), b(i + h), b(i + 2 + h), 0x44);
      as.vshufps(a(i + 2 * h + 1), b(i + h), b(i + 2 + h), 0xee);
    }
  }
  for (u32 i = 0; i < 4; i++) {
    auto combine = [&](const Assembler::Vec& to, const Assembler::Vec& x, const Assembler::Vec& y,
                       u8 low) {
      // vperm2f128 has no EVEX form, vshuff32x4 no VEX form.
      if (as.avx512())
        as.vshuff32x4(Xbyak::Ymm(to.getIdx()), Xbyak::Ymm(x.getIdx()), Xbyak::Ymm(y.getIdx()),
                      low ? 0x3 : 0x0);
      else
        as.vperm2f128(Xbyak::Ymm(to.getIdx()), Xbyak::Ymm(x.getIdx()), Xbyak::Ymm(y.getIdx()),
                      low ? 0x31 : 0x20);
    };
    combine(b(i), a(i), a(i + 4), 0);
    combine(b(i + 4), a(i), a(i + 4), 1);
  }
}

/// Of elements that are held in 4 bytes, or of groups of narrower ones that share a lane:
/// neighbours in the source that stay together.
void emit_lanes(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  // Rows of the source run along s, rows of the destination along d.
  const int source = source_of(spec), out_index = spec.out_index();
  const u32 group = lane_group(spec.out()), size = size_of(spec.out().dtype);
  const bool groups = group > 1;  // which are moved as they are
  const Dtype held = groups ? Dtype::kI32 : held_in(spec, head_of(spec));
  const Dtype from_type = groups ? held : spec.operand[source].dtype;
  const Dtype to_type = groups ? held : spec.out().dtype;
  const u32 from_lane = size_of(from_type), to_lane = size_of(to_type);
  u8 s = unit_dim(spec.operand[source]), d = lane_dim(spec.out());
  u32 in = call.first_free, out = in + kBlock;
  i64 from_row = call.operand[source].stride[d], to_row = call.operand[out_index].stride[s];
  const i64 ahead = call.operand[source].ahead;
  Assembler::Reg64 from = as.pointer(call.operand[source].cursor),
                   to = as.pointer(call.operand[out_index].cursor);
  const u32 lanes = spec.size[s] / group;
  for (u32 si = 0; si < lanes; si += kBlock) {
    Lanes row = as.lanes_of(std::min(kBlock, lanes - si));
    for (u32 di = 0; di < spec.size[d]; di += kBlock) {
      Lanes column = as.lanes_of(std::min(kBlock, spec.size[d] - di));
      if (row.masked()) as.set_mask(row.count, out + kBlock - 1);
      for (u32 i = 0; i < column.count; i++) {
        const i64 bytes = (di + i) * from_row + i64{si} * from_lane;
        if (ahead != 0 && si * from_lane % kLineBytes == 0) as.prefetch(from, bytes + ahead);
        as.load(in + i, row, from_type, held, from, bytes);
      }
      transpose_block(as, in, out);
      if (column.masked() && as.avx512()) as.set_mask(column.count, 0);
      for (u32 i = 0; i < row.count; i++)
        as.store(out + i, column, to_type, held, to, (si + i) * to_row + i64{di} * to_lane, in);
    }
  }
  // What the last groups lack is 0.
  const u32 rest = spec.size[s] % group * size;
  for (u32 i = 0; rest != 0 && i < spec.size[d]; i++) {
    const Xbyak::Reg32 lane = as.load_lane(rest, from, i * from_row + i64{lanes} * kLaneBytes);
    as.vmovd(Xbyak::Xmm(in), lane);
    as.vmovd(as.at(to, lanes * to_row + i64{i} * kLaneBytes), Xbyak::Xmm(in));
  }
}

/// Elements of 1 or 2 bytes.
class NarrowTranspose {
 public:
  NarrowTranspose(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        s_(unit_dim(call.spec.operand[source_of(call.spec)])),
        d_(unit_dim(call.spec.out())),
        size_(size_of(call.spec.out().dtype)),
        row_(16 / size_) {}

  void emit() {
    const Spec& spec = call_.spec;
    const PlanOperand &source = call_.operand[source_of(spec)],
                      &result = call_.operand[spec.out_index()];
    from_ = as_.pointer(source.cursor);
    to_ = as_.pointer(result.cursor);
    from_row_ = source.stride[d_];
    ahead_ = source.ahead;
    to_row_ = result.stride[s_];
    for (u32 si = 0; si < spec.size[s_]; si += row_)
      for (u32 di = 0; di < spec.size[d_]; di += kBlock) block(si, di);
  }

 private:
  void block(u32 si, u32 di) {
    const u32 columns = std::min(row_, call_.spec.size[s_] - si);
    const u32 rows = std::min(kBlock, call_.spec.size[d_] - di);
    for (u32 i = 0; i < rows; i++) {
      const i64 bytes = (di + i) * from_row_ + i64{si} * size_;
      if (ahead_ != 0 && si * size_ % kLineBytes == 0) as_.prefetch(from_, bytes + ahead_);
      as_.load_bytes(in_ + i, columns * size_, from_, bytes);
    }
    const u32 all = std::bit_ceil(rows);
    interleave(all);
    const i64 bytes = si * to_row_ + i64{di} * size_;
    const u32 column = all * size_, each = 16 / column;  // bytes of a column; in a register
    for (u32 first = 0; first < columns; first += each)
      store(in_ + first / each, std::min(each, columns - first), column, rows * size_,
            bytes + first * to_row_);
  }

  /// Rows in registers become columns, one behind the other in as many registers, from in_ on. What
  /// is in rows that are not there ends up behind those that are.
  void interleave(u32 rows) {
    u32 out = other();
    for (u32 pair = 1; pair < rows; pair *= 2) {  // rows in each sequence of registers
      for (u32 first = 0; first < rows; first += 2 * pair)
        for (u32 i = 0; i < pair; i++) {
          const u32 to = out + first + 2 * i, a = in_ + first + i, b = a + pair;
          unpack(false, to, a, b, pair * size_);
          unpack(true, to + 1, a, b, pair * size_);
        }
      std::swap(in_, out);
    }
  }

  void unpack(bool high, u32 to, u32 a, u32 b, u32 bytes) {
    const Assembler::Vec t = as_.vec(to, 4), x = as_.vec(a, 4), y = as_.vec(b, 4);
    switch (bytes) {
      case 1:
        return high ? as_.vpunpckhbw(t, x, y) : as_.vpunpcklbw(t, x, y);
      case 2:
        return high ? as_.vpunpckhwd(t, x, y) : as_.vpunpcklwd(t, x, y);
      case 4:
        return high ? as_.vpunpckhdq(t, x, y) : as_.vpunpckldq(t, x, y);
      default:
        return high ? as_.vpunpckhqdq(t, x, y) : as_.vpunpcklqdq(t, x, y);
    }
  }

  /// Columns of which the first `bytes` count; together, if nothing is between them.
  void store(u32 index, u32 columns, u32 column, u32 bytes, i64 at) {
    if (bytes == column && (columns == 1 || to_row_ == column))
      return as_.store_bytes(index, columns * column, to_, at);
    const Assembler::Vec x = as_.vec(index, 4);
    for (u32 i = 0; i < columns; i++) {
      if (i > 0) as_.vpsrldq(x, x, static_cast<u8>(column));
      as_.store_bytes(index, bytes, to_, at + i * to_row_);
    }
  }

  u32 other() const { return in_ == call_.first_free ? in_ + kBlock : call_.first_free; }

  Vectors& as_;
  const PlanCall& call_;
  u8 s_, d_;  // rows of the source run along s, rows of the destination along d
  u32 size_, row_;
  u32 in_ = call_.first_free;
  Assembler::Reg64 from_, to_;
  i64 from_row_ = 0, to_row_ = 0, ahead_ = 0;
};

void emit(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  if (size_of(held_in(spec, head_of(spec))) == 4 || lane_group(spec.out()) > 1)
    emit_lanes(as, call);
  else
    NarrowTranspose(as, call).emit();
}

}  // namespace

extern const Emitter kTranspose = {MicrokernelId::kTranspose, registers, emit};

}  // namespace morello::x64

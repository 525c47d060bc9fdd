// SPDX-License-Identifier: MIT
// out[m,v] (+)= a[m,k] * b[k,v], all in memory, groups of neighbours along k in the lanes of b:
// products of matrices in tile registers, and the sum of them over what else is reduced.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "cost/tiles.hh"

namespace morello::x64 {
namespace {

constexpr u32 kRoomAlignment = 64;

class TileProduct {
 public:
  using Reg64 = Assembler::Reg64;

  TileProduct(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        around_(around_of(call.spec)),
        roles_(*contraction_roles(call.spec, around_)),
        use_(tile_use_of(call.spec, as.target())),
        unit_(as.target().tiles),
        form_(tile_dot_of(as.target(), type(roles_.a), type(roles_.b), type(call.spec.out_index()))
                  ->form) {}

  void emit() {
    pitch_ = as_.take();
    a_ = as_.moving_pointer(call_.operand[roles_.a].cursor);
    b_ = as_.moving_pointer(call_.operand[roles_.b].cursor);
    const int o = call_.spec.out_index();
    out_ = as_.pointer(call_.operand[o].cursor);
    const bool adds = call_.spec.out().access == Access::kInOut;
    each_result([&](const Xbyak::Tmm& tile, i64 at) {
      adds ? as_.tileloadd(tile, row(out_, at, stride(o, roles_.m))) : as_.tilezero(tile);
    });
    if (use_.lacking() != 0) start_copies();
    if (call_.ask.rows != 0 && use_.steps() != 0) asks_ = as_.moving_pointer(call_.ask.cursor);
    emit_around(0, 0, 0);
    each_result([&](const Xbyak::Tmm& tile, i64 at) {
      as_.tilestored(row(out_, at, stride(o, roles_.m)), tile);
    });
  }

 private:
  static constexpr i64 kUnknown = std::numeric_limits<i64>::min();

  Dtype type(int operand) const { return call_.spec.operand[operand].dtype; }
  i64 stride(int operand, u8 dim) const {
    return dim == kNoDim ? 0 : call_.operand[operand].stride[dim];
  }
  /// Bytes from one step along k to the next: of a in panels, one of them; of b, that has groups in
  /// its lanes, so many rows.
  i64 step(int operand) const {
    if (operand == roles_.a && !call_.spec.operand[operand].layout.packed()) return unit_.row_bytes;
    if (operand == roles_.a) return stride(operand, roles_.k);
    return stride(operand, roles_.k) * (unit_.row_bytes / kElementBytes);
  }
  static Xbyak::Tmm tmm(u32 index) { return Xbyak::Tmm(static_cast<int>(index)); }

  /// The rows of a tile, from base + bytes on.
  Assembler::Address row(const Reg64& base, i64 bytes, i64 pitch) {
    if (pitch != known_pitch_) as_.mov(pitch_, static_cast<u64>(pitch));
    known_pitch_ = pitch;
    if (bytes == static_cast<i32>(bytes)) return as_.ptr[base + pitch_ + static_cast<int>(bytes)];
    as_.mov(as_.far_register(), static_cast<u64>(bytes));
    as_.add(as_.far_register(), base);
    return as_.ptr[as_.far_register() + pitch_];
  }

  /// f(register, bytes from the pointer of the results)
  template <class F>
  void each_result(F f) {
    for (u32 i = 0; i < use_.row_tiles(); i++)
      for (u32 j = 0; j < use_.column_tiles(); j++)
        f(tmm(use_.result(i, j)),
          i * unit_.rows * stride(call_.spec.out_index(), roles_.m) + j * i64{unit_.row_bytes});
  }

  /// All points of the dimensions around k, from `dim` on; the pointers have to be so many bytes
  /// from where they began.
  void emit_around(u8 dim, i64 a, i64 b) {
    while (dim < call_.spec.rank && !has_dim(around_, dim)) dim++;
    if (dim == call_.spec.rank) return emit_depth(a, b);
    for (u32 i = 0; i < call_.spec.size[dim]; i++)
      emit_around(dim + 1, a + i * stride(roles_.a, dim), b + i * stride(roles_.b, dim));
  }

  void emit_depth(i64 a, i64 b) {
    constexpr u64 kUnroll = 2;
    as_.advance(a_, a - std::exchange(a_at_, a));
    as_.advance(b_, b - std::exchange(b_at_, b));
    const u64 steps = use_.steps();
    std::vector<Assembler::Moving> pointers = {{a_, step(roles_.a)}, {b_, step(roles_.b)}};
    if (asks_) pointers.push_back({*asks_, bytes_of_step()});
    as_.for_chunks(steps, kUnroll, pointers, [&](u64 count) {
      known_pitch_ = kUnknown;
      for (u64 k = 0; k < count; k++) emit_step(static_cast<i64>(k), false);
    });
    asks_.reset();  // of the first point only
    known_pitch_ = kUnknown;
    const u64 here = steps >= 2 * kUnroll ? steps % kUnroll : steps;  // from the pointers
    if (use_.rest_bytes() != 0) emit_step(static_cast<i64>(here), true);
    a_at_ += static_cast<i64>(steps - here) * step(roles_.a);
    b_at_ += static_cast<i64>(steps - here) * step(roles_.b);
  }

  void emit_step(i64 k, bool rest) {
    const bool copies = rest && use_.lacking() != 0;
    use_.each_of_step(
        [&](u32 i) {
          const i64 pitch = stride(roles_.a, roles_.m);
          const i64 from = k * step(roles_.a) + i * unit_.rows * pitch;
          if (copies) copy_a(from, use_.rows(i));
          as_.tileloadd(tmm(use_.a(i, rest)), copies ? copied() : row(a_, from, pitch));
        },
        [&](u32 j) {
          const i64 from = k * step(roles_.b) + j * i64{unit_.row_bytes};
          const bool copies_b = copies && type(roles_.b) == Dtype::kBf16;
          if (copies_b) copy_b(from, j);
          as_.tileloadd(tmm(use_.b(j, rest)),
                        copies_b ? copied() : row(b_, from, stride(roles_.b, roles_.k)));
        },
        [&](u32 i, u32 j) {
          multiply(tmm(use_.result(i, j)), tmm(use_.a(i, rest)), tmm(use_.b(j, rest)));
          if (i == 0) fetch_ahead(k, j, rest);
          if (asks_ && !rest) ask_in_step(k, i * use_.column_tiles() + j);
        });
  }

  // -- Lines of a tile that comes later, one run: each product of a step asks for some, in turns
  // with its loads

  /// To where the next step's begin: perhaps inside of a line, which both ask for.
  i64 bytes_of_step() const { return i64{call_.ask.lines} * kLineBytes / use_.steps(); }
  void ask_in_step(i64 k, u32 product) {
    const u32 products = use_.row_tiles() * use_.column_tiles();
    const u32 lines = static_cast<u32>(ceil_div(call_.ask.lines, use_.steps()));
    for (u32 i = product * lines / products; i < (product + 1) * lines / products; i++)
      as_.prefetch(*asks_, call_.ask.bytes + k * bytes_of_step() + i64{i} * kLineBytes);
  }

  // -- What is left along k, where its last group lacks elements

  Assembler::Address copied() { return row(room_, 0, unit_.row_bytes); }

  void start_copies() {
    room_ = as_.take();
    as_.lea(room_, as_.room());
    as_.add(room_, kRoomAlignment - 1);
    as_.and_(room_, -static_cast<int>(kRoomAlignment));
    const u32 bytes = use_.rest_bytes() - use_.lacking() * size_of(type(roles_.a));
    as_.mov(as_.far_register(), ~u64{0} >> (64 - bytes));
    as_.kmovq(as_.k1, as_.far_register());
  }

  void copy_a(i64 from, u32 rows) {
    const Xbyak::Zmm line(static_cast<int>(as_.full(call_.first_free).getIdx()));
    for (u32 r = 0; r < rows; r++) {
      as_.vmovdqu8(line | as_.k1 | Xbyak::util::T_z,
                   as_.at(a_, from + r * stride(roles_.a, roles_.m)));
      as_.vmovups(as_.ptr[room_ + static_cast<int>(r * unit_.row_bytes)], line);
    }
  }

  /// The second one of the last pair may be anything, NaN included.
  void copy_b(i64 from, u32 j) {
    const u32 rows = use_.rest_bytes() / kElementBytes, lanes = unit_.row_bytes / kElementBytes;
    const u32 left = std::min(lanes, roles_.columns - j * lanes);
    const Xbyak::Zmm line(static_cast<int>(as_.full(call_.first_free).getIdx()));
    as_.mov(as_.far_register().cvt32(), (1u << left) - 1);
    as_.kmovw(as_.k2, as_.far_register().cvt32());
    for (u32 r = 0; r < rows; r++) {
      as_.vmovups(line | as_.k2 | Xbyak::util::T_z,
                  as_.at(b_, from + r * stride(roles_.b, roles_.k)));
      if (r + 1 == rows) {
        as_.vpslld(line, line, 16);
        as_.vpsrld(line, line, 16);
      }
      as_.vmovups(as_.ptr[room_ + static_cast<int>(r * unit_.row_bytes)], line);
    }
  }

  /// How far ahead lines are asked for: the next tile; or, where this one goes on in it, a few
  /// steps. What L2 has to hold until another panel is done, it loses where panels are large
  /// (8x8192x4096 in bf16: 1.3 times as fast).
  i64 ahead() const {
    constexpr i64 kNear = 8192;
    const i64 next = call_.operand[roles_.b].ahead, one = step(roles_.b);
    const bool goes_on = next == use_.steps() * one && use_.rest_bytes() == 0;
    return goes_on && next > kNear && one <= kNear ? kNear / one * one : next;
  }

  /// The lines of a tile of b.
  void fetch_ahead(i64 k, u32 j, bool rest) {
    const i64 ahead = this->ahead(), pitch = stride(roles_.b, roles_.k);
    if (ahead == 0) return;
    const u32 rows = (rest ? use_.rest_bytes() : unit_.row_bytes) / kElementBytes;
    const i64 from = k * step(roles_.b) + j * i64{unit_.row_bytes} + ahead;
    for (u32 row = 0; row < rows; row++) as_.prefetch(b_, from + row * pitch);
  }

  void multiply(const Xbyak::Tmm& out, const Xbyak::Tmm& a, const Xbyak::Tmm& b) {
    switch (form_) {
      case TileForm::kBf16:
        return as_.tdpbf16ps(out, a, b);
      case TileForm::kI8I8:
        return as_.tdpbssd(out, a, b);
      case TileForm::kI8U8:
        return as_.tdpbsud(out, a, b);
      case TileForm::kU8I8:
        return as_.tdpbusd(out, a, b);
      case TileForm::kU8U8:
        return as_.tdpbuud(out, a, b);
    }
  }

  Vectors& as_;
  const PlanCall& call_;
  DimMask around_;
  ContractionRoles roles_;
  TileUse use_;
  const TileUnit& unit_;
  TileForm form_;
  Reg64 a_, b_, out_, pitch_, room_;
  std::optional<Reg64> asks_;
  i64 known_pitch_ = kUnknown;  // what pitch_ holds
  i64 a_at_ = 0, b_at_ = 0;     // bytes from where the pointers began
};

u32 registers(const PlanCall& call) { return call.ask.rows != 0 ? 7 : 6; }
u32 room(const PlanCall& call, const Target& target) {
  if (tile_use_of(call.spec, target).lacking() == 0) return 0;
  return target.tiles.rows * target.tiles.row_bytes + kRoomAlignment;
}
void emit(Vectors& as, const PlanCall& call) { TileProduct(as, call).emit(); }

}  // namespace

void emit_tile_sizes(Vectors& as, const TileSizes& sizes) {
  std::array<u8, 64> bytes{};
  bytes[0] = 1;  // the palette: 8 registers of 16 rows
  for (u32 t = 0; t < kMostTiles; t++) {
    bytes[16 + 2 * t] = sizes.row_bytes[t];
    bytes[48 + t] = sizes.rows[t];
  }
  std::vector<u32> words(bytes.size() / 4);
  for (size_t i = 0; i < bytes.size(); i++) words[i / 4] |= u32{bytes[i]} << 8 * (i % 4);
  as.ldtilecfg(as.table_constant(words));
}

extern const Emitter kTileProduct = {MicrokernelId::kTileProduct, registers, emit, room};

}  // namespace morello::x64

// SPDX-License-Identifier: MIT
// A copy between two operands of different fastest dimensions: blocks of 8x8 in registers, two of
// them at a time, so that a cache line of the source is read once. The plan loops over them.
#include <algorithm>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/vectors.hh"
#include "spec/roles.hh"

namespace morello::x64 {
namespace {

constexpr u32 kBlock = 8;

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

void emit(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  // Rows of the source run along s, rows of the destination along d.
  const int source = source_of(spec), out_index = spec.out_index();
  u8 s = unit_dim(spec.operand[source]), d = unit_dim(spec.out());
  u32 in = call.first_free, out = in + kBlock;
  i64 from_row = call.operand[source].stride[d], to_row = call.operand[out_index].stride[s];
  Assembler::Reg64 from = as.pointer(call.operand[source].cursor),
                   to = as.pointer(call.operand[out_index].cursor);
  for (u32 si = 0; si < spec.size[s]; si += kBlock) {
    Lanes row = as.lanes_of(std::min(kBlock, spec.size[s] - si));
    for (u32 di = 0; di < spec.size[d]; di += kBlock) {
      Lanes column = as.lanes_of(std::min(kBlock, spec.size[d] - di));
      if (row.masked()) as.set_mask(row.count, out + kBlock - 1);
      for (u32 i = 0; i < column.count; i++)
        as.load(in + i, row, as.at(from, (di + i) * from_row + i64{si} * sizeof(float)));
      transpose_block(as, in, out);
      if (column.masked() && as.avx512()) as.set_mask(column.count, 0);
      for (u32 i = 0; i < row.count; i++)
        as.store(out + i, column, to, (si + i) * to_row + i64{di} * sizeof(float), in);
    }
  }
}

}  // namespace

extern const Emitter kTranspose = {MicrokernelId::kTranspose, registers, emit};

}  // namespace morello::x64

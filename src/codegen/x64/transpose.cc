// SPDX-License-Identifier: MIT
// A copy between two operands of different fastest dimensions: blocks of 8x8 in registers. The plan
// loops over the blocks.
#include "codegen/x64/assembler.hh"
#include "codegen/x64/family.hh"

namespace morello::x64 {
namespace {

constexpr u32 kBlock = 8;

Blocks blocks(const Spec&) { return {kBlock, kBlock}; }
u32 registers(const PlanCall&) { return 2; }

/// Rows in registers in..in+7 become columns in out..out+7; both ranges are overwritten.
void transpose_block(Assembler& as, u32 in, u32 out) {
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

void emit(Assembler& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  // Rows of the source run along s, rows of the destination along d.
  u8 s = unit_dim(spec.operand[0]), d = unit_dim(spec.operand[1]);
  u32 in = call.first_free, out = in + kBlock;
  Assembler::Reg64 from = as.pointer(call.operand[0].cursor),
                   to = as.pointer(call.operand[1].cursor);
  Lanes row = as.lanes_of(spec.size[s]), column = as.lanes_of(spec.size[d]);
  if (row.masked()) as.set_mask(row.count, out + kBlock - 1);
  for (u32 i = 0; i < spec.size[d]; i++)
    as.load(in + i, row, as.at(from, i * call.operand[0].stride[d]));
  transpose_block(as, in, out);
  if (column.masked() && as.avx512()) as.set_mask(column.count, 0);
  for (u32 i = 0; i < spec.size[s]; i++)
    as.store(out + i, column, to, i * call.operand[1].stride[s], in);
}

}  // namespace

extern const Family kTranspose = {MicrokernelId::kTranspose, blocks, registers, emit};

}  // namespace morello::x64

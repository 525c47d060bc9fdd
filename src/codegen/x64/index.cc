// SPDX-License-Identifier: MIT
#include "codegen/x64/index.hh"

namespace morello::x64 {

namespace {

void load(Assembler& as, const Assembler::Reg64& to, const Assembler::Reg64& from, Dtype dtype) {
  switch (dtype) {
    case Dtype::kU8:
      return as.movzx(to.cvt32(), as.byte[from]);
    case Dtype::kI8:
      return as.movsx(to, as.byte[from]);
    case Dtype::kI32:
      return as.movsxd(to, as.dword[from]);
    case Dtype::kF32:
    case Dtype::kBf16:
    case Dtype::kF16:
      break;
  }
  throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // no integer
}

}  // namespace

// Without jumps, as no index can be foreseen.
void emit_index(Assembler& as, const PlanIndex& index, const Home& home) {
  const Assembler::Reg64 at = as.take(), limit = as.take();
  load(as, at, as.pointer(index.index), index.dtype);
  as.xor_(limit.cvt32(), limit.cvt32());
  as.test(at, at);
  as.cmovs(at, limit);
  as.mov(limit, u64{index.places} - 1);
  as.cmp(at, limit);
  as.cmovg(at, limit);
  as.mov(limit, static_cast<u64>(index.bytes));
  as.imul(at, limit);
  if (home.gpr >= 0)
    as.add(Assembler::Reg64(home.gpr), at);
  else
    as.add(as.slot(home.slot), at);
  as.release_all();
}

}  // namespace morello::x64

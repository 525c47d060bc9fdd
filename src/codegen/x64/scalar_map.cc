// SPDX-License-Identifier: MIT
// Elementwise chains, one element at a time: any strides. The plan loops over all dimensions but
// one.
#include "codegen/x64/chain.hh"
#include "codegen/x64/family.hh"

namespace morello::x64 {
namespace {

/// The dimension of the emitted loop.
u8 loop_dim(const Spec& spec) {
  const Layout& layout = spec.out().layout;
  int rank = layout.rank();
  return rank == 0 ? kNoDim : layout.order[rank - 1];
}

Blocks blocks(const Spec& spec) {
  Blocks b{};
  for (int d = 0; d < spec.rank; d++) b[d] = d == loop_dim(spec) ? 0 : 1;
  return b;
}

u32 registers(const PlanCall& call) { return call.spec.operand_count + 1u; }

void emit(Assembler& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  u8 dim = loop_dim(spec);
  Chain chain(as, call);
  chain.prepare(1, Lanes{});
  Chain::Sources sources;
  std::vector<Assembler::Moving> pointers;
  for (int o = 0; o < spec.operand_count; o++) {
    sources[o].base = as.moving_pointer(call.operand[o].cursor);
    i64 step = dim == kNoDim ? 0 : call.operand[o].stride[dim];
    pointers.push_back({sources[o].base, step});
  }
  as.for_chunks(dim == kNoDim ? 1 : spec.size[dim], 4, pointers, [&](u64 count) {
    for (u64 i = 0; i < count; i++) {
      for (int o = 0; o < spec.operand_count; o++)
        sources[o].bytes = pointers[o].step * static_cast<i64>(i);
      chain.compute(Lanes{}, sources);
    }
  });
}

}  // namespace

extern const Family kScalarMap = {MicrokernelId::kScalarMap, blocks, registers, emit};

}  // namespace morello::x64

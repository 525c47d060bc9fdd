// SPDX-License-Identifier: MIT
// Elementwise chains, one element at a time: any strides. The plan loops over all dimensions but
// one. Also copies between a register tile and memory in which its vectors are no vectors.
#include "codegen/x64/chain.hh"
#include "codegen/x64/emitter.hh"
#include "cost/held.hh"

namespace morello::x64 {
namespace {

/// The dimension of the emitted loop.
u8 loop_dim(const Spec& spec) {
  const Layout& layout = spec.out().layout;
  return layout.count() == 0 ? kNoDim : layout.fastest();
}

void emit_loop(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  u8 dim = loop_dim(spec);
  Chain chain(as, call, true);
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

/// Copies a register tile to memory, or from there, element by element.
class TileCopy {
 public:
  TileCopy(Vectors& as, const PlanCall& call)
      : as_(as),
        tile_(register_operand(call.spec)),
        spec_(call.spec),
        memory_(call.operand[1 - tile_]),
        first_(call.operand[tile_].first_register),
        tile_dtype_(spec_.operand[tile_].dtype),
        memory_dtype_(spec_.operand[1 - tile_].dtype),
        held_(held_in(spec_, head_of(spec_))),
        quarter_(call.first_free),
        base_(as.pointer(memory_.cursor)) {}

  void emit() { rows(0, 0, 0); }

 private:
  /// The tile's dimensions from slow to fast: registers are numbered in that order.
  void rows(int depth, i64 bytes, u32 row) {
    const Operand& tile = spec_.operand[tile_];
    u8 v = unit_dim(tile), dim = depth < tile.layout.count() ? tile.layout.dim[depth] : kNoDim;
    u32 lanes = as_.lanes(), size = dim == kNoDim ? 1 : spec_.size[dim];
    if (dim != kNoDim && dim != v) {
      for (u32 i = 0; i < size; i++)
        rows(depth + 1, bytes + i * memory_.stride[dim], row * size + i);
      return;
    }
    i64 step = dim == kNoDim ? 0 : memory_.stride[dim];
    u32 vecs = static_cast<u32>(ceil_div(size, lanes));
    for (u32 j = 0; j < size; j += 4) {
      u32 index = first_ + row * vecs + j / lanes;
      u32 count = std::min(4u, size - j);
      tile_ != spec_.out_index() ? scatter(index, j % lanes / 4, count, bytes + j * step, step)
                                 : gather(index, j % lanes / 4, count, bytes + j * step, step);
    }
  }

  void scatter(u32 index, u32 quarter, u32 count, i64 bytes, i64 step) {
    u32 from = index;
    if (quarter != 0) {
      from = quarter_;
      if (as_.avx512())
        as_.vextractf32x4(as_.vec(from, 4), wide(index), static_cast<u8>(quarter));
      else
        as_.vextractf128(as_.vec(from, 4), Xbyak::Ymm(static_cast<int>(index)), 1);
    }
    if (tile_dtype_ != held_) {
      as_.convert(quarter_, from, 4, tile_dtype_, held_);
      from = quarter_;
    }
    const Assembler::Vec packed =
        as_.vec(as_.narrow(from, 4, memory_dtype_, held_, quarter_ + 1), 4);
    for (u8 i = 0; i < count; i++) store_element(packed, i, as_.at(base_, bytes + i * step));
  }

  void store_element(const Assembler::Vec& x, u8 i, const Assembler::Address& to) {
    switch (size_of(memory_dtype_)) {
      case 1:
        return as_.vpextrb(to, x, i);
      case 2:
        return as_.vpextrw(to, x, i);
      default:
        i == 0 ? as_.vmovss(to, x) : as_.vextractps(to, x, i);
    }
  }

  void gather(u32 index, u32 quarter, u32 count, i64 bytes, i64 step) {
    u32 to = quarter == 0 ? index : quarter_;
    Assembler::Vec x = as_.vec(to, 4);
    if (size_of(memory_dtype_) < 4) as_.zero(to);
    for (u8 i = 0; i < count; i++) load_element(x, i, as_.at(base_, bytes + i * step));
    if (memory_dtype_ != held_) as_.widen(x, x, memory_dtype_, held_);
    if (quarter == 0) return;
    if (as_.avx512())
      as_.vinsertf32x4(wide(index), wide(index), x, static_cast<u8>(quarter));
    else
      as_.vinsertf128(Xbyak::Ymm(static_cast<int>(index)), Xbyak::Ymm(static_cast<int>(index)), x,
                      1);
  }

  void load_element(const Assembler::Vec& x, u8 i, const Assembler::Address& from) {
    switch (size_of(memory_dtype_)) {
      case 1:
        return as_.vpinsrb(x, x, from, i);
      case 2:
        return as_.vpinsrw(x, x, from, i);
      default:
        i == 0 ? as_.vmovss(x, from) : as_.vinsertps(x, x, from, static_cast<u8>(i << 4));
    }
  }

  Xbyak::Zmm wide(u32 index) { return Xbyak::Zmm(as_.full(index).getIdx()); }

  Vectors& as_;
  int tile_;
  const Spec& spec_;
  const PlanOperand& memory_;
  u32 first_;
  Dtype tile_dtype_, memory_dtype_, held_;
  u32 quarter_;
  Assembler::Reg64 base_;
};

u32 registers(const PlanCall& call) { return call.spec.operand_count + 1u; }

void emit(Vectors& as, const PlanCall& call) {
  if (register_operand(call.spec) >= 0)
    TileCopy(as, call).emit();
  else
    emit_loop(as, call);
}

}  // namespace

extern const Emitter kScalarMap = {MicrokernelId::kScalarMap, registers, emit};

}  // namespace morello::x64

// SPDX-License-Identifier: MIT
// out[m,v] = out op in[m,r,v], out in registers: a reduction over whole vectors.
#include <algorithm>
#include <bit>

#include "codegen/x64/emitter.hh"
#include "codegen/x64/recipe.hh"
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

void emit(Vectors& as, const PlanCall& call) {
  const Spec& spec = call.spec;
  u8 v = unit_dim(spec.out());
  int r = std::countr_zero(spec.reduced());
  const Op op = head_of(spec).op;
  const Dtype held = head_of(spec).dtype, from = spec.operand[source_of(spec)].dtype;
  u32 columns = spec.size[v], vecs = static_cast<u32>(ceil_div(columns, as.lanes()));
  u32 loaded = call.first_free, mask = loaded + 1;
  std::vector<i64> rows = row_offsets(call, v);
  if (Lanes tail = as.part(columns, vecs - 1); tail.masked()) as.set_mask(tail.count, mask);

  i64 step = input_of(call).stride[r];
  Assembler::Reg64 in = as.moving_pointer(input_of(call).cursor);
  u64 unroll = std::max<u64>(1, 16 / (rows.size() * vecs));
  as.for_chunks(spec.size[r], unroll, {{in, step}}, [&](u64 count) {
    for (u64 i = 0; i < count; i++) {
      for (u32 x = 0; x < rows.size() * vecs; x++) {
        u32 j = x % vecs;
        Lanes l = as.part(columns, j);
        const i64 bytes =
            static_cast<i64>(i) * step + rows[x / vecs] + i64{j * as.lanes()} * size_of(from);
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

}  // namespace

extern const Emitter kReduceRows = {MicrokernelId::kReduceRows, registers, emit};

}  // namespace morello::x64

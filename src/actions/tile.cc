// SPDX-License-Identifier: MIT
// Loops: a dimension cut into equal tiles and a remainder, one after the other or on several
// threads.
#include <bit>

#include "actions/ladder.hh"
#include "actions/placement.hh"

namespace morello {
namespace {

bool may_loop(const Spec& spec, int dim) {
  if (has_register_operand(spec)) {
    // Register tiles have no index. A reduction over several dimensions runs all but one by loops
    // of 1.
    return has_dim(spec.reduced(), dim) && spec.accumulates() && std::popcount(spec.reduced()) > 1;
  }
  return !has_dim(spec.reduced(), dim) || (spec.accumulates() && spec.stage_count == 1);
}

/// A dimension that every operand of the contraction has, and no register tile: loops over it reuse
/// nothing of theirs, so all but tiles of 1 only add loops.
bool is_batch(const Spec& spec, int dim) {
  if (spec.stage[0].op != Op::kMulAdd || dim == unit_dim(spec.out())) return false;
  return has_dim(spec.operand[spec.stage[0].in0].dims, dim) &&
         has_dim(spec.operand[spec.stage[0].in1].dims, dim) && has_dim(spec.out().dims, dim);
}

/// Sizes that serve some microkernel or cache: without a contraction these are blocks of
/// transposes, panels, and slices.
bool is_useful(const Spec& spec, int dim, u32 size, ActionKind kind, const ActionContext& context) {
  if (size == 1 || kind == ActionKind::kParallelTile) return true;
  if (is_batch(spec, dim) && context.reduces(Reduction::kBatch)) return false;
  if (combines(spec) || !context.reduces(Reduction::kCopyTiles) || size % 8 == 0) return true;
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].layout.pack_dim == dim && spec.operand[o].layout.pack == size) return true;
  return false;
}

void list_tiles(const Spec& spec, ActionKind kind, const ActionContext& context, ActionList& out) {
  if (has_free_operand(spec)) return;
  bool one_only = has_register_operand(spec);
  for (u8 d = 0; d < spec.rank; d++) {
    if (!may_loop(spec, d)) continue;
    if (kind == ActionKind::kParallelTile && has_dim(spec.reduced(), d)) continue;
    for (u32 size : kLadder) {
      if (size >= spec.size[d] || (one_only && size > 1)) break;
      if (is_useful(spec, d, size, kind, context) && may_tile(spec, d, size))
        out.add({kind, d, {}, {}, size});
    }
  }
}

void derive_trips(const Spec& spec, const Limits& limits, const Action& a, Derivation& d) {
  u32 size = spec.size[a.arg], rest = size % a.size;
  Child& body = d.child[d.count++];
  body.spec = tile(spec, a.arg, a.size, &body.binding);
  body.limits = limits;
  body.times = size / a.size;
  if (!rest) return;
  Child& tail = d.child[d.count++];
  tail.spec = tile(spec, a.arg, rest, &tail.binding);
  tail.limits = limits;
  tail.times = 1;
}

void list_serial(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  list_tiles(spec, ActionKind::kTile, context, out);
}

bool derive_serial(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                   Derivation& d) {
  derive_trips(spec, limits, a, d);
  d.own = saturating_mul(d.child[0].times, kLoopUnits);
  return true;
}

void list_parallel(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  if (!spec.serial && context.target->processors > 1)
    list_tiles(spec, ActionKind::kParallelTile, context, out);
}

bool derive_parallel(const Spec& spec, const Limits& limits, const Action& a,
                     const ActionContext& c, Derivation& d) {
  derive_trips(spec, limits, a, d);
  for (int i = 0; i < d.count; i++) d.child[i].spec.serial = true;
  d.child[0].times = ceil_div(d.child[0].times, c.target->processors);
  d.own = saturating_add(c.target->parallel_units, saturating_mul(d.child[0].times, kLoopUnits));
  return true;
}

decltype(ImplNode::kind) loop_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Loop{a.arg, a.size, spec.size[a.arg] / a.size, a.kind == ActionKind::kParallelTile};
}

}  // namespace

extern const ActionFamily kTileFamily = {ActionKind::kTile, list_serial, derive_serial, loop_node};
extern const ActionFamily kParallelTileFamily = {ActionKind::kParallelTile, list_parallel,
                                                 derive_parallel, loop_node};

}  // namespace morello

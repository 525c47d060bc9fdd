// SPDX-License-Identifier: MIT
// Rewrites into a sequence: fill then accumulate, and one value of a Spec before the rest of it.
#include "actions/part.hh"
#include "actions/placement.hh"
#include "support/number.hh"

namespace morello {
namespace {

// ---- accumulate

/// The only output is a sum, or an extreme, that nobody reads: of parts of the Spec, in turns.
bool gathers(const Spec& spec) {
  const Stage& last = spec.stage[spec.stage_count - 1];
  if (spec.out().access != Access::kOut || spec.out().dtype != last.dtype) return false;
  if (is_chain(spec)) return is_single(spec) && combines(spec);
  for (int s = 0; s + 1 < spec.stage_count; s++)
    if (spec.stage[s].out != kNoRef) return false;
  return is_reduction(last) && (last.reduce & inner_dims(spec)) != 0;
}

void list_accumulate(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (has_free_operand(spec) || !gathers(spec)) return;
  bool loop = spec.out().level == Level::kRegister || spec.reduced() != 0;
  if (loop) out.add({ActionKind::kAccumulate, 0, {}, {}, 0});
}

bool derive_accumulate(const Spec& spec, const Limits& limits, const Action&, const ActionContext&,
                       Derivation& d) {
  const Stage& sum = spec.stage[spec.stage_count - 1];
  d.child[0] = fill_part(spec, sum, neutral_bits(sum), limits);
  d.child[1] = {spec, limits, 1, identity_binding()};
  Spec& body = d.child[1].spec;
  body.out().access = Access::kInOut;
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) accumulate_node(const Spec&, const Action&, const ActionContext&) {
  return Block{};
}

// ---- bufferize

/// Lines of a dense buffer for the value of a stage.
u64 value_lines(const Spec& spec, int stage) {
  u64 bytes = size_of(spec.stage[stage].dtype);
  const DimMask dims = dims_of(spec, value_of(stage));
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(dims, d)) bytes *= spec.size[d];
  return ceil_div(bytes, kLineBytes);
}

/// Does the output that the stage writes hold its value, as later stages read it?
bool holds_value(const Spec& spec, int stage) {
  const Operand& out = spec.operand[spec.stage[stage].out];
  return out.access == Access::kOut && out.dtype == spec.stage[stage].dtype &&
         out.dims == dims_of(spec, value_of(stage));
}

/// Buffers where they fit, and no farther than there is a reason for; outputs one by one.
void list_cuts(const Spec& spec, const ActionContext& context, ActionList& out) {
  const u64 l1 = lines_of_code(limits_of(*context.target).at(Level::kL1));
  const u64 l2 = lines_of_code(limits_of(*context.target).at(Level::kL2));
  for (u8 s = 0; s < spec.stage_count; s++) {
    if (spec.stage[s].out != kNoRef) {
      if (fits_after(spec, s, holds_value(spec, s)))
        out.add({ActionKind::kBufferize, s, Level::kRegister, {}, 0});
      continue;
    }
    if (!fits_after(spec, s, true)) continue;
    const u64 lines = value_lines(spec, s);
    if (lines <= l1) out.add({ActionKind::kBufferize, s, Level::kL1, {}, 0});
    if (lines <= l2 && lines > l1 / 16) out.add({ActionKind::kBufferize, s, Level::kL2, {}, 0});
    if (lines > l2 / 4) out.add({ActionKind::kBufferize, s, Level::kMemory, {}, 0});
  }
}

void list_bufferize(const Spec& spec, const Limits&, const ActionContext& context,
                    ActionList& out) {
  if (is_single(spec) || has_free_operand(spec)) return;
  if (!is_chain(spec)) return list_cuts(spec, context, out);
  if (!combines(spec)) return;
  // In the output, the value of the head would overwrite what a later stage reads, or be rounded.
  if (!reads_output_late(spec) && spec.out().dtype == computed_dtype(spec))
    out.add({ActionKind::kBufferize, 0, Level::kRegister, {}, 0});
  if (register_operand(spec) >= 0) return;
  for (Level level : {Level::kL1, Level::kL2})
    if (level < spec.out().level) out.add({ActionKind::kBufferize, 0, level, {}, 0});
}

/// For the value of stage `arg`: in the order of the dimensions' numbers, which is that of the
/// output where the output has them.
Operand buffer_of(const Spec& spec, const Action& a) {
  const DimMask dims = dims_of(spec, value_of(a.arg));
  Layout layout;
  if (is_chain(spec))
    layout = plain_layout(spec.out().layout);
  else
    for (u8 d = 0; d < spec.rank; d++)
      if (has_dim(dims, d)) layout.append(d);
  return dense_operand(spec, spec.stage[a.arg].dtype, a.level, Access::kOut,
                       is_chain(spec) ? spec.out().dims : dims, layout);
}

bool derive_bufferize(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                      Derivation& d) {
  const bool in_place = a.level == Level::kRegister;
  const Ref out = spec.stage[a.arg].out;
  KeptValue kept{a.arg, spec.out(), static_cast<u8>(spec.out_index())};
  if (in_place && !is_chain(spec)) kept = {a.arg, spec.operand[out], out, holds_value(spec, a.arg)};
  Limits rest = limits;
  if (!in_place) {
    kept.operand = buffer_of(spec, a);
    kept.place = new_buffer(0);
    d.level = a.level;
    d.amount = footprint(spec, kept.operand).lines;
    if (!subtract(rest, d.level, d.amount)) return false;
  }
  d.child[0] = part_before(spec, kept, rest);
  d.child[1] = part_after(spec, kept, rest);
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) bufferize_node(const Spec& spec, const Action& a, const ActionContext&) {
  if (a.level == Level::kRegister) return Block{};
  return Block{1, {buffer_of(spec, a)}};
}

}  // namespace

extern const Rewrite kAccumulateRewrite = {ActionKind::kAccumulate, list_accumulate,
                                           derive_accumulate, accumulate_node};
extern const Rewrite kBufferizeRewrite = {ActionKind::kBufferize, list_bufferize, derive_bufferize,
                                          bufferize_node};

}  // namespace morello

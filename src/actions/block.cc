// SPDX-License-Identifier: MIT
// Rewrites into a sequence: fill then accumulate, and one value of a Spec before the rest of it.
#include <optional>

#include "actions/narrow.hh"
#include "actions/part.hh"
#include "actions/placement.hh"
#include "spec/border.hh"
#include "spec/gather.hh"
#include "support/number.hh"

namespace morello {
namespace {

// ---- accumulate

/// The only output is a sum, or an extreme, that nobody reads: of parts of the Spec, in turns.
bool ends_in_sum(const Spec& spec) {
  const Stage& last = spec.stage[spec.stage_count - 1];
  if (spec.out().access != Access::kOut || spec.out().dtype != last.dtype) return false;
  if (is_chain(spec)) return is_single(spec) && combines(spec);
  for (int s = 0; s + 1 < spec.stage_count; s++)
    if (spec.stage[s].out != kNoRef) return false;
  return is_reduction(last) && (last.reduce & inner_dims(spec)) != 0;
}

void list_accumulate(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (has_free_operand(spec) || !ends_in_sum(spec)) return;
  bool loop = spec.out().level == Level::kRegister || spec.reduced() != 0;
  if (loop) out.add({ActionKind::kAccumulate, 0, {}, {}, 0});
}

bool derive_accumulate(const Spec& spec, const Limits& limits, const Action&, const ActionContext&,
                       Derivation& d) {
  const Stage& sum = spec.stage[spec.stage_count - 1];
  fill_part(spec, sum, neutral_bits(sum), limits, d.child[0]);
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
  const u32 elements = kLineBytes / size_of(spec.stage[stage].dtype);
  return ceil_div(points_of(spec, dims_of(spec, value_of(stage))), elements);
}

/// Does the output that the stage writes hold its value, as later stages read it?
bool holds_value(const Spec& spec, int stage) {
  const Operand& out = spec.operand[spec.stage[stage].out];
  return out.access == Access::kOut && out.dtype == spec.stage[stage].dtype &&
         out.dims == dims_of(spec, value_of(stage));
}

/// Before the rows of a diagonal are divided: of values that all rows share.
bool is_shared_by_rows(const Spec& spec, int stage) {
  return spec.diagonal.row != kNoDim && !has_dim(dims_of(spec, value_of(stage)), spec.diagonal.row);
}

/// Buffers, outputs one by one, and values in outputs that what is made of them overwrites. What
/// gathers is cut off from diagonals and borders, whose actions do not know it.
template <class Add>
void each_cut(const Spec& spec, u8 s, const ActionContext& context, Add add) {
  if (spec.diagonal.used() && !gathers(spec) && !is_shared_by_rows(spec, s)) return;
  if (spec.stage[s].out != kNoRef) {
    if (fits_cut(spec, 1u << s, holds_value(spec, s)))
      add({ActionKind::kBufferize, s, Level::kRegister, {}, 0});
    return;
  }
  if (!fits_cut(spec, 1u << s, true)) return;
  if (output_for_value(spec, s) >= 0) add({ActionKind::kBufferize, s, Level::kRegister, {}, 0});
  each_level(value_lines(spec, s), context, [&](Level level) {
    add({ActionKind::kBufferize, s, level, {}, 0});
  });
}

/// For the value of a stage: in the order of the dimensions' numbers, which is that of the
/// output where the output has them.
Operand buffer_of(const Spec& spec, int stage, Level level) {
  const DimMask dims = dims_of(spec, value_of(stage));
  const bool like_output = is_chain(spec) && combines(spec);
  Layout layout;
  if (like_output)
    layout = plain_layout(spec.out().layout);
  else
    for (u8 d = 0; d < spec.rank; d++)
      if (has_dim(dims, d)) layout.append(d);
  return dense_operand(spec, spec.stage[stage].dtype, level, Access::kOut,
                       like_output ? spec.out().dims : dims, layout);
}

/// Are sums made in a register tile of their own, for the output is read after them? The steps go
/// from there to the output in one pass.
bool has_own_tile(const Spec& spec, Level level) {
  return level == Level::kRegister && is_chain(spec) && reads_output_late(spec);
}

bool fits_registers(const Spec& spec, const Limits& limits, const ActionContext& context) {
  const Operand& x = spec.out();
  if (unit_dim(x) == kNoDim || x.layout.count() > 2 || x.layout.packed()) return false;
  const Operand tile = buffer_of(spec, 0, Level::kRegister);
  const u64 count = vectors(spec, tile, computed_lanes(spec, *context.target));
  return count + 2 <= limits.at(Level::kRegister);
}

/// Before borders are there: of sums whose terms are divided, and steps on them.
bool divides_terms_of_head(const Spec& spec, const Limits& limits, const ActionContext& context) {
  if (!is_chain(spec) || !contraction_of(spec)) return false;
  const KeptValue sums{0, buffer_of(spec, 0, Level::kMemory), new_buffer(0)};
  Child head;
  part_before(spec, std::span(&sums, 1), limits, head);
  return divides_terms(head.spec, context);
}

/// Before borders are there: of a graph, a value that has none of their places, and that nothing
/// which has borders is in. Loops over places, which would compute it again, wait for it.
bool is_beside_borders(const Spec& spec, int stage) {
  if (is_chain(spec) || (dims_of(spec, value_of(stage)) & window_dims(spec)) != 0) return false;
  u32 read = 1u << stage;
  for (int s = stage; s >= 0; s--)
    for (Ref in : spec.stage[s].in) {
      if ((read >> s & 1) == 0) continue;
      if (in == bordered_operand(spec)) return false;
      if (is_value(in)) read |= 1u << stage_of(in);
    }
  return true;
}

/// Of a graph, those of one stage, or of all.
template <class Add>
void each_bufferize(const Spec& spec, const Limits& limits, const ActionContext& context,
                    std::optional<u8> one, Add add) {
  if (is_single(spec) || has_free_operand(spec)) return;
  const bool bordered = bordered_operand(spec) >= 0;
  if (!is_chain(spec) || spec.diagonal.used()) {
    const int last = one ? std::min<int>(*one + 1, spec.stage_count) : spec.stage_count;
    for (int s = one.value_or(0); s < last; s++)
      if (!bordered || gathers(spec) || is_beside_borders(spec, s))
        each_cut(spec, static_cast<u8>(s), context, add);
    return;
  }
  if (bordered && !divides_terms_of_head(spec, limits, context)) return;
  if (!combines(spec)) {
    const int s = broadcast_stage(spec);
    if (s >= 0 && register_operand(spec) < 0 && fits_cut(spec, 1u << s, true))
      add({ActionKind::kBufferize, static_cast<u8>(s), Level::kL1, {}, 0});
    return;
  }
  // In the output, the value of the head would overwrite what a later stage reads, or be rounded.
  const bool late = reads_output_late(spec);
  const bool in_place = !late && spec.out().dtype == computed_dtype(spec);
  if (in_place || (late && !bordered && fits_registers(spec, limits, context)))
    add({ActionKind::kBufferize, 0, Level::kRegister, {}, 0});
  if (register_operand(spec) >= 0 || (in_place && needs_no_buffer(spec, context))) return;
  for (Level level : {Level::kL1, Level::kL2})
    if (late ? level <= spec.out().level : level < spec.out().level)
      add({ActionKind::kBufferize, 0, level, {}, 0});
}

void list_bufferize(const Spec& spec, const Limits& limits, const ActionContext& context,
                    ActionList& out) {
  each_bufferize(spec, limits, context, std::nullopt, [&](const Action& a) { out.add(a); });
}

/// Without listing those of all stages: of a graph's table, these are what takes longest to check.
bool lists_bufferize(const Spec& spec, const Limits& limits, const Action& a,
                     const ActionContext& context) {
  bool found = false;
  each_bufferize(spec, limits, context, a.arg, [&](const Action& one) { found |= one == a; });
  return found;
}

bool derive_bufferize(const Spec& spec, const Limits& limits, const Action& a,
                      const ActionContext& context, Derivation& d) {
  const bool own_tile = has_own_tile(spec, a.level);
  const bool in_place = a.level == Level::kRegister && !own_tile;
  KeptValue kept{a.arg, spec.out(), static_cast<u8>(spec.out_index())};
  if (in_place && !is_chain(spec)) {
    const bool writes = spec.stage[a.arg].out != kNoRef;
    const Ref out =
        writes ? spec.stage[a.arg].out : static_cast<Ref>(output_for_value(spec, a.arg));
    kept = {a.arg, spec.operand[out], out, !writes || holds_value(spec, a.arg)};
  }
  Limits rest = limits;
  if (!in_place) {
    kept.operand = buffer_of(spec, a.arg, a.level);
    kept.place = new_buffer(0);
    d.level = a.level;
    d.amount = own_tile ? vectors(spec, kept.operand, computed_lanes(spec, *context.target))
                        : footprint(spec, kept.operand).lines;
    if (!subtract(rest, d.level, d.amount)) return false;
  }
  part_before(spec, std::span(&kept, 1), rest, d.child[0]);
  part_after(spec, std::span(&kept, 1), rest, d.child[1]);
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) bufferize_node(const Spec& spec, const Action& a, const ActionContext&) {
  if (a.level == Level::kRegister && !has_own_tile(spec, a.level)) return Block{};
  return Block{1, {buffer_of(spec, a.arg, a.level)}};
}

// ---- bufferize a fold

/// What a fold combines, as one stage: a value that later stages read as well, or -1. So one pass
/// can make the value, keep it, and combine it.
int folded_stage(const Spec& spec, int stage) {
  const Stage& fold = spec.stage[stage];
  if (!is_reduction(fold) || fold.op == Op::kMulAdd || fold.out != kNoRef) return -1;
  if (!is_value(fold.in[0])) return -1;
  const int folded = stage_of(fold.in[0]);
  const Stage& made = spec.stage[folded];
  if (is_reduction(made) || made.op == Op::kMulAdd || made.out != kNoRef) return -1;
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (s != stage && in == value_of(folded)) return folded;
  return -1;
}

void list_fold_cuts(const Spec& spec, const Limits&, const ActionContext& context,
                    ActionList& out) {
  if (is_chain(spec) || has_free_operand(spec)) return;
  const u64 l1 = lines_of_code(limits_of(*context.target).at(Level::kL1));
  for (u8 s = 0; s < spec.stage_count; s++) {
    const int folded = folded_stage(spec, s);
    if (folded < 0 || !fits_cut(spec, 1u << s | 1u << folded, true)) continue;
    if (output_for_value(spec, folded) >= 0 && value_lines(spec, s) <= l1)
      out.add({ActionKind::kBufferizeFold, s, Level::kRegister, {}, 0});
    each_level(value_lines(spec, s) + value_lines(spec, folded), context, [&](Level level) {
      out.add({ActionKind::kBufferizeFold, s, level, {}, 0});
    });
  }
}

/// What is combined in an output, if no level is given, and what comes of it in a buffer in L1; or
/// both in buffers.
std::array<KeptValue, 2> kept_of_fold(const Spec& spec, const Action& a) {
  const int folded = folded_stage(spec, a.arg);
  if (a.level == Level::kRegister) {
    const u8 o = static_cast<u8>(output_for_value(spec, folded));
    return {KeptValue{folded, spec.operand[o], o},
            KeptValue{a.arg, buffer_of(spec, a.arg, Level::kL1), new_buffer(0)}};
  }
  return {KeptValue{folded, buffer_of(spec, folded, a.level), new_buffer(0)},
          KeptValue{a.arg, buffer_of(spec, a.arg, a.level), new_buffer(1)}};
}

bool derive_fold_cut(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                     Derivation& d) {
  const std::array<KeptValue, 2> kept = kept_of_fold(spec, a);
  d.level = kept[1].operand.level;
  for (const KeptValue& value : kept)
    if (is_new_buffer(value.place)) d.amount += footprint(spec, value.operand).lines;
  Limits rest = limits;
  if (!subtract(rest, d.level, d.amount)) return false;
  part_before(spec, kept, rest, d.child[0]);
  part_after(spec, kept, rest, d.child[1]);
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) fold_cut_node(const Spec& spec, const Action& a, const ActionContext&) {
  const std::array<KeptValue, 2> kept = kept_of_fold(spec, a);
  if (a.level == Level::kRegister) return Block{1, {kept[1].operand}};
  return Block{2, {kept[0].operand, kept[1].operand}};
}

}  // namespace

extern const Rewrite kAccumulateRewrite = {ActionKind::kAccumulate, list_accumulate,
                                           derive_accumulate, accumulate_node};
extern const Rewrite kBufferizeRewrite = {ActionKind::kBufferize, list_bufferize,
                                          derive_bufferize,       bufferize_node,
                                          lists_bufferize,        kBorders | kDiagonal | kGathers};
extern const Rewrite kBufferizeFoldRewrite = {ActionKind::kBufferizeFold, list_fold_cuts,
                                              derive_fold_cut, fold_cut_node};

}  // namespace morello

// SPDX-License-Identifier: MIT
// Rewrites into a sequence: fill then accumulate, and a fused chain into its first stage and the
// rest.
#include <limits>

#include "actions/placement.hh"

namespace morello {
namespace {

/// The Spec of stages [first, last) of `spec`, reading `previous` where they read the value of the
/// stage before, and writing `out`. Operands that no stage reads are left out, dimensions that no
/// operand has as well.
Child part_of(const Spec& spec, const Limits& limits, int first, int last, const Operand* previous,
              u8 previous_parent, const Operand& out, u8 out_parent) {
  Child c;
  Spec s;
  s.serial = spec.serial;
  s.stage_count = static_cast<u8>(last - first);
  Binding pick;  // operands of the part, in terms of the parent's
  auto operand = [&](const Operand& x, u8 parent) {
    s.operand[s.operand_count] = x;
    pick.operand[s.operand_count] = parent;
    return static_cast<i8>(s.operand_count++);
  };
  bool in_place = previous && previous_parent == out_parent;
  for (int i = first; i < last; i++) {
    Stage stage = spec.stage[i];
    for (i8* in : {&stage.in0, &stage.in1}) {
      if (*in == spec.out_index() && out_parent == *in)
        *in = std::numeric_limits<i8>::max();
      else if (*in >= 0)
        *in = operand(spec.operand[*in], static_cast<u8>(*in));
      else if (*in == kPrevious && i == first)
        *in = in_place ? std::numeric_limits<i8>::max() : operand(*previous, previous_parent);
    }
    s.stage[i - first] = stage;
  }
  i8 out_index = operand(out, out_parent);
  for (int i = 0; i < s.stage_count; i++)
    for (i8* in : {&s.stage[i].in0, &s.stage[i].in1})
      if (*in == std::numeric_limits<i8>::max()) *in = out_index;
  s.rank = spec.rank;
  s.size = spec.size;
  DimMask used = 0;
  for (int o = 0; o < s.operand_count; o++) used = static_cast<DimMask>(used | s.operand[o].dims);
  // Reduced dimensions that no operand has still say how often the same value is added.
  for (int i = 0; i < s.stage_count; i++) used = static_cast<DimMask>(used | s.stage[i].reduce);
  // Dimensions that the part does not have are as good as size 1.
  for (int d = 0; d < s.rank; d++)
    if (!has_dim(used, d)) s.size[d] = 1;
  c.spec = s;
  drop_unit_dims(c.spec, &c.binding);
  c.binding.operand = pick.operand;
  c.limits = limits;
  c.times = 1;
  return c;
}

// ---- accumulate

void list_accumulate(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (!combines(spec) || spec.stage_count > 1 || spec.out().access != Access::kOut ||
      has_free_operand(spec))
    return;
  bool loop = spec.out().level == Level::kRegister || spec.reduced() != 0;
  if (loop) out.add({ActionKind::kAccumulate, 0, {}, {}, 0});
}

bool derive_accumulate(const Spec& spec, const Limits& limits, const Action&, const ActionContext&,
                       Derivation& d) {
  u8 out = static_cast<u8>(spec.out_index());
  Spec fill = spec;  // as part_of() wants it: stages that read nothing
  fill.stage[0] = {Op::kFill, kNone, kNone, 0};
  d.child[0] = part_of(fill, limits, 0, 1, nullptr, 0, spec.out(), out);
  d.child[0].spec.fill_value = identity_of(spec.stage[0].op);
  d.child[1] = {spec, limits, 1, identity_binding(spec)};
  Spec& body = d.child[1].spec;
  body.out().access = Access::kInOut;
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) accumulate_node(const Spec&, const Action&, const ActionContext&) {
  return Block{};
}

// ---- bufferize

void list_bufferize(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (!combines(spec) || spec.stage_count < 2 || has_free_operand(spec)) return;
  // In the output, the value of stage 0 would overwrite what a later stage reads.
  if (!spec.reads_output_late()) out.add({ActionKind::kBufferize, 0, Level::kRegister, {}, 0});
  if (has_register_operand(spec)) return;
  for (Level level : {Level::kL1, Level::kL2})
    if (level < spec.out().level) out.add({ActionKind::kBufferize, 0, level, {}, 0});
}

Operand buffer_of(const Spec& spec, const Action& a) {
  const Operand& out = spec.out();
  return dense_operand(spec, out.dtype, a.level, Access::kOut, out.dims, plain_layout(out.layout));
}

bool derive_bufferize(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                      Derivation& d) {
  u8 out_index = static_cast<u8>(spec.out_index());
  bool in_place = a.level == Level::kRegister;
  Operand buffer = in_place ? spec.out() : buffer_of(spec, a);
  u8 parent = in_place ? out_index : kNewBuffer;
  Limits rest = limits;
  if (!in_place) {
    d.level = a.level;
    d.amount = footprint(spec, buffer).lines;
    if (!subtract(rest, d.level, d.amount)) return false;
  }
  d.child[0] = part_of(spec, rest, 0, 1, nullptr, 0, buffer, parent);
  Operand read = buffer, out = spec.out();
  read.access = Access::kIn;
  if (in_place) out.access = Access::kInOut;
  d.child[1] = part_of(spec, rest, 1, spec.stage_count, &read, parent, out, out_index);
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) bufferize_node(const Spec& spec, const Action& a, const ActionContext&) {
  if (a.level == Level::kRegister) return Block{};
  return Block{true, buffer_of(spec, a)};
}

}  // namespace

extern const Rewrite kAccumulateRewrite = {ActionKind::kAccumulate, list_accumulate,
                                           derive_accumulate, accumulate_node};
extern const Rewrite kBufferizeRewrite = {ActionKind::kBufferize, list_bufferize, derive_bufferize,
                                          bufferize_node};

}  // namespace morello

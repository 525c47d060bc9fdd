// SPDX-License-Identifier: MIT
// Rewrites into a sequence: fill then accumulate, and a fused chain into its first stage and the
// rest.
#include "actions/placement.hh"
#include "support/number.hh"

namespace morello {
namespace {

/// An operand of a part, and which one of the parent's it is, or which new buffer.
struct Place {
  Operand operand;
  u8 parent = 0;
};

/// Numbers the operands of a part as they are first used.
class Operands {
 public:
  explicit Operands(Spec& part) : part_(part) {}
  Ref add(const Place& place) {
    for (Ref o = 0; o < part_.operand_count; o++)
      if (parent_[o] == place.parent) return o;
    parent_[part_.operand_count] = place.parent;
    part_.operand[part_.operand_count] = place.operand;
    return part_.operand_count++;
  }
  const std::array<u8, kMaxOperands>& parents() const { return parent_; }

 private:
  Spec& part_;
  std::array<u8, kMaxOperands> parent_{};
};

/// The Spec of stages [first, last) of a chain, reading `previous` where they read the value of the
/// stage before, and writing `out`. Operands that no stage reads are left out, and dimensions that
/// nothing has.
Child part_of(const Spec& spec, const Limits& limits, int first, int last, const Place* previous,
              const Place& out) {
  Child c;
  Spec s;
  s.serial = spec.serial;
  s.rank = spec.rank;
  s.size = spec.size;
  s.window = spec.window;
  Operands operands(s);
  const Ref kOutput = kMaxOperands;  // until its number is known
  for (int i = first; i < last; i++) {
    Stage& stage = s.stage[s.stage_count++] = spec.stage[i];
    for (Ref& in : stage.in) {
      const bool is_previous = is_value(in) && stage_of(in) < first;
      if (is_value(in) && !is_previous)
        in = value_of(stage_of(in) - first);
      else if (is_operand(in) || is_previous) {
        const Place from = is_previous ? *previous : Place{spec.operand[in], in};
        in = from.parent == out.parent ? kOutput : operands.add(from);
      }
    }
  }
  const Ref output = operands.add(out);
  for (int i = 0; i < s.stage_count; i++)
    for (Ref& in : s.stage[i].in)
      if (in == kOutput) in = output;
  s.stage[s.stage_count - 1].out = output;
  for (int i = 0; i < s.stage_count; i++)
    if (s.stage[i].op == Op::kFill) s.fill_bits = spec.fill_bits;
  DimMask used = s.reduced();  // that no operand has: they say how often the same value is added
  for (int o = 0; o < s.operand_count; o++) {
    forget_pitch(s.operand[o]);
    used = static_cast<DimMask>(used | s.operand[o].dims);
  }
  // Dimensions that the part does not have are as good as size 1.
  for (int d = 0; d < s.rank; d++)
    if (!has_dim(used, d)) s.size[d] = 1;
  c.spec = s;
  drop_unit_dims(c.spec, &c.binding);
  c.binding.operand = operands.parents();
  c.limits = limits;
  c.times = 1;
  return c;
}

// ---- accumulate

void list_accumulate(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (!is_single(spec) || !combines(spec) || spec.out().access != Access::kOut ||
      has_free_operand(spec) || spec.out().dtype != computed_dtype(spec))
    return;
  bool loop = spec.out().level == Level::kRegister || spec.reduced() != 0;
  if (loop) out.add({ActionKind::kAccumulate, 0, {}, {}, 0});
}

bool derive_accumulate(const Spec& spec, const Limits& limits, const Action&, const ActionContext&,
                       Derivation& d) {
  const Stage& head = head_of(spec);
  Spec fill = spec;  // as part_of() wants it: a stage that reads nothing
  fill.stage[0] = {};
  fill.stage[0].op = Op::kFill;
  fill.stage[0].dtype = head.dtype;
  fill.fill_bits = bits_of_number(head.dtype, identity_of(head.op, head.dtype));
  d.child[0] =
      part_of(fill, limits, 0, 1, nullptr, {spec.out(), static_cast<u8>(spec.out_index())});
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

void list_bufferize(const Spec& spec, const Limits&, const ActionContext&, ActionList& out) {
  if (is_single(spec) || !combines(spec) || has_free_operand(spec) || !is_chain(spec)) return;
  // In the output, the value of the head would overwrite what a later stage reads, or be rounded.
  if (!reads_output_late(spec) && spec.out().dtype == computed_dtype(spec))
    out.add({ActionKind::kBufferize, 0, Level::kRegister, {}, 0});
  if (register_operand(spec) >= 0) return;
  for (Level level : {Level::kL1, Level::kL2})
    if (level < spec.out().level) out.add({ActionKind::kBufferize, 0, level, {}, 0});
}

/// For the value of the head, ordered like the output.
Operand buffer_of(const Spec& spec, const Action& a) {
  const Operand& out = spec.out();
  return dense_operand(spec, computed_dtype(spec), a.level, Access::kOut, out.dims,
                       plain_layout(out.layout));
}

bool derive_bufferize(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                      Derivation& d) {
  const bool in_place = a.level == Level::kRegister;
  const Place output = {spec.out(), static_cast<u8>(spec.out_index())};
  const Place buffer = in_place ? output : Place{buffer_of(spec, a), new_buffer(0)};
  Limits rest = limits;
  if (!in_place) {
    d.level = a.level;
    d.amount = footprint(spec, buffer.operand).lines;
    if (!subtract(rest, d.level, d.amount)) return false;
  }
  d.child[0] = part_of(spec, rest, 0, 1, nullptr, buffer);
  Place read = buffer, out = output;
  read.operand.access = Access::kIn;
  if (in_place) out.operand.access = Access::kInOut;
  d.child[1] = part_of(spec, rest, 1, spec.stage_count, &read, out);
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

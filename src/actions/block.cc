// SPDX-License-Identifier: MIT
// Rewrites into a sequence: fill then accumulate, and a fused chain into its first stage and the
// rest.
#include "actions/placement.hh"
#include "spec/canonical.hh"
#include "support/number.hh"

namespace morello {
namespace {

/// An operand of a part, and which one of the parent's it is, or which new buffer.
struct Place {
  Operand operand;
  u8 parent = 0;
};

/// Some stages of a chain as a Spec: from stage `first`, which reads `previous` where it read the
/// value of the stage before, to one that writes `out`. Operands that no stage reads are left out,
/// and dimensions that nothing has.
class Part {
 public:
  Part(const Spec& whole, int first, const Place* previous, const Place& out)
      : whole_(whole), first_(first), previous_(previous), out_(out) {
    part_.serial = whole.serial;
    part_.rank = whole.rank;
    part_.size = whole.size;
    part_.window = whole.window;
  }

  Child up_to(int last, const Limits& limits) {
    for (int s = first_; s < last; s++) take(whole_.stage[s]);
    const Ref output = number_of(out_);
    for (int s = 0; s < part_.stage_count; s++)
      for (Ref& in : part_.stage[s].in)
        if (in == kOutput) in = output;
    part_.stage[part_.stage_count - 1].out = output;
    return finish(limits);
  }

 private:
  static constexpr Ref kOutput = kMaxOperands;  // until its number is known

  void take(const Stage& stage) {
    Stage& taken = part_.stage[part_.stage_count++] = stage;
    for (Ref& in : taken.in) in = read(in);
    if (stage.op == Op::kFill) part_.fill_bits = whole_.fill_bits;
  }

  Ref read(Ref in) {
    if (is_value(in) && stage_of(in) >= first_) return value_of(stage_of(in) - first_);
    if (!is_value(in) && !is_operand(in)) return in;
    const Place from = is_value(in) ? *previous_ : Place{whole_.operand[in], in};
    return from.parent == out_.parent ? kOutput : number_of(from);
  }

  /// Operands are numbered as they are first used.
  Ref number_of(const Place& place) {
    for (Ref o = 0; o < part_.operand_count; o++)
      if (parent_[o] == place.parent) return o;
    parent_[part_.operand_count] = place.parent;
    part_.operand[part_.operand_count] = place.operand;
    return part_.operand_count++;
  }

  Child finish(const Limits& limits) {
    DimMask used = part_.reduced();  // if no operand has them: so often the same value is added
    for (int o = 0; o < part_.operand_count; o++) {
      forget_pitch(part_.operand[o]);
      used = static_cast<DimMask>(used | part_.operand[o].dims);
    }
    for (int d = 0; d < part_.rank; d++)
      if (!has_dim(used, d)) part_.size[d] = 1;  // as good as that
    Child child{part_, limits, 1, {}};
    drop_unit_dims(child.spec, &child.binding);
    child.binding.operand = parent_;
    assert_canonical(child.spec);
    return child;
  }

  const Spec& whole_;
  int first_;
  const Place* previous_;
  const Place& out_;
  Spec part_;
  std::array<u8, kMaxOperands> parent_{};
};

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
  Spec fill = spec;  // whose stage reads nothing
  fill.stage = {Stage{.op = Op::kFill, .dtype = head.dtype}};
  fill.fill_bits = bits_of_number(head.dtype, identity_of(head.op, head.dtype));
  const Place out = {spec.out(), static_cast<u8>(spec.out_index())};
  d.child[0] = Part(fill, 0, nullptr, out).up_to(1, limits);
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
  d.child[0] = Part(spec, 0, nullptr, buffer).up_to(1, rest);
  Place read = buffer, out = output;
  read.operand.access = Access::kIn;
  if (in_place) out.operand.access = Access::kInOut;
  d.child[1] = Part(spec, 1, &read, out).up_to(spec.stage_count, rest);
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

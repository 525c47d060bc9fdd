// SPDX-License-Identifier: MIT
// Windows past the ends of an axis: the operand is copied into a buffer that has its borders, and
// what reads it goes on from there.
#include "actions/placement.hh"
#include "spec/border.hh"

namespace morello {
namespace {

Operand padded_at(const Spec& spec, const Action& a) {
  const Layout& same = spec.operand[a.arg].layout;
  return padded_operand(
      spec, a.arg, a.level,
      a.option == LayoutOption::kSame ? same : layout_of(spec, a.arg, a.option, a.size).layout);
}

u64 lines_of(const Spec& spec, const Action& a) {
  return footprint(with_borders_inside(spec, a.arg), padded_at(spec, a)).lines;
}

void list_pad(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  const int operand = bordered_operand(spec);
  if (operand < 0 || has_free_operand(spec)) return;
  // Of few actions those that copy what few products use are not.
  if (context.has_few() && reader_of(spec, operand).op == Op::kMulAdd &&
      divides_places(spec, context))
    return;
  const Target& target = *context.target;
  const bool channels = wants_channels_last(spec, operand, target);
  bool groups = pads_groups(spec, operand, target);
  // Where results may be turned, and fill vectors then, channels last did as well as groups.
  const u8 turned = channels && groups ? turned_dim(spec) : kNoDim;
  const bool fills = turned != kNoDim && spec.size[turned] >= computed_lanes(spec, target);
  if (fills && context.restricts(Restriction::kNarrowCopies)) groups = false;
  LayoutOption few = LayoutOption::kSame;
  if (lacks_groups(spec, operand, spec.operand[operand], context))
    few = groups ? LayoutOption::kGrouped : channels ? LayoutOption::kChannelsLast : few;
  const bool has_bands = bands_of(spec, context).count > 0;
  for (LayoutOption option :
       {LayoutOption::kSame, LayoutOption::kGrouped, LayoutOption::kChannelsLast}) {
    if (context.has_few() && option != few) continue;
    if (option == LayoutOption::kGrouped && !groups) continue;
    if (option == LayoutOption::kChannelsLast && !channels) continue;
    Action a{ActionKind::kPad, static_cast<u8>(operand), Level::kL1, option, 0};
    // Where L2 would not keep a copy of all, bands come first.
    const u64 lines = lines_of(spec, a);
    const bool waits = lines * kLineBytes > room_for_band(Level::kL2, target) && has_bands;
    each_level(lines, context, [&](Level level) {
      if (waits && level != Level::kL1) return;
      a.level = level;
      out.add(a);
    });
  }
}

bool derive_pad(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                Derivation& d) {
  const Operand padded = padded_at(spec, a);
  Limits rest = limits;
  d.level = a.level;
  d.amount = lines_of(spec, a);
  if (!subtract(rest, d.level, d.amount)) return false;
  const PaddedPart parts[] = {border_fill(spec, a.arg, padded), border_copy(spec, a.arg, padded),
                              border_rest(spec, a.arg, padded)};
  for (const PaddedPart& part : parts) d.child[d.count++] = {part.spec, rest, 1, part.binding};
  return true;
}

decltype(ImplNode::kind) pad_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Pad{a.arg, padded_at(spec, a)};
}

}  // namespace

extern const Rewrite kPadRewrite = {ActionKind::kPad, list_pad, derive_pad,
                                    pad_node,         nullptr,  kBorders | kDiagonal};

}  // namespace morello

// SPDX-License-Identifier: MIT
// Moves of one operand to a nearer level: in place, into a packed buffer, or into registers.
#include <algorithm>

#include "actions/narrow.hh"
#include "actions/part.hh"
#include "actions/placement.hh"
#include "cost/turn.hh"
#include "spec/border.hh"
#include "spec/terms.hh"

namespace morello {
namespace {

/// The body of a move: operand `index` replaced. Loops inside caches private to a core stay on it.
Child body_with(const Spec& spec, const Limits& limits, int index, const Operand& placed) {
  Child c{spec, limits, 1, identity_binding()};
  c.spec.operand[index] = placed;
  forget_pitch(c.spec.operand[index]);
  if (spec.operand[index].windows != placed.windows) drop_windows(c.spec);
  c.spec.serial = true;
  return c;
}

// ---- view

/// That loops of a graph run along.
DimMask loop_dims(const Spec& spec) {
  return static_cast<DimMask>(inner_dims(spec) & (parallel_dims(spec) | fold_dims(spec)));
}

int readers(const Spec& spec, Ref ref) {
  int count = 0;
  for (int s = 0; s < spec.stage_count; s++)
    count +=
        std::find(spec.stage[s].in.begin(), spec.stage[s].in.end(), ref) != spec.stage[s].in.end();
  return count;
}

/// Stages that use an operand; those that may read back from it what another one has written do.
int users(const Spec& spec, Ref operand) {
  for (int s = 0; s < spec.stage_count; s++)
    if (spec.stage[s].out == operand && spec.operand[operand].dtype == spec.stage[s].dtype &&
        spec.operand[operand].access == Access::kOut)
      return 1 + readers(spec, value_of(s));
  return readers(spec, operand);
}

/// Does an output hold values until they are overwritten?
bool may_hold_values(const Spec& spec, Ref operand) {
  for (int s = 0; spec.operand[operand].access == Access::kOut && s < spec.stage_count; s++)
    if (output_for_value(spec, s) == operand) return true;
  return false;
}

/// Do loops of a graph use the operand again, or several stages? Those that fill L1 are brought
/// there by parts.
bool is_used_again(const Spec& spec, Ref operand, DimMask loops, const ActionContext& context) {
  const Operand& x = spec.operand[operand];
  if ((loops & ~x.dims) == 0 && users(spec, operand) < 2 && !may_hold_values(spec, operand))
    return false;
  return x.level > Level::kL2 ||
         footprint(spec, x).bytes <= context.target->at(Level::kL1).bytes / 4;
}

/// Of few actions: a factor of a graph's product that vectors cross. It comes to L1 as a copy in
/// which they do not, which only the product by itself makes.
bool waits_for_copy(const Spec& spec, int operand, const ActionContext& context) {
  if (!context.has_few() || is_chain(spec)) return false;
  const Spec product = free_factor(spec, operand).product;
  if (!is_single(product) || !contraction_of(product)) return false;
  const u8 v = unit_dim(product.out());
  const Operand& x = spec.operand[operand];
  return v != kNoDim && has_dim(x.dims, v) && unit_dim(x) != v;
}

/// Are these sums wider than a register tile, and nothing in L1 yet? Factors that come there first
/// are used by more of them.
bool waits(const Spec& spec, int operand, const ActionContext& context) {
  constexpr u32 kVectors = 4;
  const u8 v = unit_dim(spec.operand[operand]);
  if (operand != spec.out_index() || !is_chain(spec) || !contraction_of(spec) || v == kNoDim ||
      spec.size[v] <= kVectors * computed_lanes(spec, *context.target) ||
      !context.restricts(Restriction::kWideSumsLast))
    return false;
  for (int o = 0; o < spec.operand_count; o++)
    if (o != operand && spec.operand[o].level <= Level::kL1) return false;
  return true;
}

/// Of a Spec whose terms are divided: does each part use the operand again? Weights are those of
/// one term.
bool is_in_all_terms(const Spec& spec, int operand) {
  return has_dim(spec.operand[operand].dims, term_cut(spec)->places);
}

/// Of operands [first, last).
template <class Add>
void each_view(const Spec& spec, const ActionContext& context, u8 first, u8 last, Add add) {
  if (register_operand(spec) >= 0 || has_free_operand(spec)) return;
  // Of what has borders only for parts that share lines, and to L2 what all terms use.
  const bool waits_for_border = bordered_operand(spec) >= 0 && !divides_places(spec, context);
  if (waits_for_border && !divides_terms(spec, context)) return;
  const bool all = is_chain(spec) || is_fold(spec) || !context.restricts(Restriction::kStageTiles);
  const DimMask loops = all ? DimMask{0} : loop_dims(spec);
  const NarrowInRows narrow(spec, context);
  for (u8 o = first; o < last; o++) {
    if (spec.operand[o].level <= Level::kL1) continue;
    if (waits_for_border && (spec.operand[o].level == Level::kL2 || !is_in_all_terms(spec, o)))
      continue;
    if (!all && !is_used_again(spec, o, loops, context)) continue;
    if (stays_away(spec, o, context)) continue;
    if (is_best_widened(spec, o, context)) continue;
    if (spec.operand[o].level == Level::kL2 &&
        (!comes_near(spec, o, context) || waits(spec, o, context) ||
         narrow.keeps_away(o, Level::kL1, false) || waits_for_copy(spec, o, context) ||
         lacks_groups(spec, o, spec.operand[o], context)))
      continue;
    add({ActionKind::kView, o, {}, {}, 0});
  }
}

void list_views(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  each_view(spec, context, 0, spec.operand_count, [&](const Action& a) { out.add(a); });
}

bool lists_view(const Spec& spec, const Limits&, const Action& a, const ActionContext& context) {
  bool found = false;
  if (a.arg < spec.operand_count)
    each_view(spec, context, a.arg, static_cast<u8>(a.arg + 1),
              [&](const Action& one) { found |= one == a; });
  return found;
}

Operand viewed(const Operand& operand) {
  Operand x = operand;
  x.level = static_cast<Level>(static_cast<int>(operand.level) - 1);
  return x;
}

bool derive_view(const Spec& spec, const Limits& limits, const Action& a, const ActionContext& c,
                 Derivation& d) {
  const Operand& from = spec.operand[a.arg];
  Operand to = viewed(from);
  d.level = to.level;
  d.amount = resident_lines(spec, from, to.level);
  Limits rest = limits;
  if (!subtract(rest, d.level, d.amount)) return false;
  d.own = step_units(spec, from, *c.target);
  d.count = 1;
  d.child[0] = body_with(spec, rest, a.arg, to);
  return true;
}

decltype(ImplNode::kind) view_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Move{a.arg, true, viewed(spec.operand[a.arg])};
}

// ---- pack and widen

Operand packed(const Spec& spec, const Action& a) {
  const Operand& from = spec.operand[a.arg];
  const Dtype type = a.kind == ActionKind::kWiden ? computed_dtype(spec) : from.dtype;
  Layout layout = layout_of(spec, a.arg, a.option, a.size).layout;
  const u8 windows = keeps_windows(spec, a.arg, a.option) ? from.windows : u8{0};
  return dense_operand(spec, type, a.level, from.access, from.dims, layout, windows);
}

/// Do sums need a buffer of their own, for the output rounds them?
bool rounds_sums(const Spec& spec) {
  return is_single(spec) && spec.out().access == Access::kOut && spec.out().dims != 0 &&
         spec.out().dtype != computed_dtype(spec);
}

/// Sums of tile registers are in a cache, of a chain that rounds them in one nearer than the
/// output.
bool sums_wait_for_l1(const Spec& spec, const Target& target) {
  return !is_single(spec) && spec.out().dtype != computed_dtype(spec) && takes_tiles(spec, target);
}

/// Before borders are there: sums that the output rounds, if their terms are divided.
void list_bordered_sums(const Spec& spec, const ActionContext& context, ActionList& out) {
  if (!rounds_sums(spec)) return;
  for (Level level : {Level::kL1, Level::kL2}) {
    if (level >= spec.out().level) continue;
    const u8 sums = static_cast<u8>(spec.out_index());
    const Action a{ActionKind::kWiden, sums, level, LayoutOption::kSame, 0};
    if (divides_terms(body_with(spec, {}, sums, packed(spec, a)).spec, context)) out.add(a);
  }
}

template <ActionKind kKind>
void list_packs(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  if (!combines(spec) || register_operand(spec) >= 0 || has_free_operand(spec)) return;
  if (!is_chain(spec) || has_few_in_lanes(spec, context)) return;
  constexpr bool kWidens = kKind == ActionKind::kWiden;
  if (kWidens && bordered_operand(spec) >= 0) return list_bordered_sums(spec, context, out);
  const u8 sums = static_cast<u8>(spec.out_index());
  const NarrowInRows narrow(spec, context);
  const bool turns = may_turn(spec, *context.target);
  for (Level level : {Level::kL1, Level::kL2}) {
    if (level >= spec.out().level) continue;
    if (kWidens && rounds_sums(spec)) out.add({kKind, sums, level, LayoutOption::kSame, 0});
    if (kWidens == rounds_sums(spec) && turns &&
        !(level == Level::kL1 && sums_wait_for_l1(spec, *context.target)))
      out.add({kKind, sums, level, LayoutOption::kTurned, 0});
  }
  for (u8 o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.access != Access::kIn || x.layout.packed() || x.dims == 0) continue;
    if (kWidens && !is_narrow_factor(spec, o)) continue;
    for (Level level : {Level::kL1, Level::kL2}) {
      if (level >= x.level || (level == Level::kL1 && !comes_near(spec, o, context))) continue;
      const bool waits_in_rows = narrow.keeps_away(o, level, true);
      if (waits_in_rows && !kWidens) continue;
      each_layout(spec, o, context, [&](LayoutOption option, u32 panel) {
        if (waits_in_rows && !streams_widened(spec, o, level, option, context)) return;
        if (!kWidens && option == LayoutOption::kSame && is_dense(x)) return;  // a view is cheaper
        if (option == LayoutOption::kSame && !has_plain_windows(spec, x)) return;
        if (kWidens && option >= LayoutOption::kGrouped) return;  // lanes have one element each
        if (!is_listed_copy(spec, o, level, option, kWidens, context)) return;
        const Action a{kKind, o, level, option, panel};
        if (!kWidens && lacks_groups(spec, o, packed(spec, a), context)) return;
        out.add(a);
      });
    }
  }
}

bool derive_pack(const Spec& spec, const Limits& limits, const Action& a, const ActionContext& c,
                 Derivation& d) {
  Operand to = packed(spec, a);
  d.level = to.level;
  d.amount = footprint(spec, to).lines;
  Limits rest = limits;
  if (!subtract(rest, d.level, d.amount)) return false;
  d.count = 2;
  const bool in = to.access == Access::kIn;
  if (in) d.own = piece_units(spec, spec.operand[a.arg], to.level, *c.target);
  Child &copy = d.child[in ? 0 : 1], &body = d.child[in ? 1 : 0];
  copy.spec = move_spec(spec, a.arg, to, in, &copy.binding);
  copy.limits = rest;
  copy.times = 1;
  body = body_with(spec, rest, a.arg, to);
  if (in) merge_terms(body.spec, body.binding);  // what is dense now may be one run
  if (a.option == LayoutOption::kTurned) {       // dimensions are numbered as the results have them
    Binding turned;
    drop_unit_dims(body.spec, &turned);
    body.binding.dim = turned.dim;
  }
  body.binding.operand[a.arg] = new_buffer(0);
  return true;
}

decltype(ImplNode::kind) pack_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Move{a.arg, false, packed(spec, a)};
}

// ---- registers

/// Of the output, in the element type that its value is computed in.
Operand register_tile(const Spec& spec) {
  const Operand& out = spec.out();
  Operand x = out;
  x.dtype = computed_in(spec.stage[spec.stage_count - 1].dtype);
  x.level = Level::kRegister;
  x.far = 0;  // where its memory was makes no difference
  x.alias = 0;
  x.contig = static_cast<u8>(unit_dim(out) != kNoDim ? x.layout.count() : 0);
  return x;
}

void list_registers(const Spec& spec, const Limits& limits, const ActionContext& context,
                    ActionList& out) {
  const Operand& x = spec.out();
  if (!combines(spec) || x.level == Level::kRegister || has_free_operand(spec)) return;
  if (x.layout.count() > 2 || x.layout.packed() || reads_output_late(spec)) return;
  if (!is_chain(spec)) return;
  u64 tile = vectors(spec, register_tile(spec), computed_lanes(spec, *context.target));
  if (tile + 2 <= limits.at(Level::kRegister))
    out.add({ActionKind::kRegisters, static_cast<u8>(spec.out_index()), Level::kRegister, {}, 0});
}

bool derive_registers(const Spec& spec, const Limits& limits, const Action& a,
                      const ActionContext& c, Derivation& d) {
  const Operand& from = spec.operand[a.arg];
  Operand to = register_tile(spec);
  d.level = Level::kRegister;
  d.amount = vectors(spec, to, computed_lanes(spec, *c.target));
  Limits rest = limits;
  if (!subtract(rest, d.level, d.amount)) return false;
  auto copy = [&](bool in) {
    Child& child = d.child[d.count++];
    child.spec = move_spec(spec, a.arg, to, in, &child.binding);
    child.limits = rest;
    child.times = 1;
  };
  if (from.access == Access::kInOut) copy(true);
  d.child[d.count++] = body_with(spec, rest, a.arg, to);
  d.child[d.count - 1].binding.operand[a.arg] = new_buffer(0);
  copy(false);
  return true;
}

decltype(ImplNode::kind) registers_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Move{a.arg, false, register_tile(spec)};
}

}  // namespace

extern const Rewrite kViewRewrite = {ActionKind::kView, list_views, derive_view,
                                     view_node,         lists_view, kBorders | kDiagonal};
extern const Rewrite kPackRewrite = {ActionKind::kPack, list_packs<ActionKind::kPack>, derive_pack,
                                     pack_node};
extern const Rewrite kWidenRewrite = {
    ActionKind::kWiden, list_packs<ActionKind::kWiden>, derive_pack, pack_node, nullptr, kBorders};
extern const Rewrite kRegistersRewrite = {ActionKind::kRegisters, list_registers, derive_registers,
                                          registers_node};

}  // namespace morello

// SPDX-License-Identifier: MIT
// A diagonal ends in two ways. Rows are divided, and columns that no row of a part keeps are left
// out; a mask in a small buffer does what the diagonal did in what it crosses. Borders may end in
// the first way too: the places next to one are divided from the others.
#include <bit>

#include "actions/placement.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"

namespace morello {
namespace {

// ---- divide

/// Parts of fewer rows than the least are no better than masks, and masks of more than the most no
/// better than parts.
constexpr u32 kLeastRows = 16, kMostRows = 64;

/// Where the rows are cut: at a power of two, so that halves of halves are blocks of as many rows;
/// 0: nowhere.
u32 first_rows(const Spec& spec) {
  const u8 row = spec.diagonal.row;
  if (row == kNoDim) return 0;
  const u32 rows = std::bit_ceil(spec.size[row]) / 2;
  return rows >= kLeastRows && may_divide_rows(spec, rows) ? rows : 0;
}

bool is_restricted(const Spec& spec, const ActionContext& context) {
  return !is_chain(spec) && (context.breadth == Breadth::kWhole || context.has_few()) &&
         context.restricts(Restriction::kStageTiles);
}

/// Where the rows are cut that are divided; 0: nowhere. Of few actions one division, or none: parts
/// are Specs of their own, and masks of many columns cost twice the cheapest at most.
u32 divided_rows(const Spec& spec, const ActionContext& context) {
  const u32 rows = first_rows(spec);
  if (!context.has_few() || !is_restricted(spec, context)) return rows;
  return rows >= kMostRows && spec.size[spec.diagonal.column] <= 2 * kMostRows ? rows : 0;
}

/// Are there loops that can come first, such as those over heads? Not along lanes: of a part of
/// those, results would be apart.
bool has_loops(const Spec& spec) {
  const DimMask loops = static_cast<DimMask>(inner_dims(spec) & parallel_dims(spec));
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(loops, d) && d != unit_dim(spec.out()) && may_tile(spec, d, 1)) return true;
  return false;
}

/// Do inputs lie in memory that all rows use again, and that L2 holds?
bool has_far_inputs(const Spec& spec, const ActionContext& context) {
  const u8 row = spec.diagonal.row;
  u64 lines = 0;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level == Level::kMemory && x.access == Access::kIn && !has_dim(x.dims, row))
      lines += resident_lines(spec, x, Level::kL2);
  }
  return has_dim(inner_dims(spec), row) && lines > 0 &&
         lines * kLineBytes <= context.target->at(Level::kL2).bytes / 4;
}

void list_rows(const Spec& spec, const ActionContext& context, ActionList& out) {
  if (has_free_operand(spec)) return;
  if (is_restricted(spec, context) && (has_loops(spec) || has_far_inputs(spec, context))) return;
  if (const u32 rows = divided_rows(spec, context); rows > 0)
    out.add({ActionKind::kDivide, spec.diagonal.row, {}, {}, rows});
}

void list_divide(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  if (spec.diagonal.used()) {
    if (bordered_operand(spec) < 0) list_rows(spec, context, out);
    return;
  }
  const auto add = [&](u8 dim, u32 size) { out.add({ActionKind::kDivide, dim, {}, {}, size}); };
  if (divides_places(spec, context)) {
    const BorderCut cut = *border_cut(spec);
    add(cut.dim, cut.size);
  } else if (const Bands bands = bands_of(spec, context); bands.bordered) {
    for (int i = 0; i < bands.count; i++)
      add(bands.dim, bands.cut(bands.size[i], spec.size[bands.dim]));
  }
  if (divides_terms(spec, context)) {
    const BorderCut cut = *term_cut(spec);
    add(cut.dim, cut.size);
  }
}

bool derive_divide(const Spec& spec, const Limits& limits, const Action& a, const ActionContext& c,
                   Derivation& d) {
  for (bool first : {true, false}) {
    if (spec.diagonal.used()) {
      const DiagonalPart part = part_of_rows(spec, a.size, first);
      d.child[d.count++] = {part.spec, limits, 1, part.binding};
    } else {
      const PaddedPart part = part_of_border(spec, a.arg, a.size, first);
      d.child[d.count++] = {part.spec, limits, 1, part.binding};
    }
  }
  d.own = c.target->prices.loop;
  return true;
}

decltype(ImplNode::kind) divide_node(const Spec&, const Action& a, const ActionContext&) {
  return Divide{a.arg, a.size};
}

// ---- mask

u64 mask_lines(const Spec& spec) { return ceil_div(mask_elements(spec) * 4, kLineBytes); }

void list_mask(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  if (!spec.diagonal.used() || has_free_operand(spec)) return;
  if (is_restricted(spec, context) && (has_loops(spec) || divided_rows(spec, context) >= kMostRows))
    return;
  each_level(mask_lines(spec), context, [&](Level level) {
    out.add({ActionKind::kMask, 0, level, {}, 0});
  });
}

bool derive_mask(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                 Derivation& d) {
  Limits rest = limits;
  d.level = a.level;
  d.amount = mask_lines(spec);
  if (!subtract(rest, d.level, d.amount)) return false;
  const DiagonalPart parts[] = {mask_fill(spec, a.level, true), mask_fill(spec, a.level, false),
                                masked_rest(spec, mask_operand(spec, a.level))};
  for (const DiagonalPart& part : parts) d.child[d.count++] = {part.spec, rest, 1, part.binding};
  return true;
}

decltype(ImplNode::kind) mask_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Mask{mask_operand(spec, a.level)};
}

}  // namespace

extern const Rewrite kDivideRewrite = {ActionKind::kDivide, list_divide, derive_divide,
                                       divide_node,         nullptr,     kBorders | kDiagonal};
extern const Rewrite kMaskRewrite = {ActionKind::kMask, list_mask, derive_mask,
                                     mask_node,         nullptr,   kDiagonal};

}  // namespace morello

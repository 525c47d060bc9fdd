// SPDX-License-Identifier: MIT
// What maps, copies and relayouts cost at least, wherever their operands are.
#include <algorithm>

#include "cost/bounds.hh"
#include "cost/held.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {

namespace {

/// A stage that has fewer dimensions than the output may be computed once, into a buffer of any
/// layout.
bool is_few(const Spec& spec, int stage) {
  return !is_single(spec) && dims_of(spec, value_of(stage)) != spec.out().dims;
}

template <class Units>
i64 units_of_all(const Spec& spec, Units units) {
  i64 all = 0;
  for (int s = 0; s < spec.stage_count; s++)
    if (!is_few(spec, s)) all += units(spec.stage[s]);
  return all;
}

/// Is the operand the output, or read by a stage that computes every element?
bool meets_every_element(const Spec& spec, int operand) {
  if (operand == spec.out_index()) return true;
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in)
      if (in == operand && !is_few(spec, s)) return true;
  return false;
}

}  // namespace

// Rows of vectors, or of single elements; a copy between different fastest dimensions in blocks, or
// element by element. Panels split rows, which makes them no cheaper.
i64 Bounds::map(const Spec& spec) const {
  const Operand& out = spec.out();
  if (out.level == Level::kRegister) return 0;
  Duty duty = duty_of(spec);
  u8 v = unit_dim(out);
  u64 lanes = moved_lanes(spec, target_), points = volume(spec);
  auto on_vector = [&](const Stage& stage) { return rates_.vector_op(stage); };
  auto on_element = [&](const Stage& stage) { return rates_.scalar_op(stage); };
  Form form{units_of_all(spec, on_vector), units_of_all(spec, on_element), true, true};
  i64 other = kInfinite;
  if (is_relayout(duty)) {
    other = relayout(spec, form, duty);
    // Groups of a row's own neighbours: they move as parts of it.
    if (unit_dim(spec.operand[source_of(spec)]) != v) return other;
    duty = Duty::kMap;
  }
  // What a copy converts it converts at least once, whatever the element types between; lanes of
  // what stays as it is, too, but not where whole rows move.
  if (is_single(spec)) {
    const i64 conversion = conversion_units(spec, target_);
    if (!moves_narrow(spec)) form.ops += conversion;
    form.scalar_ops += conversion;
  } else {
    const i64 conversion = units_of_all(
        spec, [&](const Stage& stage) { return least_conversion(spec, stage, target_); });
    form.ops += conversion;
    form.scalar_ops += conversion;
  }
  // Single elements, which have any layout there is, but a loop and a start each.
  i64 alone = saturating_add(rates_.lone(duty, form), rates_.call(duty) + target_.prices.loop);
  form.fastest = v != kNoDim || spec.rank == 0;
  for (int o = 0; o < spec.operand_count; o++)
    form.along &= v == kNoDim || !has_dim(spec.operand[o].dims, v) ||
                  unit_dim(spec.operand[o]) == v || !meets_every_element(spec, o);
  // A loop less than there are elements.
  const i64 apart = std::max<i64>(0, saturating_mul(points, alone) - target_.prices.loop);
  if (v == kNoDim || !form.along) {
    // Between these (some alone, the rest together) nothing costs less than the cheaper end: each
    // one alone saves as much as any other.
    const i64 together =
        saturating_add(saturating_mul(points, rates_.lone(duty, form)), rates_.call(duty));
    return spec.rank > 0 ? std::min(together, apart) : together;
  }
  const u64 block = out.layout.block_of(v), columns = block > 1 ? block : spec.size[v];
  i64 row = rates_.row(duty, form, columns, lanes, alone);
  i64 c = saturating_add(rates_.call(duty), saturating_mul(points / columns, row));
  c = std::min(c, other);
  return std::min(c, apart);
}

i64 Bounds::relayout(const Spec& spec, const Form& form, Duty duty) const {
  u8 v = unit_dim(spec.out()), u = unit_dim(spec.operand[source_of(spec)]);
  u64 lanes = computed_lanes(spec, target_), points = volume(spec);
  // What has two dimensions only needs one execution for each slice of the two.
  if (u == v) u = lane_dim(spec.out());
  u64 area = u == v ? points : u64{spec.size[v]} * (u == kNoDim ? 1 : spec.size[u]);
  Form lone = form;
  lone.fastest = false;
  i64 loop = target_.prices.loop;
  i64 alone = saturating_add(rates_.lone(Duty::kMap, form), rates_.call(Duty::kMap) + loop);
  i64 slice = saturating_mul(area, std::min(rates_.lone(Duty::kMap, lone), alone));
  // Groups are put together in one panel after another.
  const bool groups = duty == Duty::kPairs || duty == Duty::kQuads;
  const u64 block = groups ? spec.out().layout.block_of(u) : 1;
  const u64 panels = block > 1 ? std::max<u64>(1, spec.size[u] / block) : 1;
  const u64 rows = groups ? panels * (spec.size[v] / lane_group(spec.out())) : 0;
  const i64 in_rows = rates_.relayout_in_rows(spec.operand[source_of(spec)].dtype, spec.size[v]);
  for (const Rate& way : rates_.ways(duty)) {
    i64 c = way.side > 1 ? saturating_mul(area, in_rows) >> Rates::kFraction
                         : saturating_mul(area, way.element);
    c = saturating_add(c, saturating_mul(area / lanes, way.vector));
    c = saturating_add(c, saturating_mul(rows, way.row));
    const i64 calls = saturating_mul(panels, way.call + loop);
    slice = std::min(slice, way.rank <= 2 ? saturating_add(c, calls) : c);
  }
  i64 call = std::min(rates_.call(duty), rates_.call(Duty::kMap));
  if (groups) {
    // Or by way of another layout.
    const i64 twice = saturating_mul(2 * area, rates_.relayout(spec.out().dtype));
    slice = std::min(slice, twice);
    call = std::min(call, rates_.call(Duty::kNarrowRelayout));
  }
  return std::max(call, saturating_mul(points / area, slice) - loop);
}

}  // namespace morello

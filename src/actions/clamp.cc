// SPDX-License-Identifier: MIT
#include "actions/clamp.hh"

#include <algorithm>

#include "actions/placement.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"

namespace morello {

void clamp_limits(const Spec& spec, Limits& limits) {
  // What no operand can come to is no limit. Small operands come to each nearer cache at most once,
  // in whole or in parts that no power of two spreads out, and a chain may have one buffer of the
  // size of the output. Rounding down after these few allocations loses less than half of what is
  // left.
  constexpr u64 kAny = u64{1} << 40;
  u64 l1 = 0, l2 = 0;
  auto lines_of = [&](const Operand& x) -> u64 {
    if (run_alias(x) > 0 || window_alias(x) > 0) return kAny;
    const Footprint f = footprint(spec, x);
    if (f.bytes >= 8 * kLineBytes) return kAny;
    // What is cut may begin anywhere; and pages need room too.
    return std::max(f.lines + std::max<u64>(f.runs, 2), resident_lines(spec, x, Level::kL2));
  };
  limits.at(Bank::kTile) = 0;  // no action puts an operand there yet
  const bool may_buffer = !is_single(spec) && combines(spec);
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    const bool buffers = may_buffer && o == spec.out_index();
    if (x.level <= Level::kL1 && !buffers) continue;
    const u64 lines = lines_of(x);
    if (lines == kAny && x.level > Level::kL2) return;  // in both caches
    if (x.level > Level::kL1) l1 += lines;
    if (x.level > Level::kL2) l2 += lines;
    // As near as the output itself, if that is read after the sums.
    if (buffers && (x.level > Level::kL1 || reads_output_late(spec))) {
      l1 += lines;
      l2 += lines;
    }
  }
  if (l1 >= kAny && l2 >= kAny) return;
  // Of values of a graph each may have a buffer, which may come nearer; of those of an elementwise
  // chain one that is broadcast.
  const bool chain = is_chain(spec);
  const int broadcast = chain && !combines(spec) ? broadcast_stage(spec) : -1;
  if (!chain || broadcast >= 0) {
    const std::array<DimMask, kMaxStages> dims = dims_of_stages(spec);
    for (int s = 0; s < spec.stage_count; s++) {
      if (chain && s != broadcast) continue;
      const DimMask of_value = static_cast<DimMask>(dims[s] & ~spec.stage[s].reduce);
      const u64 elements = points_of(spec, of_value);
      const u64 most = 8 * kLineBytes / 4;
      const u64 lines = elements < most ? ceil_div(4 * elements, kLineBytes) + 1 : kAny;
      l1 += lines;
      l2 += lines;
    }
  }
  if (const int o = bordered_operand(spec); o >= 0) {
    const Spec whole = with_borders_inside(spec, o);
    u64 lines = footprint(whole, padded_operand(spec, o, Level::kL1)).lines;
    if (const LayoutChoice groups = layout_of(spec, o, LayoutOption::kGrouped, 0); groups.valid)
      lines = std::max(lines,
                       footprint(whole, padded_operand(spec, o, Level::kL1, groups.layout)).lines);
    l1 += 2 * lines;  // there it may come nearer
    l2 += 2 * lines;
  }
  if (spec.diagonal.used()) {
    const Operand mask = mask_operand(spec, Level::kL1);
    const u64 lines =
        footprint(spec, mask).bytes < 8 * kLineBytes ? 2 * elements(spec, mask) : kAny;
    l1 += 2 * lines;  // there it may come nearer
    l2 += 2 * lines;
  }
  limits.at(Level::kL1) = std::min(limits.at(Level::kL1), code_at_least(2 * l1));
  limits.at(Level::kL2) = std::min(limits.at(Level::kL2), code_at_least(2 * l2));
}

}  // namespace morello

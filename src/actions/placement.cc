// SPDX-License-Identifier: MIT
#include "actions/placement.hh"

#include <algorithm>
#include <bit>

namespace morello {

u64 resident_lines(const Spec& spec, const Operand& operand, Level cache) {
  Footprint f = footprint(spec, operand);
  // One way of an L1 is a page, one of an L2 is up to 64 KiB.
  u32 alias = cache == Level::kL1 ? std::min(operand.alias, kMaxAliasL1) : operand.alias;
  return f.runs == 1 ? f.lines : std::max(f.lines, f.runs << alias);
}

LayoutChoice layout_of(const Spec& spec, int operand, LayoutOption option, u32 panel) {
  const Operand& x = spec.operand[operand];
  Layout same = plain_layout(x.layout);
  if (option == LayoutOption::kSame) return {true, same};

  if (x.windows) return {};  // its axes are no dimensions that could be ordered apart
  DimMask reduced = spec.reduced() & x.dims;
  u8 v = unit_dim(spec.out());
  DimMask parallel = static_cast<DimMask>(x.dims & ~reduced);
  if (!reduced || !parallel) return {};
  // The dimension that stays next to the fastest place: the vector one, or the last row dimension.
  u8 fast = v != kNoDim && has_dim(parallel, v) ? v : static_cast<u8>(std::bit_width(parallel) - 1);

  Layout l;
  auto append = [&](DimMask mask) {
    for (u8 d = 0; d < spec.rank; d++)
      if (has_dim(mask, d)) l.append(d);
  };
  const bool panels = option == LayoutOption::kPanels;
  if (panels && (panel >= spec.size[fast] || std::popcount(x.dims) == kMaxPhysical))
    return {};  // one panel: kReducedSlow
  append(static_cast<DimMask>(parallel & ~(1u << fast)));
  if (option == LayoutOption::kReducedSlow) append(reduced);
  l.append(fast);
  if (option != LayoutOption::kReducedSlow) append(reduced);
  if (panels) {
    l.append(fast, static_cast<u8>(panel));
    return {true, l};
  }
  return {l != same, l};
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "cost/model.hh"

namespace morello {
namespace {

/// Of so many runs, which are far apart and read in turns, prefetchers follow some. Lines of the
/// others are late, but for those of the first kFarBytes of each, which come with its beginning.
u64 late_lines(const Footprint& f, i64 streams) {
  const u64 early = kFarBytes / kLineBytes, followed = static_cast<u64>(streams);
  if (streams == 0 || f.runs <= followed || f.lines <= early * f.runs) return 0;
  return (f.lines / f.runs - early) * (f.runs - followed);
}

i64 price(const Footprint& f, const Operand& operand, const LevelModel& level) {
  i64 units = saturating_mul(f.lines, level.line_units);
  if (operand.far) {
    units = saturating_add(units, saturating_mul(f.runs, level.run_units));
    units = saturating_add(units, saturating_mul(late_lines(f, level.streams), level.line_units));
  }
  return operand.access == Access::kIn ? units : saturating_mul(2, units);
}

}  // namespace

i64 step_units(const Spec& spec, const Operand& operand, const Target& target) {
  return price(footprint(spec, operand), operand, target.at(operand.level));
}

i64 traffic_units(const Spec& spec, const Operand& operand, const Target& target) {
  if (operand.level <= Level::kL1) return 0;
  Footprint f = footprint(spec, operand);
  i64 units = 0;
  for (int l = static_cast<int>(Level::kL2); l <= static_cast<int>(operand.level); l++)
    units = saturating_add(units, price(f, operand, target.at(static_cast<Level>(l))));
  return units;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
#include "table/words.hh"

#include <charconv>

#include "impl/microkernel_id.hh"
#include "support/number.hh"

namespace morello {
namespace {

template <class Number>
std::string number_text(Number value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string constant_text(const Stage& stage) {
  const double value = number_of_bits(stage.dtype, stage.constant);
  return stage.dtype == Dtype::kI32 ? number_text(value) : number_text(static_cast<float>(value));
}

std::string stage_text(const Spec& key, const Stage& stage) {
  std::string s(name_of(stage.op));
  if (stage.op == Op::kFill) return s + '(' + constant_text(stage) + ')';
  auto input = [&](Ref in) {
    if (in == kConstant) return constant_text(stage);
    if (is_operand(in)) return std::to_string(in);
    const bool previous = &stage == &key.stage[stage_of(in) + 1];
    return previous ? "previous" : "stage " + std::to_string(stage_of(in));
  };
  s += '(';
  for (int i = 0; i < kMaxInputs && stage.in[i] != kNoRef; i++)
    s += (i ? "," : "") + input(stage.in[i]);
  return s + ')';
}

std::string layout_of_action(const Action& a) {
  switch (a.option) {
    case LayoutOption::kSame:
      return "dense";
    case LayoutOption::kReducedFast:
      return "with reduced dimensions fastest";
    case LayoutOption::kReducedSlow:
      return "with reduced dimensions slowest";
    case LayoutOption::kPanels:
      return "in panels of " + std::to_string(a.size);
    case LayoutOption::kGrouped:
      return "in groups, with other reduced dimensions slowest";
    case LayoutOption::kGroupedPanels:
      return "in groups, in panels of " + std::to_string(a.size);
    case LayoutOption::kLines:
      return "by lines, in panels of " + std::to_string(a.size);
    case LayoutOption::kTurned:
      return "with another dimension fastest";
    case LayoutOption::kChannelsLast:
      return "with channels last";
  }
  return "?";
}

/// Anything may stand in a file.
std::string dim_of_action(const Spec& key, const Action& a) {
  return a.arg < key.rank ? dim_names(key)[a.arg] : "dimension " + std::to_string(a.arg);
}

std::string microkernel_text(const Action& a) {
  std::string_view name = name_of(static_cast<MicrokernelId>(a.arg));
  return name.empty() ? "microkernel " + std::to_string(a.arg) : std::string(name);
}

}  // namespace

std::string operand_text(const Operand& operand, const DimNames& names) {
  std::string s(name_of(operand.dtype));
  s += layout_text(operand, names);
  if (is_dense(operand)) return s;
  s += '~' + std::to_string(operand.contig);
  if (operand.far) s += operand.far == kPaged ? "paged" : "far";
  if (run_alias(operand)) s += "alias" + std::to_string(run_alias(operand));
  if (is_ragged(operand)) s += "ragged";
  if (window_alias(operand)) s += "rows" + std::to_string(window_alias(operand));
  return s;
}

std::string key_text(const Spec& key) {
  const DimNames names = dim_names(key);
  std::string s;
  for (int i = 0; i < key.stage_count; i++) s += (i ? "+" : "") + stage_text(key, key.stage[i]);
  for (int o = 0; o < key.out_index(); o++) s += ' ' + operand_text(key.operand[o], names);
  return s + " -> " + operand_text(key.out(), names);
}

std::string axis_name(const Spec& key, size_t axis) {
  if (axis == kAxisOverwrites) return "output";
  if (axis == kAxisParallel) return "loops";
  if (axis >= kAxisLimit) {
    if (axis == kAxisLimit + Limits::kTiles) return "tiles";
    const Level level = static_cast<Level>(axis - kAxisLimit);
    return level == Level::kRegister ? "registers" : std::string(name_of(level));
  }
  if (axis >= kAxisLevel) return "operand" + std::to_string(axis - kAxisLevel);
  const size_t d = axis - kAxisSize;
  return d < key.rank ? dim_names(key)[d] : "unused" + std::to_string(d);
}

std::string coordinate_text(size_t axis, u32 at) {
  if (axis == kAxisOverwrites) return at ? "overwritten" : "updated";
  if (axis == kAxisParallel) return at ? "parallel" : "serial";
  if (axis < kAxisLevel) return std::to_string(u64{at} + 2);
  if (axis < kAxisLimit) return std::string(name_of(static_cast<Level>(at)));
  if (axis == kAxisLimit || axis == kAxisLimit + Limits::kTiles) return std::to_string(at);
  return std::to_string(lines_of_code(at) * kLineBytes);
}

std::string action_text(const Spec& key, const Action& a) {
  const std::string operand = "operand " + std::to_string(a.arg);
  const std::string by = dim_of_action(key, a) + " by " + std::to_string(a.size);
  const std::string level(name_of(a.level));
  switch (a.kind) {
    case ActionKind::kView:
      return "keep " + operand + " nearer";
    case ActionKind::kPack:
      return "pack " + operand + " at " + level + ' ' + layout_of_action(a);
    case ActionKind::kWiden:
      return "widen " + operand + " at " + level + ' ' + layout_of_action(a);
    case ActionKind::kPad:
      return "pad " + operand + " at " + level + ' ' + layout_of_action(a);
    case ActionKind::kDivide:
      return "divide " + by;
    case ActionKind::kMask:
      return "mask at " + level;
    case ActionKind::kIndex:
      return "at the place that stage " + std::to_string(a.arg) + " gathers";
    case ActionKind::kRescale:
      return "rescale rows of stage " + std::to_string(a.arg) + " by blocks of " +
             std::to_string(a.size) + ", with buffers at " + level;
    case ActionKind::kRegisters:
      return "move " + operand + " to registers";
    case ActionKind::kAccumulate:
      return "fill, then accumulate";
    case ActionKind::kBufferize:
      return a.level == Level::kRegister ? "split, in place or in a register tile"
                                         : "split, with a buffer at " + level;
    case ActionKind::kBufferizeFold:
      return "split behind stage " + std::to_string(a.arg) + " and what it combines, " +
             (a.level == Level::kRegister ? "that in an output" : "with buffers at " + level);
    case ActionKind::kSelect:
      return "select " + microkernel_text(a);
    case ActionKind::kTile:
      return "tile " + by;
    case ActionKind::kParallelTile:
      return "parallel tile " + by;
    case ActionKind::kChoose:
      return "choose " + operand + ' ' + layout_of_action(a);
  }
  return "?";
}

std::string ranges_text(const Spec& key, u32 axes, const GridBox& box) {
  std::string s;
  for (size_t a = 0; a < kAxes; a++) {
    if (!(axes >> a & 1)) continue;
    if (!s.empty()) s += ", ";
    s += axis_name(key, a) + ' ' + coordinate_text(a, box.lo[a]);
    if (box.lo[a] != box.hi[a]) s += ".." + coordinate_text(a, box.hi[a]);
  }
  return s;
}

}  // namespace morello

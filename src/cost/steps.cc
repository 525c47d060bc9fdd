// SPDX-License-Identifier: MIT
#include "cost/steps.hh"

#include "cost/held.hh"
#include "cost/map_registers.hh"
#include "cost/shared.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// The last stage that combines; -1: none.
int last_reduction(const Spec& spec) {
  int s = spec.stage_count - 1;
  while (s >= 0 && !is_reduction(spec.stage[s])) s--;
  return s;
}

/// Is it a step on what the stage before has, of which nothing but the last one's result is stored?
bool is_step(const Spec& spec, int s) {
  const Stage& stage = spec.stage[s];
  if (stage.op == Op::kKeep || stage.dtype != spec.stage[s - 1].dtype) return false;
  bool reads_previous = false;
  for (Ref in : stage.in) {
    if (in == value_of(s - 1))
      reads_previous = true;
    else if (in != kNoRef && in != kConstant)
      return false;
  }
  const bool last = s + 1 == spec.stage_count;
  return reads_previous && stage.out == (last ? static_cast<Ref>(spec.out_index()) : kNoRef);
}

}  // namespace

bool has_result_steps(const Spec& spec) {
  const int r = last_reduction(spec);
  if (r < 0 || r + 1 == spec.stage_count || spec.out().access != Access::kOut) return false;
  if (spec.stage[r].out != kNoRef || spec.out().level == Level::kRegister) return false;
  for (int s = r + 1; s < spec.stage_count; s++)
    if (!is_step(spec, s)) return false;
  return true;
}

Spec without_steps(const Spec& spec) {
  if (!has_result_steps(spec)) return spec;
  Spec core = spec;
  const int r = last_reduction(spec);
  for (int s = r + 1; s < spec.stage_count; s++) core.stage[s] = Stage{};
  core.stage_count = static_cast<u8>(r + 1);
  core.stage[r].out = static_cast<Ref>(spec.out_index());
  return core;
}

Spec steps_alone(const Spec& spec) {
  const int first = last_reduction(spec) + 1;
  Spec steps{};
  steps.stage_count = static_cast<u8>(spec.stage_count - first);
  steps.operand_count = 2;
  Operand in, out;
  in.dtype = spec.stage[first - 1].dtype;
  in.level = Level::kL1;
  in.access = Access::kIn;
  out.dtype = spec.out().dtype;
  out.level = Level::kL1;
  out.access = Access::kOut;
  steps.operand = {in, out};
  for (int s = 0; s < steps.stage_count; s++) {
    Stage& stage = steps.stage[s] = spec.stage[first + s];
    for (Ref& ref : stage.in)
      if (is_value(ref)) ref = s == 0 ? Ref{0} : value_of(s - 1);
    if (stage.out != kNoRef) stage.out = static_cast<Ref>(steps.out_index());
  }
  return steps;
}

i64 step_units_of_result(const Spec& spec, const Target& target) {
  return has_result_steps(spec) ? scalar_ops(steps_alone(spec), 0, target) : 0;
}

u32 step_registers(const Spec& spec, const Target& target) {
  return has_result_steps(spec) ? map_registers(steps_alone(spec), target, true).count() : 0;
}

}  // namespace morello

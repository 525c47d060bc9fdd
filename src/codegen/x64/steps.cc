// SPDX-License-Identifier: MIT
#include "codegen/x64/steps.hh"

#include "codegen/x64/chain.hh"
#include "cost/steps.hh"

namespace morello::x64 {

PlanCall without_steps(const PlanCall& call) {
  PlanCall core = call;
  core.spec = morello::without_steps(call.spec);
  return core;
}

void store_by_steps(Vectors& as, const PlanCall& call, u32 result, u32 first_free) {
  PlanCall steps = call;
  steps.spec = steps_alone(call.spec);
  steps.first_free = static_cast<u16>(first_free);
  Chain chain(as, steps, true);
  chain.prepare(1, Lanes{});
  Chain::Sources sources;
  sources[0].in_register = true;
  sources[0].index = result;
  sources[1].base = as.pointer(call.operand[call.spec.out_index()].cursor);
  chain.compute(Lanes{}, sources);
}

}  // namespace morello::x64

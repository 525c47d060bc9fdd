// SPDX-License-Identifier: MIT
#include "codegen/starts.hh"

#include "cost/model.hh"
#include "cost/reduce.hh"
#include "spec/roles.hh"

namespace morello {

bool takes_over(const PlanCall& fill, PlanCall& call) {
  if (call.id != MicrokernelId::kReduceRows || fill.id != MicrokernelId::kMap ||
      !is_single(fill.spec) || !can_start(call.spec))
    return false;
  const Stage &filled = head_of(fill.spec), &head = head_of(call.spec);
  const PlanOperand &tile = fill.operand[fill.spec.out_index()],
                    &result = call.operand[call.spec.out_index()];
  if (filled.op != Op::kFill || filled.dtype != head.dtype ||
      filled.constant != neutral_bits(head) || !tile.in_registers ||
      tile.first_register != result.first_register ||
      elements(fill.spec, fill.spec.out()) != elements(call.spec, call.spec.out()))
    return false;
  call.starts = true;
  call.results = fill.results;
  return true;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Statement -> canonical Spec. Equal problems become equal Specs: dimensions of size 1 are dropped,
// adjacent ones that every operand could as well index as one are merged, and the rest are numbered
// by the layouts of the operands, not by the axes of the user.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "spec/canonical.hh"
#include "spec/draft.hh"
#include "spec/graph.hh"
#include "spec/roles.hh"
#include "support/number.hh"

namespace morello {
namespace {

using Head = Statement::Head;

Draft make_draft(const Statement& s, const Space& space) {
  Draft draft;
  draft.operands = static_cast<int>(s.tensors.size());
  std::vector<Draft::Dim> all(space.rank);
  for (int d = 0; d < space.rank; d++) all[d].size = space.size[d];
  for (int o = 0; o < draft.operands; o++) {
    const Tensor& t = s.tensors[o];
    std::vector<i64> strides =
        t.kind == Tensor::Kind::kFree ? row_major_strides(t.shape) : t.strides;
    for (size_t axis = 0; axis < strides.size(); axis++)
      if (space.axes[o][axis] != kBroadcast) all[space.axes[o][axis]].stride[o] = strides[axis];
  }
  for (const Draft::Dim& dim : all)
    if (dim.size > 1) draft.dims.push_back(dim);
  return draft;
}

Stage head_stage(const Statement& s, DimMask reduced) {
  switch (s.head) {
    case Head::kMatmul:
    case Head::kEinsum:
      return make_stage(Op::kMulAdd, 0, 1, reduced);
    case Head::kUnary:
      return make_stage(s.op, 0);
    case Head::kBinary:
      return make_stage(s.op, 0, 1);
    case Head::kTernary:
      return make_stage(s.op, 0, 1, 0, 2);
    case Head::kReduce:
      return make_stage(s.op, 0, kNoRef, reduced);
    case Head::kMove:
    case Head::kTranspose:
      return make_stage(Op::kCopy, 0);
    case Head::kFill:
    case Head::kGraph:
      break;
  }
  return make_stage(Op::kFill);
}

/// A reduction over no dimension is elementwise. Only `out += a * b` stays a multiply-add (kInOut,
/// `reduce` empty), because it rounds once.
Stage without_reduction(Stage stage, bool accumulate, Ref out) {
  if (stage.op == Op::kMulAdd) {
    if (!accumulate) stage.op = Op::kMul;
  } else if (!accumulate) {
    stage.op = Op::kCopy;
  } else if (stage.op == Op::kAdd) {
    stage.in[1] = out;
  } else {
    stage.in[1] = stage.in[0];  // the running value comes first: it matters for NaN
    stage.in[0] = out;
  }
  return stage;
}

/// Each stage but the first reads the value of the one before.
std::vector<Stage> make_stages(const Statement& s, DimMask reduced) {
  const Ref out = static_cast<Ref>(s.tensors.size() - 1);
  const bool may_reduce =
      s.head == Head::kMatmul || s.head == Head::kEinsum || s.head == Head::kReduce;
  // What is summed in a wider element type than the output's is added to it in the end.
  bool integers = may_reduce;
  for (int i = 0; i < head_inputs(s.head); i++) integers &= is_integer(s.tensors[i].dtype);
  const bool same_type = s.tensors.back().dtype == (integers ? Dtype::kI32 : Dtype::kF32);
  const bool combines = s.accumulate && may_reduce && s.steps.empty() && same_type;
  std::vector<Stage> stages = {head_stage(s, reduced)};
  if (may_reduce && reduced == 0) stages[0] = without_reduction(stages[0], combines, out);
  for (const Step& step : s.steps)
    stages.push_back(make_stage(step.op, kFirstValue,
                                step.operand < 0 ? kNoRef : static_cast<Ref>(step.operand)));
  const bool greatest = may_reduce && s.steps.empty() && (is_greatest(s.op) || is_least(s.op));
  if (s.accumulate && !combines)
    stages.push_back(greatest ? make_stage(s.op, out, kFirstValue)
                              : make_stage(Op::kAdd, kFirstValue, out));
  if (stages[0].op == Op::kCopy && stages.size() > 1) {
    for (Ref& in : stages[1].in)
      if (is_value(in)) in = stages[0].in[0];
    stages.erase(stages.begin());
  }
  for (size_t i = 1; i < stages.size(); i++)
    for (Ref& in : stages[i].in)
      if (is_value(in)) in = value_of(static_cast<int>(i) - 1);
  stages.back().out = out;
  return stages;
}

/// Each is computed in what the operands and values that it reads are computed in: in f32 if one of
/// them is, or if it does nothing but copy them to one.
void set_dtypes(Spec& spec) {
  for (int s = 0; s < spec.stage_count; s++) {
    Stage& stage = spec.stage[s];
    if (stage.op == Op::kCopy && stage.out != kNoRef) {
      stage.dtype = copied_in(spec.operand[stage.in[0]].dtype, spec.out().dtype);
      continue;
    }
    bool any = false, integer = true;
    for (Ref in : stage.in) {
      if (in == kNoRef || in == kConstant) continue;
      any = true;
      integer &=
          is_integer(is_operand(in) ? spec.operand[in].dtype : spec.stage[stage_of(in)].dtype);
    }
    if (!any) integer = is_integer(spec.out().dtype);
    stage.dtype = integer && has_integers(stage.op) ? Dtype::kI32 : Dtype::kF32;
  }
}

MaybeFault fill_in_stages(const Statement& s, Spec& spec) {
  DimMask reduced = static_cast<DimMask>(spec.all_dims() & ~spec.out().dims);
  std::vector<Stage> stages = make_stages(s, reduced);
  if (stages.size() > kMaxStages)
    return fault(MORELLO_UNSUPPORTED, {Place::Kind::kTensor, spec.out_index()},
                 "'+=' counts as a step, and at most ", kMaxSteps, " steps are supported");
  spec.stage_count = static_cast<u8>(stages.size());
  std::copy(stages.begin(), stages.end(), spec.stage.begin());
  set_dtypes(spec);
  if (s.head == Head::kFill)
    spec.stage[0].constant = bits_of_number(
        head_of(spec).dtype,
        std::isnan(s.fill_value) ? std::numeric_limits<double>::quiet_NaN() : s.fill_value);
  if (!round_to_f32(spec))
    return fault(MORELLO_UNSUPPORTED, {Place::Kind::kTensor, spec.out_index()},
                 "an i32 result is rounded to f32 before it is written as ",
                 name_of(spec.out().dtype), ", which counts as a step, and at most ", kMaxSteps,
                 " steps are supported; let one operand be f32, or leave out a step");
  return std::nullopt;
}

}  // namespace

MaybeFault canonicalise(const Statement& s, const Space& space, Lowered& lowered) {
  if (s.head == Head::kGraph) return lower_graph(s, lowered);
  std::vector<int> arguments(s.tensors.size());
  std::iota(arguments.begin(), arguments.end(), 0);
  Draft draft = make_draft(s, space);
  if (auto f = place_operands(s, arguments, draft, lowered)) return f;
  return fill_in_stages(s, lowered.spec);
}

Result<Lowered> lower(const Statement& s) {
  Space space;
  if (auto f = check(s, space)) return std::move(f->error);
  Lowered lowered;
  if (auto f = canonicalise(s, space, lowered)) return std::move(f->error);
  assert_canonical(lowered.spec);
  return lowered;
}

}  // namespace morello

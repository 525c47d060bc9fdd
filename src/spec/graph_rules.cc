// SPDX-License-Identifier: MIT
#include "spec/graph_rules.hh"

#include <utility>

namespace morello {

using Kind = Source::Kind;

void normalise(GraphStage& stage) {
  Source &x = stage.in[0], &y = stage.in[1];
  const bool commutes =
      stage.op == Op::kAdd || stage.op == Op::kMul || stage.op == Op::kMax || stage.op == Op::kMin;
  auto rank = [](const Source& s) {
    return s.kind == Kind::kStage ? 0 : s.kind == Kind::kTensor ? 1 : 2;
  };
  if (commutes && y.kind != Kind::kNone && rank(x) > rank(y)) std::swap(x, y);
  if (stage.op == Op::kMulAdd && stage.reduce.empty()) stage.op = Op::kMul;
  if (stage.op == Op::kMul && x == y) {
    stage.op = Op::kSquare;
    y = {};
  }
  if (stage.op == Op::kDiv && is_number(x, 1)) {
    stage.op = Op::kRecip;
    x = y;
    y = {};
  }
}

bool is_never_positive(std::span<const GraphStage> stages, std::span<const Dtype> computed,
                       const Source& value) {
  if (value.kind != Kind::kStage) return false;
  const GraphStage& difference = stages[static_cast<size_t>(value.index)];
  if (difference.op != Op::kSub || computed[static_cast<size_t>(value.index)] != Dtype::kF32)
    return false;
  const Source &elements = difference.in[0], &most = difference.in[1];
  if (elements.kind == Kind::kNumber || most.kind != Kind::kStage) return false;
  const GraphStage& greatest = stages[static_cast<size_t>(most.index)];
  return is_greatest(greatest.op) && greatest.in[1].kind == Kind::kNone &&
         greatest.in[0] == elements;
}

}  // namespace morello

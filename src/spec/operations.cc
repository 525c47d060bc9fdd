// SPDX-License-Identifier: MIT
#include "spec/operations.hh"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "spec/check.hh"

namespace morello {
namespace {

using Values = ParameterRow::Values;

constexpr ParameterRow kParameters[] = {
    {Parameter::kAxis, "axis", Values::kIntegers, "an axis"},
    {Parameter::kKeep, "keep", Values::kNone, ""},
    {Parameter::kPerm, "perm", Values::kIntegers, "an axis"},
    {Parameter::kShape, "shape", Values::kIntegers, "a size"},
    {Parameter::kScale, "scale", Values::kNumber, "a number"},
    {Parameter::kEps, "eps", Values::kNumber, "a number"},
    {Parameter::kWindow, "window", Values::kIntegers, "a size"},
    {Parameter::kStride, "stride", Values::kIntegers, "a step"},
    {Parameter::kDilation, "dilation", Values::kIntegers, "a distance"},
    {Parameter::kPadding, "padding", Values::kIntegers, "a width"},
    {Parameter::kGroups, "groups", Values::kIntegers, "a number of groups"},
    {Parameter::kNhwc, "nhwc", Values::kNone, ""},
    {Parameter::kCausal, "causal", Values::kNone, ""},
    {Parameter::kOffset, "offset", Values::kIntegers, "a number of columns"},
};

template <class... P>
constexpr u32 bits(P... parameters) {
  return (0u | ... | bit_of(parameters));
}
constexpr u32 kAxes = bits(Parameter::kAxis);
constexpr u32 kKept = bits(Parameter::kAxis, Parameter::kKeep);
constexpr u32 kNorm = bits(Parameter::kAxis, Parameter::kEps);
constexpr u32 kWindows =
    bits(Parameter::kStride, Parameter::kDilation, Parameter::kPadding, Parameter::kNhwc);
constexpr u32 kPool = kWindows | bits(Parameter::kWindow);

constexpr OperationRow kOwnRows[] = {
    {"matmul", Operation::kMatmul, Op::kCopy, 2, 2},
    {"einsum", Operation::kEinsum, Op::kCopy, 2, 2},
    {"scaled_matmul", Operation::kScaledMatmul, Op::kCopy, 3, 4},
    {"reduce_sum", Operation::kReduce, Op::kAdd, 1, 1, kKept, kAxes},
    {"reduce_max", Operation::kReduce, Op::kMax, 1, 1, kKept, kAxes},
    {"reduce_min", Operation::kReduce, Op::kMin, 1, 1, kKept, kAxes},
    {"reduce_fast_max", Operation::kReduce, Op::kFastMax, 1, 1, kKept, kAxes},
    {"reduce_fast_min", Operation::kReduce, Op::kFastMin, 1, 1, kKept, kAxes},
    {"mean", Operation::kMean, Op::kCopy, 1, 1, kKept, kAxes},
    {"logsumexp", Operation::kLogsumexp, Op::kCopy, 1, 1, kKept, kAxes},
    {"softmax", Operation::kSoftmax, Op::kCopy, 1, 1, kAxes, kAxes},
    {"log_softmax", Operation::kLogSoftmax, Op::kCopy, 1, 1, kAxes, kAxes},
    {"layernorm", Operation::kLayernorm, Op::kCopy, 1, 3, kNorm, kAxes},
    {"rmsnorm", Operation::kRmsnorm, Op::kCopy, 1, 2, kNorm, kAxes},
    {"attention", Operation::kAttention, Op::kCopy, 3, 4,
     bits(Parameter::kScale, Parameter::kCausal, Parameter::kOffset)},
    {"causal_mask", Operation::kCausalMask, Op::kCopy, 1, 1, bits(Parameter::kOffset)},
    {"gather", Operation::kGather, Op::kCopy, 2, 2, kAxes, kAxes},
    {"gather_elements", Operation::kGatherElements, Op::kCopy, 2, 2, kAxes, kAxes},
    {"conv2d", Operation::kConv2d, Op::kCopy, 2, 2, kWindows | bits(Parameter::kGroups)},
    {"max_pool", Operation::kMaxPool, Op::kCopy, 1, 1, kPool, bits(Parameter::kWindow)},
    {"avg_pool", Operation::kAvgPool, Op::kCopy, 1, 1, kPool, bits(Parameter::kWindow)},
    {"move", Operation::kMove},
    {"transpose", Operation::kTranspose, Op::kCopy, 1, 1, bits(Parameter::kPerm)},
    {"reshape", Operation::kReshape, Op::kCopy, 1, 1, bits(Parameter::kShape),
     bits(Parameter::kShape)},
    {"cast", Operation::kCast},
    {"clamp", Operation::kClamp, Op::kCopy, 3, 3},
    {"pow", Operation::kPow, Op::kCopy, 2, 2},
};

constexpr size_t kOwn = std::size(kOwnRows);
constexpr auto kRows = [] {
  std::array<OperationRow, kOwn + std::size(kElementwise)> rows{};
  for (size_t i = 0; i < kOwn; i++) rows[i] = kOwnRows[i];
  for (size_t i = 0; i < std::size(kElementwise); i++) {
    const Elementwise& e = kElementwise[i];
    const Operation operation = e.inputs == 1   ? Operation::kUnary
                                : e.inputs == 2 ? Operation::kBinary
                                                : Operation::kTernary;
    rows[kOwn + i] = {e.name, operation, e.op, e.inputs, e.inputs};
  }
  return rows;
}();

}  // namespace

std::span<const ParameterRow> parameters() { return kParameters; }
const ParameterRow& row_of(Parameter p) { return kParameters[static_cast<size_t>(p)]; }

std::span<const OperationRow> operations() { return kRows; }

const OperationRow* find_operation(std::string_view name) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](auto& r) { return r.name == name; });
  return row == kRows.end() ? nullptr : &*row;
}

const OperationRow* find_operation(Operation operation, Op op) {
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](auto& r) { return r.operation == operation && r.op == op; });
  return row == kRows.end() ? nullptr : &*row;
}

namespace {

/// Letters that one word needs to become another, upper case or not.
size_t letters_apart(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); i++) {
    size_t before = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); j++) {
      const size_t changed = before + (small(a[i]) != small(b[j]));
      before = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, before + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string after_unknown(std::string_view word) {
  constexpr size_t kLongest = 40;
  std::string_view best;
  size_t least = std::min<size_t>(word.size() / 3, 2) + 1;
  for (const OperationRow& row : kRows) {
    const size_t apart = word.size() > kLongest ? least : letters_apart(word, row.name);
    if (apart < least) least = apart, best = row.name;
  }
  return best.empty() ? "; known are " : concat("; did you mean '", best, "'? Known are ");
}

std::string operation_names() {
  std::string names;
  for (const OperationRow& row : kRows) names += concat(names.empty() ? "" : ", ", row.name);
  return names;
}

const std::vector<double>* setting_of(const Node& node, Parameter parameter) {
  for (const Node::Setting& s : node.settings)
    if (s.parameter == parameter) return &s.values;
  return nullptr;
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Statement: a Spec as its user states it: operands with axes in their own order and exact strides.
// lower() turns it into the canonical Spec of the search, and the strides that the plan needs.
#ifndef MORELLO_SPEC_STATEMENT_HH
#define MORELLO_SPEC_STATEMENT_HH

#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.hh"
#include "spec/view.hh"
#include "support/result.hh"

namespace morello {

struct Tensor {
  enum class Kind : u8 { kStrided = 0, kFree = 1 };
  Dtype dtype = Dtype::kF32;
  Kind kind = Kind::kStrided;
  std::vector<i64> shape;    // elements per axis
  std::vector<i64> strides;  // elements; as many as shape (empty if kFree)
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// One elementwise step after the head operation: op(previous) or op(previous, last new operand).
struct Step {
  Op op;
  int operand;  // index into Statement::tensors, or -1 for unary operations
  friend bool operator==(const Step&, const Step&) = default;
};

/// What a node of a graph does. Rows: kOperations in spec/operations.hh.
enum class Operation : u8 {
  kMatmul,
  kEinsum,
  kUnary,
  kBinary,
  kTernary,
  kReduce,
  kMove,
  kTranspose,
  kReshape,
  kCast,
  kClamp,
  kPow,
  kMean,
  kSoftmax,
  kLogSoftmax,
  kLogsumexp,
  kLayernorm,
  kRmsnorm,
  kAttention,
  kConv2d,
  kMaxPool,
  kAvgPool,
  kScaledMatmul,
  kCausalMask,
  kGather,
  kGatherElements,
};

/// What a node is told besides its inputs.
enum class Parameter : u8 {
  kAxis,
  kKeep,
  kPerm,
  kShape,
  kScale,
  kEps,
  kWindow,
  kStride,
  kDilation,
  kPadding,
  kGroups,
  kNhwc,
  kCausal,
  kOffset,
};

/// One operation of a graph.
struct Node {
  struct Input {
    enum class Kind : u8 { kTensor, kNode, kNumber };
    Kind kind = Kind::kTensor;
    int index = 0;      // of the Statement's tensor, or of an earlier node
    double number = 0;  // an integer of i32, or rounded to f32
    friend bool operator==(const Input&, const Input&);
  };
  struct Setting {
    Parameter parameter = Parameter::kAxis;
    std::vector<double> values;  // integers, but for kScale and kEps
    friend bool operator==(const Setting&, const Setting&) = default;
  };
  Operation operation = Operation::kMove;
  Op op = Op::kCopy;          // of kUnary, kBinary, kTernary, kReduce
  Dtype dtype = Dtype::kF32;  // of kCast
  std::string subscripts;     // of kEinsum
  std::vector<Input> inputs;
  std::vector<Setting> settings;  // by rising parameter, each once
  friend bool operator==(const Node&, const Node&) = default;
};

/// An output of a graph that has several.
struct GraphOutput {
  int node = 0;  // whose value it is
  bool accumulate = false;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};

struct Statement {
  enum class Head : u8 {
    kMatmul,
    kEinsum,
    kUnary,
    kBinary,
    kTernary,
    kReduce,
    kMove,
    kTranspose,
    kFill,
    kGraph
  };
  Head head = Head::kMove;
  Op op = Op::kCopy;             // of kUnary, kBinary, kTernary, kReduce
  std::string subscripts;        // of kEinsum, such as "bmk,bkn->bmn"
  std::vector<u32> permutation;  // of kTranspose
  u32 axis = 0;                  // of kReduce
  double fill_value = 0;         // of kFill: an f32, or what an integer output has
  bool accumulate = false;
  std::vector<Tensor> tensors;  // inputs, those of the steps last; then the output, or outputs
  std::vector<Step> steps;
  std::vector<Node> nodes;  // of kGraph
  /// Of kGraph, two or more in the order of their tensors. None: the last node is the result.
  std::vector<GraphOutput> outputs;
  /// The same text when printed: 0 and -0 differ, all NaNs are equal.
  friend bool operator==(const Statement&, const Statement&);
};

inline int output_count(const Statement& s) noexcept {
  return s.outputs.empty() ? 1 : static_cast<int>(s.outputs.size());
}
/// Output `index` of a graph.
inline GraphOutput output_of(const Statement& s, int index) {
  return s.outputs.empty() ? GraphOutput{static_cast<int>(s.nodes.size()) - 1, s.accumulate}
                           : s.outputs[static_cast<size_t>(index)];
}

/// A Statement that was checked, with its canonical Spec.
struct Lowered {
  Spec spec;
  /// The view of each operand over the dimensions of `spec`.
  std::array<View, kMaxOperands> view{};
  /// Which tensor of the Statement each operand is: of graphs, stages read inputs in an order of
  /// their own.
  std::array<u8, kMaxOperands> argument{};
  /// Bytes from the first to past the last element of each operand (free layouts: row-major).
  std::array<u64, kMaxOperands> bytes{};
};

/// REQUIRES: nothing. Everything that can be wrong with a Statement is found here; the error has no
/// line and column.
Result<Lowered> lower(const Statement& statement);

/// docs/spec-language.md has the grammar. Errors have a line and column. What is parsed can be
/// lowered.
/// `run_time_size`: what the sizes "?" are (spec/sized.hh); 0: there may be none.
Result<Statement> parse(std::string_view text, i64 run_time_size = 0);
/// The one printed form: parse(print(s)) == s for every s that lower() or parse() accepts.
/// REQUIRES: one of them does.
std::string print(const Statement& statement);

/// Of the printed form: the same on every machine.
u64 hash_of(const Statement& statement);

/// Strides of a dense tensor in row-major order.
std::vector<i64> row_major_strides(const std::vector<i64>& shape);

}  // namespace morello

#endif

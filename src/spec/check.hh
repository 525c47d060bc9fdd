// SPDX-License-Identifier: MIT
// What parse(), print() and lower() share: the names of the operations, what a fault is about (so
// that the parser can point at it), and the iteration space of a Statement before it is made
// canonical.
#ifndef MORELLO_SPEC_CHECK_HH
#define MORELLO_SPEC_CHECK_HH

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/statement.hh"

namespace morello {

/// An operation that can begin a Statement. The elementwise ones are named like their Op, and those
/// of one or two inputs can be steps as well.
struct HeadName {
  std::string_view name;
  Statement::Head head;
  Op op = Op::kCopy;  // of kUnary, kBinary, kTernary, kReduce
  bool is_step() const {
    return head == Statement::Head::kUnary || head == Statement::Head::kBinary;
  }
};
/// All of them, in the order of messages.
std::vector<HeadName> head_names();
/// The name that is printed; "" if there is no such operation.
std::string_view head_name(Statement::Head head, Op op);

inline constexpr int kMaxSteps = kMaxStages - 1;

/// How many inputs a head has.
constexpr int head_inputs(Statement::Head head) {
  using Head = Statement::Head;
  switch (head) {
    case Head::kFill:
    case Head::kGraph:
      return 0;
    case Head::kUnary:
    case Head::kReduce:
    case Head::kMove:
    case Head::kTranspose:
      return 1;
    case Head::kMatmul:
    case Head::kEinsum:
    case Head::kBinary:
      return 2;
    case Head::kTernary:
      return 3;
  }
  return 0;
}
/// All inputs: those of the head and those of the steps.
int input_count(const Statement& statement);

/// What an error is about.
struct Place {
  enum class Kind : u8 {
    kHead,
    kArgument,  // the axis or number, or `entry`: a byte of the subscripts, of the permutation
    kTensor,
    kSize,    // of axis `entry`
    kLayout,  // of axis `entry`
    kNode,    // of a graph: node `tensor`
    kInput,   // `entry` of node `tensor`
    kSetting,
    kSubscripts,  // of node `tensor`, byte `entry`
  };
  Kind kind = Kind::kHead;
  int tensor = 0;  // index into Statement::tensors, or of a node
  int entry = 0;
};

struct Fault {
  Error error;
  Place place;
};
using MaybeFault = std::optional<Fault>;

inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, char part) { text += part; }
inline void append(std::string& text, std::integral auto part) { text += std::to_string(part); }

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

template <class... Parts>
Fault fault(Status status, Place place, const Parts&... parts) {
  return {{status, concat(parts...)}, place};
}

/// The iteration space as the Statement says it: nothing merged, axes of size 1 kept.
inline constexpr int kMaxSpaceDims = kMaxOperands * MORELLO_MAX_RANK;  // no axis alike
inline constexpr int kBroadcast = -1;  // an axis of size 1 that is repeated
struct Space {
  int rank = 0;
  std::array<i64, kMaxSpaceDims> size{};
  /// The dimension of each axis of each tensor, or kBroadcast.
  std::array<std::vector<int>, kMaxOperands> axes;
  /// The dimension of each axis of the head's result; the others are reduced.
  std::vector<int> result;
};

/// Everything that can be wrong with a Statement, except too many dimensions or stages. Fills
/// `space` on success.
MaybeFault check(const Statement& statement, Space& space);
/// Appends its outputs to a Statement that has all but them: row-major, of the element type that
/// the result is in, which docs/spec-language.md defines. REQUIRES: its head has inputs.
MaybeFault infer_output(Statement& statement);
/// The Spec and views of a Statement that check() found good; a fault if it has too many dimensions
/// or stages.
MaybeFault canonicalise(const Statement& statement, const Space& space, Lowered& lowered);

/// Steps of check(). Number and kind of everything, apart from shapes and layouts.
MaybeFault check_form(const Statement& statement, bool has_output);
/// The number that is filled with is one of the output's element type, or rounds to one.
/// REQUIRES: tensors that check_tensor() found good.
MaybeFault check_fill(const Statement& statement);
/// Element type, sizes and strides of one tensor.
MaybeFault check_tensor(const Statement& statement, int index);
/// The iteration space; without an output, as far as the inputs of the head decide it.
MaybeFault make_space(const Statement& statement, bool has_output, Space& space);

/// "input 0", "the output", "output 1" of several
std::string tensor_name(const Statement& statement, int index);
/// "f32, bf16, .."
std::string dtype_names();
/// The shortest text of a number to fill with that reads back as the same.
std::string number_text(Dtype dtype, double value);
/// With its layout, unless that is row-major.
std::string tensor_text(const Tensor& tensor);
/// "f32[64,768]"
std::string shape_name(const Tensor& tensor);
bool has_output_at(const Statement& statement, int index);

/// Of a tensor, or of a value of a graph.
inline constexpr i64 kMaxElements = (i64{1} << 31) - 1;
/// Strides of a dense tensor whose axes are, from fast to slow, `minor_to_major`. Wraps on
/// overflow. REQUIRES: a permutation of the axes.
std::vector<i64> dense_strides(const std::vector<i64>& shape, std::span<const i64> minor_to_major);
/// Elements from the first to past the last, or kTooLarge.
inline constexpr i64 kTooLarge = -1;
i64 span_elements(const Tensor& tensor);

}  // namespace morello

#endif

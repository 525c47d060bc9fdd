// SPDX-License-Identifier: MIT
// What may be wrong with a Statement apart from shapes and layouts, and the order of all checks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "spec/graph.hh"
#include "support/number.hh"

namespace morello {
namespace {

using Head = Statement::Head;

constexpr HeadName kOwnNames[] = {
    {"matmul", Head::kMatmul},
    {"einsum", Head::kEinsum},
    {"reduce_sum", Head::kReduce, Op::kAdd},
    {"reduce_max", Head::kReduce, Op::kMax},
    {"reduce_min", Head::kReduce, Op::kMin},
    {"reduce_fast_max", Head::kReduce, Op::kFastMax},
    {"reduce_fast_min", Head::kReduce, Op::kFastMin},
    {"move", Head::kMove},
    {"broadcast", Head::kMove},  // printed as "move"
    {"transpose", Head::kTranspose},
    {"fill", Head::kFill},
};

bool has_op(Head head) {
  return head == Head::kUnary || head == Head::kBinary || head == Head::kTernary ||
         head == Head::kReduce;
}

/// A field that the head does not use must have its default, or print() would lose it.
bool has_stray_fields(const Statement& s) {
  return (s.head != Head::kEinsum && !s.subscripts.empty()) ||
         (s.head != Head::kTranspose && !s.permutation.empty()) ||
         (s.head != Head::kReduce && s.axis != 0) || (!has_op(s.head) && s.op != Op::kCopy) ||
         (s.head != Head::kFill && std::bit_cast<u64>(s.fill_value) != 0) ||
         (s.head == Head::kGraph ? !s.steps.empty() || (s.accumulate && !s.outputs.empty())
                                 : !s.nodes.empty() || !s.outputs.empty());
}

MaybeFault check_steps(const Statement& s) {
  if (s.steps.size() > kMaxSteps)
    return fault(MORELLO_UNSUPPORTED, {}, "the Spec has ", s.steps.size(),
                 " steps after its operation; at most ", kMaxSteps, " are supported");
  int next = head_inputs(s.head);
  for (int i = 0; i < static_cast<int>(s.steps.size()); i++) {
    const Step& step = s.steps[i];
    if (!is_unary(step.op) && !is_binary(step.op))
      return fault(MORELLO_INVALID_ARGUMENT, {}, "step ", i, " has operation ",
                   static_cast<int>(step.op), "; it must be a unary or binary one of morello_op");
    if (step.operand != (is_unary(step.op) ? -1 : next++))
      return fault(
          MORELLO_INVALID_ARGUMENT, {}, "step ", i,
          is_unary(step.op) ? " is unary but has an operand" : " is binary: its operand must be",
          is_unary(step.op) ? "" : " the input after those before it");
  }
  if (next >= kMaxOperands)
    return fault(MORELLO_UNSUPPORTED, {}, "the Spec has ", next + 1,
                 " tensors, the output included; at most ", kMaxOperands, " are supported");
  return std::nullopt;
}

/// What both an element of the one type and one of the other can be computed in.
Dtype common(Dtype a, Dtype b) {
  return a == b ? a : is_integer(a) && is_integer(b) ? Dtype::kI32 : Dtype::kF32;
}

/// The element type of the result, as far as the inputs say: sums of integers are i32, whatever has
/// one type keeps it, all else is what it is computed in.
Dtype result_dtype(const Statement& s) {
  Dtype dtype = s.tensors[0].dtype;
  if (head_inputs(s.head) == 2) dtype = common(dtype, s.tensors[1].dtype);
  if (s.head == Head::kTernary) {  // what is selected from, computed in floats if the condition is
    const bool integer = is_integer(dtype);
    dtype = common(s.tensors[1].dtype, s.tensors[2].dtype);
    if (!integer && is_integer(dtype)) dtype = Dtype::kF32;
  }
  const bool sums = s.head == Head::kMatmul || s.head == Head::kEinsum ||
                    (s.head == Head::kReduce && s.op == Op::kAdd);
  if (sums && is_integer(dtype)) dtype = Dtype::kI32;
  auto apply = [&](Op op) {
    if (is_integer(dtype) && !has_integers(op)) dtype = Dtype::kF32;
  };
  apply(s.op);
  for (const Step& step : s.steps) {
    if (step.operand >= 0) dtype = common(dtype, s.tensors[step.operand].dtype);
    apply(step.op);
  }
  return dtype;
}

}  // namespace

std::vector<HeadName> head_names() {
  std::vector<HeadName> names(std::begin(kOwnNames), std::end(kOwnNames));
  for (const Elementwise& e : kElementwise)
    names.push_back({e.name,
                     e.inputs == 1   ? Head::kUnary
                     : e.inputs == 2 ? Head::kBinary
                                     : Head::kTernary,
                     e.op});
  return names;
}

std::string_view head_name(Head head, Op op) {
  if (head == Head::kUnary) return is_unary(op) ? name_of(op) : "";
  if (head == Head::kBinary) return is_binary(op) ? name_of(op) : "";
  if (head == Head::kTernary) return is_ternary(op) ? name_of(op) : "";
  for (const HeadName& row : kOwnNames)
    if (row.head == head && (row.op == op || head != Head::kReduce)) return row.name;
  return "";
}

int input_count(const Statement& s) {
  if (s.head == Head::kGraph) {
    int count = 0;
    for (const Node& node : s.nodes)
      for (const Node::Input& in : node.inputs)
        if (in.kind == Node::Input::Kind::kTensor) count = std::max(count, in.index + 1);
    return count;
  }
  auto has_operand = [](const Step& step) { return step.operand >= 0; };
  return head_inputs(s.head) +
         static_cast<int>(std::count_if(s.steps.begin(), s.steps.end(), has_operand));
}

bool has_output_at(const Statement& s, int index) { return index >= input_count(s); }

std::string tensor_name(const Statement& s, int index) {
  if (!has_output_at(s, index)) return concat("input ", index);
  return s.outputs.empty() ? "the output" : concat("output ", index - input_count(s));
}

std::string dtype_names() {
  std::string names;
  for (Dtype d : kAllDtypes) names += concat(names.empty() ? "" : ", ", name_of(d));
  return names;
}

std::string shape_name(const Tensor& t) {
  std::string text(name_of(t.dtype));
  text += '[';
  for (size_t i = 0; i < t.shape.size(); i++) text += concat(i ? "," : "", t.shape[i]);
  return text + ']';
}

MaybeFault check_form(const Statement& s, bool has_output) {
  if (s.head != Head::kGraph && head_name(s.head, s.op).empty())
    return fault(MORELLO_INVALID_ARGUMENT, {}, "operation ", static_cast<int>(s.op),
                 " is not one of its kind; see morello_op");
  if (has_stray_fields(s))
    return fault(MORELLO_INVALID_ARGUMENT, {},
                 "a subscript, permutation, axis, operation or value is set that ",
                 s.head == Head::kGraph ? "a graph" : head_name(s.head, s.op), " does not use");
  if (s.head == Head::kGraph) return check_graph_form(s, has_output);
  if (auto f = check_steps(s)) return f;
  size_t wanted = input_count(s) + has_output;
  if (s.tensors.size() != wanted)
    return fault(MORELLO_INVALID_ARGUMENT, {}, "the Spec has ", s.tensors.size(), " tensors; ",
                 head_name(s.head, s.op), " with its steps has ", wanted);
  return std::nullopt;
}

MaybeFault check_fill(const Statement& s) {
  if (s.head != Head::kFill) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Dtype dtype = s.tensors[0].dtype;
  const double value = s.fill_value;
  const Place place{Place::Kind::kArgument};
  if (is_integer(dtype)) {
    if (value == rounded(dtype, value)) return std::nullopt;
    return fault(MORELLO_INVALID_ARGUMENT, place, number_text(dtype, value), " is none of ",
                 name_of(dtype), ", which has the integers from ",
                 static_cast<i64>(rounded(dtype, -kInfinity)), " to ",
                 static_cast<i64>(rounded(dtype, kInfinity)));
  }
  if (std::isnan(value) || std::isinf(value)) return std::nullopt;
  if (value != static_cast<float>(value))
    return fault(MORELLO_INVALID_ARGUMENT, place, "the number to fill with is not rounded to f32");
  if (!std::isinf(rounded(dtype, value))) return std::nullopt;
  const double largest = number_of_bits(dtype, bits_of_number(dtype, kInfinity) - 1);
  return fault(MORELLO_INVALID_ARGUMENT, place, number_text(dtype, value),
               " is past the largest number of ", name_of(dtype), ", ", number_text(dtype, largest),
               "; inf is more");
}

MaybeFault check(const Statement& s, Space& space) {
  if (auto f = check_form(s, true)) return f;
  for (int i = 0; i < static_cast<int>(s.tensors.size()); i++)
    if (auto f = check_tensor(s, i)) return f;
  if (auto f = check_fill(s)) return f;
  return make_space(s, true, space);
}

MaybeFault infer_output(Statement& s) {
  if (auto f = check_form(s, false)) return f;
  for (int i = 0; i < static_cast<int>(s.tensors.size()); i++)
    if (auto f = check_tensor(s, i)) return f;
  Space space;
  if (auto f = make_space(s, false, space)) return f;
  if (s.head == Head::kGraph) return append_graph_outputs(s);
  Tensor out;
  out.dtype = result_dtype(s);
  for (int dim : space.result) out.shape.push_back(space.size[dim]);
  if (out.shape.size() <= MORELLO_MAX_RANK) out.strides = row_major_strides(out.shape);
  s.tensors.push_back(std::move(out));
  return std::nullopt;
}

}  // namespace morello

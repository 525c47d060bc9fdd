// SPDX-License-Identifier: MIT
// What may be wrong with a graph apart from shapes, its iteration space, and which graphs are
// Statements of one operation.
#include <algorithm>
#include <cmath>

#include "spec/graph.hh"

namespace morello {
namespace {

/// What is no axis is a number that no tensor has.
u32 axis_number(double value) {
  return value >= 0 && value <= MORELLO_MAX_RANK ? static_cast<u32>(value) : ~u32{0};
}

using Kind = Node::Input::Kind;
using Head = Statement::Head;

/// Nodes of which a graph may be written: more than there can be stages, for some vanish.
constexpr int kMaxNodes = 4 * kMaxStages;

MaybeFault check_settings(const Node& node, const OperationRow& row, int index) {
  const Place place{Place::Kind::kNode, index};
  u32 seen = 0;
  for (size_t i = 0; i < node.settings.size(); i++) {
    const auto& [parameter, values] = node.settings[i];
    const Place here{Place::Kind::kSetting, index, static_cast<int>(i)};
    if (static_cast<size_t>(parameter) >= parameters().size() || !(row.allowed & bit_of(parameter)))
      return fault(MORELLO_INVALID_ARGUMENT, here, row.name, " has no such parameter");
    if (i > 0 && parameter <= node.settings[i - 1].parameter)
      return fault(MORELLO_INVALID_ARGUMENT, here, "parameters are there once, in their order");
    seen |= bit_of(parameter);
    const ParameterRow& p = row_of(parameter);
    const bool pair = parameter == Parameter::kWindow || parameter == Parameter::kStride ||
                      parameter == Parameter::kDilation;
    const bool one = p.values == ParameterRow::Values::kNumber || parameter == Parameter::kGroups ||
                     parameter == Parameter::kOffset;
    const size_t most = p.values == ParameterRow::Values::kNone ? 0
                        : one                                   ? 1
                        : pair                                  ? 2
                                                                : MORELLO_MAX_RANK;
    // A scalar has no axes to permute, and its shape no sizes.
    const bool empty = parameter == Parameter::kPerm || parameter == Parameter::kShape;
    if (values.size() > most || (values.empty() && most > 0 && !empty))
      return fault(MORELLO_INVALID_ARGUMENT, here, "parameter ", p.name, " has ", values.size(),
                   " values; valid are at most ", most);
    for (double v : values)
      if (p.values == ParameterRow::Values::kIntegers
              ? !(v == std::floor(v) && std::fabs(v) <= 9007199254740992.0)
              : v != static_cast<float>(v))
        return fault(
            MORELLO_INVALID_ARGUMENT, here, "parameter ", p.name, " has a value that is no ",
            p.values == ParameterRow::Values::kIntegers ? "integer up to 2^53" : "number in f32");
    if (parameter == Parameter::kEps && !(values[0] >= 0 && std::isfinite(values[0])))
      return fault(MORELLO_INVALID_ARGUMENT, here, "eps is ", number_text(Dtype::kF32, values[0]),
                   "; valid are finite numbers from 0");
  }
  const u32 missing = row.required & ~seen;
  for (const ParameterRow& p : parameters())
    if (missing & bit_of(p.parameter))
      return fault(MORELLO_INVALID_ARGUMENT, place, row.name, " needs ", p.name, "=");
  return std::nullopt;
}

MaybeFault check_outputs(const Statement& s) {
  if (s.outputs.size() == 1 || s.outputs.size() >= kMaxOperands)
    return fault(MORELLO_UNSUPPORTED, {}, "a graph has ", s.outputs.size(),
                 " outputs; valid are none, which is the last node, and 2 to ", kMaxOperands - 1);
  for (size_t i = 0; i < s.outputs.size(); i++) {
    const int node = s.outputs[i].node;
    if (node < 0 || node >= std::ssize(s.nodes))
      return fault(MORELLO_INVALID_ARGUMENT, {}, "output ", i, " is the value of no node");
    for (size_t j = 0; j < i; j++)
      if (s.outputs[j].node == node)
        return fault(MORELLO_INVALID_ARGUMENT, {Place::Kind::kNode, node}, "outputs ", j, " and ",
                     i, " are the same value; leave one out, or give it a copy, made by move");
  }
  return std::nullopt;
}

}  // namespace

MaybeFault check_node(const Statement& s, int index) {
  const Node& node = s.nodes[static_cast<size_t>(index)];
  const Place place{Place::Kind::kNode, index};
  const OperationRow* row = find_operation(node.operation, node.op);
  if (row == nullptr)
    return fault(MORELLO_INVALID_ARGUMENT, place, "node ", index, " has no known operation");
  if ((node.operation != Operation::kEinsum && !node.subscripts.empty()) ||
      (node.operation != Operation::kCast && node.dtype != Dtype::kF32))
    return fault(MORELLO_INVALID_ARGUMENT, place, "subscripts or an element type are set that ",
                 row->name, " does not use");
  if (std::find(std::begin(kAllDtypes), std::end(kAllDtypes), node.dtype) == std::end(kAllDtypes))
    return fault(MORELLO_UNKNOWN_DTYPE, place, "element type ", static_cast<int>(node.dtype),
                 " is none of morello_dtype");
  const int count = static_cast<int>(node.inputs.size());
  if (count < row->least || count > row->most)
    return fault(MORELLO_INVALID_ARGUMENT, place, row->name, " has ", count, " inputs; it takes ",
                 row->least, row->most == row->least ? "" : concat(" to ", row->most));
  for (int i = 0; i < count; i++) {
    const Node::Input& in = node.inputs[static_cast<size_t>(i)];
    const Place here{Place::Kind::kInput, index, i};
    if (in.kind == Kind::kNumber) {
      if (!is_i32(in.number) && !std::isnan(in.number) &&
          in.number != static_cast<float>(in.number))
        return fault(MORELLO_INVALID_ARGUMENT, here, "the number is not rounded to f32");
    } else if (in.index < 0 ||
               in.index >= (in.kind == Kind::kNode ? index : std::ssize(s.tensors))) {
      return fault(MORELLO_INVALID_ARGUMENT, here, "input ", i, " of node ", index,
                   " is no tensor or earlier node");
    }
  }
  return check_settings(node, *row, index);
}

MaybeFault check_graph_form(const Statement& s, bool has_output) {
  if (s.nodes.empty() || s.nodes.size() > kMaxNodes)
    return fault(MORELLO_UNSUPPORTED, {}, "the graph has ", s.nodes.size(),
                 " operations; valid are 1 to ", kMaxNodes);
  std::vector<char> node_read(s.nodes.size()), tensor_read(s.tensors.size());
  if (auto f = check_outputs(s)) return f;
  for (int n = 0; n < std::ssize(s.nodes); n++) {
    if (auto f = check_node(s, n)) return f;
    for (const Node::Input& in : s.nodes[static_cast<size_t>(n)].inputs) {
      if (in.kind == Kind::kNode) node_read[static_cast<size_t>(in.index)] = 1;
      if (in.kind == Kind::kTensor) tensor_read[static_cast<size_t>(in.index)] = 1;
    }
  }
  const int outputs = output_count(s);
  const auto inputs = static_cast<int>(s.tensors.size()) - (has_output ? outputs : 0);
  if (inputs + outputs > kMaxOperands)
    return fault(MORELLO_UNSUPPORTED, {}, "the Spec has ", inputs + outputs, " tensors, ",
                 outputs == 1 ? "the output" : "outputs", " included; at most ", kMaxOperands,
                 " are supported");
  if (inputs < 0 || std::count(tensor_read.begin() + inputs, tensor_read.end(), 1) > 0)
    return fault(MORELLO_INVALID_ARGUMENT, {},
                 outputs == 1 ? "the last tensor of a graph is its output"
                              : "the last tensors of a graph are its outputs");
  for (int t = 0; t < inputs; t++)
    if (!tensor_read[static_cast<size_t>(t)])
      return fault(MORELLO_INVALID_ARGUMENT, {Place::Kind::kTensor, t}, "input ", t,
                   " is not used; leave it out");
  for (int i = 0; i < outputs; i++) node_read[static_cast<size_t>(output_of(s, i).node)] = 1;
  for (int n = 0; n < std::ssize(s.nodes); n++)
    if (!node_read[static_cast<size_t>(n)])
      return fault(MORELLO_INVALID_ARGUMENT, {Place::Kind::kNode, n},
                   "the value of this operation is not used; leave it out");
  return std::nullopt;
}

static MaybeFault check_output_shape(const Statement& s, int out,
                                     const std::vector<ValueAxis>& result) {
  const Tensor& t = s.tensors[static_cast<size_t>(out)];
  if (t.shape.size() != result.size())
    return fault(MORELLO_INVALID_SHAPE, {Place::Kind::kTensor, out}, tensor_name(s, out), " has ",
                 t.shape.size(), " axes, but the result has ", result.size());
  for (int axis = 0; axis < std::ssize(t.shape); axis++)
    if (t.shape[static_cast<size_t>(axis)] != result[static_cast<size_t>(axis)].size)
      return fault(MORELLO_INVALID_SHAPE, {Place::Kind::kSize, out, axis}, "axis ", axis, " of ",
                   tensor_name(s, out), " has size ", t.shape[static_cast<size_t>(axis)],
                   ", but that of the result has size ", result[static_cast<size_t>(axis)].size);
  return std::nullopt;
}

MaybeFault make_graph_space(const Statement& s, bool has_output, Space& space) {
  GraphBuilder graph(s);
  if (auto f = graph.run()) return f;
  if (auto f = graph.find_repeated_axis()) return f;
  // Axes are alike if they are the same dimensions.
  std::vector<std::vector<int>> known;
  auto label = [&](const std::vector<ValueAxis>& axes, std::vector<int>& labels) {
    for (const ValueAxis& axis : axes) {
      const std::vector<int> atoms = graph.dims().atoms(axis.dims);
      if (atoms.empty()) {
        labels.push_back(kBroadcast);
        continue;
      }
      const auto at = std::find(known.begin(), known.end(), atoms);
      labels.push_back(static_cast<int>(at - known.begin()));
      if (at == known.end()) known.push_back(atoms);
    }
  };
  for (size_t t = 0; t < graph.uses().size() && t < kMaxOperands; t++)
    label(graph.uses()[t].axes, space.axes[t]);
  const int outputs = output_count(s), first = static_cast<int>(s.tensors.size()) - outputs;
  label(graph.value(output_of(s, 0).node).axes, space.result);
  for (int i = 0; i < outputs && has_output; i++) {
    const std::vector<ValueAxis>& result = graph.value(output_of(s, i).node).axes;
    if (auto f = check_output_shape(s, first + i, result)) return f;
    std::vector<int>& axes = space.axes[static_cast<size_t>(first + i)];
    axes.clear();
    label(result, axes);
  }
  space.rank = static_cast<int>(known.size());
  return std::nullopt;
}

MaybeFault append_graph_outputs(Statement& s) {
  GraphBuilder graph(s);
  if (auto f = graph.run()) return f;
  for (int i = 0; i < output_count(s); i++) {
    const Value& value = graph.value(output_of(s, i).node);
    Tensor out;
    out.dtype = value.dtype;
    for (const ValueAxis& axis : value.axes) out.shape.push_back(axis.size);
    out.strides = row_major_strides(out.shape);
    s.tensors.push_back(std::move(out));
  }
  return std::nullopt;
}

void simplify_graph(Statement& s) {
  if (s.nodes.empty() || !s.outputs.empty()) return;
  Statement plain;
  const Node& first = s.nodes[0];
  int next = 0;  // tensor to be met
  auto is_next = [&](const Node::Input& in) {
    return in.kind == Kind::kTensor && in.index == next++;
  };
  for (const Node::Input& in : first.inputs)
    if (!is_next(in)) return;
  switch (first.operation) {
    case Operation::kMatmul:
      plain.head = Head::kMatmul;
      break;
    case Operation::kEinsum:
      plain.head = Head::kEinsum;
      plain.subscripts = first.subscripts;
      break;
    case Operation::kUnary:
      plain.head = Head::kUnary;
      break;
    case Operation::kBinary:
      plain.head = Head::kBinary;
      break;
    case Operation::kTernary:
      plain.head = Head::kTernary;
      break;
    case Operation::kMove:
      plain.head = Head::kMove;
      break;
    case Operation::kReduce:
      plain.head = Head::kReduce;
      if (first.settings.size() != 1 || first.settings[0].values.size() != 1) return;
      plain.axis = axis_number(first.settings[0].values[0]);
      break;
    case Operation::kTranspose: {
      plain.head = Head::kTranspose;
      const std::vector<double>* permutation = setting_of(first, Parameter::kPerm);
      const size_t rank = permutation ? permutation->size() : s.tensors[0].shape.size();
      for (size_t i = 0; i < rank; i++)
        plain.permutation.push_back(
            axis_number(permutation ? (*permutation)[i] : static_cast<double>(rank - 1 - i)));
      break;
    }
    default:
      return;
  }
  plain.op = first.op;
  for (size_t n = 1; n < s.nodes.size(); n++) {
    const Node& node = s.nodes[n];
    if (node.operation != Operation::kUnary && node.operation != Operation::kBinary) return;
    const Node::Input& previous = node.inputs[0];
    if (previous.kind != Kind::kNode || previous.index != static_cast<int>(n) - 1) return;
    const bool binary = node.operation == Operation::kBinary;
    plain.steps.push_back({node.op, binary ? next : -1});
    if (binary && !is_next(node.inputs[1])) return;
  }
  if (plain.steps.size() > kMaxSteps) return;
  plain.accumulate = s.accumulate;
  plain.tensors = std::move(s.tensors);
  s = std::move(plain);
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// The printed form of a graph. A value that only the next operation reads, first of all, is a step;
// others, outputs of several, and inputs that are read twice have names of their own.
#include <algorithm>
#include <charconv>

#include "spec/graph.hh"

namespace morello {
namespace {

using Kind = Node::Input::Kind;

/// Shortest that reads back as the same.
std::string constant_text(double value) {
  if (!is_i32(value)) return number_text(Dtype::kF32, value);
  return std::to_string(static_cast<i64>(value));
}

std::string_view symbol_of(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSub:
      return "-";
    case Op::kMul:
      return "*";
    case Op::kDiv:
      return "/";
    default:
      return "";
  }
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Statement& s)
      : s_(s),
        tensor_readers_(s.tensors.size()),
        node_readers_(s.nodes.size()),
        is_output_(s.nodes.size()),
        declared_(s.tensors.size()) {
    int next = 0;
    bool in_order = true;
    for (const Node& node : s.nodes)
      for (const Node::Input& in : node.inputs) {
        if (in.kind == Kind::kNode) node_readers_[static_cast<size_t>(in.index)]++;
        if (in.kind != Kind::kTensor) continue;
        if (tensor_readers_[static_cast<size_t>(in.index)]++ == 0) in_order &= in.index == next++;
      }
    for (const GraphOutput& output : s.outputs) is_output_[static_cast<size_t>(output.node)] = 1;
    if (in_order) return;
    for (int t = 0; t + output_count(s) < std::ssize(s.tensors); t++)
      text_ += tensor(t, true) + "; ";
  }

  std::string run() {
    for (int n = 0; n < std::ssize(s_.nodes); n++) {
      const Node& node = s_.nodes[static_cast<size_t>(n)];
      const bool step = n > 0 && is_step(n);
      if (n > 0 && !step) text_ += "; ";
      if (!step && !ends_as_result(n)) text_ += concat("v", end_of_steps(n), " = ");
      add(node, step);
    }
    const size_t first = s_.tensors.size() - static_cast<size_t>(output_count(s_));
    for (size_t i = 0; i < static_cast<size_t>(output_count(s_)); i++) {
      const GraphOutput output = output_of(s_, static_cast<int>(i));
      if (!s_.outputs.empty()) text_ += concat(i == 0 ? "; v" : ", v", output.node);
      text_ += concat(output.accumulate ? " += " : " -> ", tensor_text(s_.tensors[first + i]));
    }
    return std::move(text_);
  }

 private:
  /// Does node n continue the statement of the one before it?
  bool is_step(int n) const {
    const Node& node = s_.nodes[static_cast<size_t>(n)];
    return node.inputs[0].kind == Kind::kNode && node.inputs[0].index == n - 1 &&
           node_readers_[static_cast<size_t>(n) - 1] == 1 &&
           !is_output_[static_cast<size_t>(n) - 1];
  }
  int end_of_steps(int n) const {
    while (n + 1 < std::ssize(s_.nodes) && is_step(n + 1)) n++;
    return n;
  }
  bool ends_as_result(int n) const {
    return s_.outputs.empty() && end_of_steps(n) + 1 == std::ssize(s_.nodes);
  }

  void add(const Node& node, bool step) {
    const OperationRow& row = *find_operation(node.operation, node.op);
    const std::string_view symbol = symbol_of(node.op);
    if (step && node.operation == Operation::kBinary && !symbol.empty()) {
      text_ += concat(" ", symbol, " ", input(node.inputs[1]));
      return;
    }
    text_ += concat(step ? " -> " : "", row.name);
    if (node.operation == Operation::kEinsum) text_ += concat(" \"", node.subscripts, "\"");
    for (size_t i = step; i < node.inputs.size(); i++) text_ += " " + input(node.inputs[i]);
    if (node.operation == Operation::kCast) text_ += concat(" ", name_of(node.dtype));
    for (const Node::Setting& setting : node.settings) add(setting);
  }

  void add(const Node::Setting& setting) {
    const ParameterRow& row = row_of(setting.parameter);
    text_ += concat(" ", row.name);
    if (row.values == ParameterRow::Values::kNone) return;
    text_ += '=';
    for (size_t i = 0; i < setting.values.size(); i++) {
      const double v = setting.values[i];
      text_ += concat(i ? "," : "", row.values == ParameterRow::Values::kNumber
                                        ? number_text(Dtype::kF32, v)
                                        : std::to_string(static_cast<i64>(v)));
    }
  }

  std::string input(const Node::Input& in) {
    if (in.kind == Kind::kNumber) return constant_text(in.number);
    if (in.kind == Kind::kNode) return concat("v", in.index);
    return tensor(in.index, tensor_readers_[static_cast<size_t>(in.index)] > 1);
  }

  std::string tensor(int index, bool named) {
    const auto at = static_cast<size_t>(index);
    const std::string name = concat("x", index);
    if (declared_[at]) return name;
    if (named) declared_[at] = 1;
    return (named ? name + " " : "") + tensor_text(s_.tensors[at]);
  }

  const Statement& s_;
  std::vector<int> tensor_readers_, node_readers_;
  std::vector<char> is_output_;  // of several
  std::vector<char> declared_;
  std::string text_;
};

}  // namespace

std::string print_graph(const Statement& statement) { return GraphPrinter(statement).run(); }

}  // namespace morello

// SPDX-License-Identifier: MIT
// Graphs without text, but for the names of operations: a Statement that grows by nodes.
#include "spec/graph.hh"
#include "capi/spec.hh"
#include "capi/tensor.hh"
#include "support/number.hh"

using namespace morello;

namespace {

using Input = Node::Input;

Done number_of(morello_graph& graph, const Input& input, uint32_t* value) {
  graph.values.push_back(input);
  *value = static_cast<uint32_t>(graph.values.size() - 1);
  return {};
}

/// The graph with one tensor or node more is as good as before.
Result<Done> check_growth(const Statement& grown) {
  GraphBuilder builder(grown);
  if (auto f = builder.run()) return std::move(f->error);
  return Done{};
}

std::optional<Error> find_unknown(const morello_graph& graph, const char* what, uint32_t value) {
  if (value < graph.values.size()) return std::nullopt;
  return invalid_argument(std::string(what) + " is " + std::to_string(value) +
                          "; the graph has values 0 to " +
                          std::to_string(static_cast<i64>(graph.values.size()) - 1));
}

}  // namespace

morello_status morello_graph_create(const morello_context* context, morello_graph** graph,
                                    morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"graph", graph}})) return *e;
    auto made = std::make_unique<morello_graph>();
    made->statement.head = Statement::Head::kGraph;
    *graph = made.release();
    return Done{};
  });
}

void morello_graph_release(morello_graph* graph) { delete graph; }

morello_status morello_graph_input(morello_graph* graph, const morello_tensor* tensor,
                                   uint32_t* value, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"graph", graph}, {"tensor", tensor}, {"value", value}})) return *e;
    Result<Tensor> known = to_tensor(tensor, "tensor");
    if (!known) return std::move(known.error());
    Statement alone;  // whose input 0 it is
    alone.head = Statement::Head::kMove;
    alone.tensors = {*known};
    if (auto f = check_tensor(alone, 0)) return std::move(f->error);
    if (graph->statement.tensors.size() + 1 >= kMaxOperands)
      return Error{MORELLO_UNSUPPORTED, "the graph has " + std::to_string(kMaxOperands - 1) +
                                            " inputs, the most that are supported"};
    graph->values.reserve(graph->values.size() + 1);
    graph->statement.tensors.push_back(std::move(*known));
    return number_of(
        *graph, {Input::Kind::kTensor, static_cast<int>(graph->statement.tensors.size()) - 1, 0},
        value);
  });
}

morello_status morello_graph_constant(morello_graph* graph, double number, uint32_t* value,
                                      morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"graph", graph}, {"value", value}})) return *e;
    return number_of(
        *graph, {Input::Kind::kNumber, 0, is_i32(number) ? number : rounded(Dtype::kF32, number)},
        value);
  });
}

morello_status morello_graph_apply(morello_graph* graph, const char* operation,
                                   const uint32_t* inputs, uint32_t input_count, uint32_t* value,
                                   morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"graph", graph}, {"operation", operation}, {"value", value}}))
      return *e;
    if (input_count > 0)
      if (auto e = find_null({{"inputs", inputs}})) return *e;
    std::vector<Input> given;
    for (uint32_t i = 0; i < input_count; i++) {
      const std::string name = "inputs[" + std::to_string(i) + "]";
      if (auto e = find_unknown(*graph, name.c_str(), inputs[i])) return *e;
      given.push_back(graph->values[inputs[i]]);
      if (i >= kMaxOperands) return invalid_argument("no operation has so many inputs");
    }
    Result<Node> node = parse_operation(operation, std::move(given));
    if (!node) return std::move(node.error());
    Statement grown = graph->statement;
    grown.nodes.push_back(std::move(*node));
    if (auto f = check_node(grown, static_cast<int>(grown.nodes.size()) - 1))
      return std::move(f->error);
    if (Result<Done> good = check_growth(grown); !good) return std::move(good.error());
    graph->values.reserve(graph->values.size() + 1);
    graph->statement = std::move(grown);
    return number_of(*graph,
                     {Input::Kind::kNode, static_cast<int>(graph->statement.nodes.size()) - 1, 0},
                     value);
  });
}

namespace {

/// The graph with the values `values` as its outputs.
Result<Statement> with_outputs(const morello_graph& graph, const uint32_t* values,
                               const morello_tensor* const* outs, const int* accumulate,
                               uint32_t count) {
  Statement s = graph.statement;
  for (uint32_t i = 0; i < count; i++) {
    const std::string name = count == 1 ? "argument `value`" : "values[" + std::to_string(i) + "]";
    if (auto e = find_unknown(graph, name.c_str(), values[i])) return *e;
    const Input result = graph.values[values[i]];
    if (result.kind != Input::Kind::kNode)
      return invalid_argument(name + " is no result of an operation");
    s.outputs.push_back({result.index, accumulate != nullptr && accumulate[i] != 0});
  }
  if (count == 1) {
    if (s.outputs[0].node + 1 != static_cast<int>(s.nodes.size()))
      return invalid_argument("an operation that was applied after argument `value` is not used");
    s.accumulate = s.outputs[0].accumulate;
    s.outputs.clear();
  }
  std::vector<std::optional<Tensor>> written(count);
  bool all = true;
  for (uint32_t i = 0; i < count; i++) {
    const morello_tensor* const out = outs == nullptr ? nullptr : outs[i];
    all &= out != nullptr;
    if (out == nullptr) continue;
    const std::string name = count == 1 ? "out" : "outs[" + std::to_string(i) + "]";
    Result<Tensor> tensor = to_tensor(out, name.c_str());
    if (!tensor) return std::move(tensor.error());
    written[i] = std::move(*tensor);
  }
  if (all)
    for (std::optional<Tensor>& tensor : written) s.tensors.push_back(std::move(*tensor));
  if (auto f = check_form(s, all)) return std::move(f->error);
  simplify_graph(s);
  if (all) return s;
  if (auto f = infer_output(s)) return std::move(f->error);
  for (uint32_t i = 0; i < count; i++)
    if (written[i]) s.tensors[s.tensors.size() - count + i] = std::move(*written[i]);
  return s;
}

}  // namespace

morello_status morello_graph_finish(const morello_graph* graph, uint32_t value,
                                    const morello_tensor* out, int accumulate, morello_spec** spec,
                                    morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"graph", graph}, {"spec", spec}})) return *e;
    Result<Statement> s = with_outputs(*graph, &value, &out, &accumulate, 1);
    return s ? make_spec(std::move(*s), spec) : Result<Done>(std::move(s.error()));
  });
}

morello_status morello_graph_finish_outputs(const morello_graph* graph, const uint32_t* values,
                                            const morello_tensor* const* outs,
                                            const int* accumulate, uint32_t count,
                                            morello_spec** spec, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"graph", graph}, {"values", values}, {"spec", spec}})) return *e;
    if (count < 1 || count > kMaxOperands)
      return invalid_argument("argument `count` is " + std::to_string(count) + "; valid are 1 to " +
                              std::to_string(kMaxOperands));
    Result<Statement> s = with_outputs(*graph, values, outs, accumulate, count);
    return s ? make_spec(std::move(*s), spec) : Result<Done>(std::move(s.error()));
  });
}

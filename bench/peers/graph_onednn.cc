// SPDX-License-Identifier: MIT
// Graphs in oneDNN (3 or later), for compare.py: one primitive for each node, with data as it is
// given or in the forms that oneDNN asks for, or its graph API, which fuses by its patterns.
//
// A graph is a text, a line for each node, in the order in which they are computed:
//
//     Op name type d0,d1,.. input .. key=value ..
//
// `Input` lines come first, one for each pointer. What has no key is an input. Types are f32 and
// bf16.
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using dnnl::algorithm;
using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

struct Node {
  std::string op, name;
  memory::data_type type = memory::data_type::f32;
  memory::dims dims;
  std::vector<std::string> inputs;
  std::map<std::string, std::string> keys;

  bool has(const std::string& key) const { return keys.count(key) != 0; }
  memory::dims list(const std::string& key, memory::dims otherwise) const {
    const auto found = keys.find(key);
    if (found == keys.end()) return otherwise;
    memory::dims values;
    std::istringstream in(found->second);
    for (std::string part; std::getline(in, part, ',');) values.push_back(std::stoll(part));
    return values;
  }
  int64_t number(const std::string& key, int64_t otherwise) const {
    return list(key, {otherwise})[0];
  }
  /// Counted from the first one.
  int axis() const {
    const int64_t axis = number("axis", -1), rank = static_cast<int64_t>(dims.size());
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }
};

std::vector<Node> parse(const std::string& text) {
  std::vector<Node> nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Node node;
    std::string type, dims;
    words >> node.op >> node.name >> type >> dims;
    node.type = type == "bf16" ? memory::data_type::bf16 : memory::data_type::f32;
    node.keys["dims"] = dims;
    node.dims = node.list("dims", {});
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) {
        node.inputs.push_back(word);
      } else {
        node.keys[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    nodes.push_back(node);
  }
  return nodes;
}

memory::dims dense(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Channels last in memory: oneDNN's descriptors have them second.
memory::desc channels_second(const Node& node, bool weights) {
  const memory::dims d = node.dims;
  const memory::dims s = dense(d);
  if (weights) return {{d[3], d[2], d[0], d[1]}, node.type, {s[3], s[2], s[0], s[1]}};
  return {{d[0], d[3], d[1], d[2]}, node.type, {s[0], s[3], s[1], s[2]}};
}

memory::desc plain(const Node& node) { return {node.dims, node.type, dense(node.dims)}; }

memory::desc free_of(const memory::desc& desc) {
  return {desc.get_dims(), desc.get_data_type(), memory::format_tag::any};
}

class Runner {
 public:
  Runner(const std::string& text, void* const* operands, const std::string& way)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        nodes_(parse(text)),
        operands_(operands),
        packed_(way.find("packed") != std::string::npos) {
    for (const Node& node : nodes_) by_name_[node.name] = &node;
    if (way.find("graph") == 0) {
      make_graph();
    } else {
      make_primitives();
    }
  }

  void run() {
    for (const auto& step : steps_) step();
    stream_.wait();
  }

  /// The result by rows, for comparisons.
  void result(void* out) {
    if (!result_) return;
    memory to(result_plain_, engine_, out);
    dnnl::reorder(result_, to).execute(stream_, result_, to);
    stream_.wait();
  }

 private:
  memory::desc desc_of(const Node& node, const Node& user) const {
    if (user.has("nhwc"))
      return channels_second(node, user.op == "Conv" && node.name == user.inputs[1]);
    return plain(node);
  }

  /// The value of input i of a node, as `want`. What is given is brought there now, else in each
  /// run.
  memory fetch(const Node& user, size_t i, memory::desc want) {
    const Node& node = *by_name_.at(user.inputs[i]);
    const memory have = values_.count(node.name) != 0
                            ? values_.at(node.name)
                            : memory(desc_of(node, user), engine_, pointer(node));
    if (have.get_desc() == want) return have;
    memory to(want, engine_);
    const dnnl::reorder reorder(have, to);
    const auto move = [this, reorder, have, to]() {
      reorder.execute(stream_, const_cast<memory&>(have), const_cast<memory&>(to));
    };
    move();
    stream_.wait();
    if (node.op != "Input") steps_.push_back(move);
    return to;
  }

  void* pointer(const Node& node) const {
    size_t i = 0;
    while (&nodes_[i] != &node) ++i;
    if (i >= nodes_.size() || node.op != "Input") throw std::runtime_error("no such input");
    return operands_[i];
  }

  template <typename Plan>
  void add(const Node& node, const Plan& plan, Arguments arguments) {
    const bool last = &node == &nodes_.back();
    memory to;
    if (last && plan.dst_desc() == desc_of(node, node)) {
      size_t inputs = 0;
      while (nodes_[inputs].op == "Input") ++inputs;
      to = memory(plan.dst_desc(), engine_, operands_[inputs]);
    } else {
      to = memory(plan.dst_desc(), engine_);
      if (last) result_ = to, result_plain_ = desc_of(node, node);
    }
    values_[node.name] = to;
    arguments[DNNL_ARG_DST] = to;
    using Primitive = typename Made<Plan>::Type;
    steps_.push_back(
        [this, run = Primitive(plan), arguments]() { run.execute(stream_, arguments); });
  }

  /// With weights that are packed now, where the plan wants another form of them.
  template <typename Plan>
  void add_product(const Node& node, const Plan& plan, memory weights) {
    if (plan.weights_desc() != weights.get_desc()) {
      memory packed(plan.weights_desc(), engine_);
      dnnl::reorder(weights, packed).execute(stream_, weights, packed);
      stream_.wait();
      weights = packed;
    }
    add(node, plan, {{DNNL_ARG_SRC, fetch(node, 0, plan.src_desc())}, {DNNL_ARG_WEIGHTS, weights}});
  }

  template <typename Plan>
  struct Made;

  memory::desc input(const Node& node, size_t i) const {
    const Node& from = *by_name_.at(node.inputs[i]);
    if (values_.count(from.name) != 0) return values_.at(from.name).get_desc();
    memory::desc desc = desc_of(from, node);
    if (node.op == "MatMul" && i == 1 && node.has("transposed")) {
      std::vector<int> order(from.dims.size());
      for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      desc = desc.permute_axes(order);
    }
    return desc;
  }

  void make_primitives();
  void make_graph();

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Node> nodes_;
  void* const* operands_;
  bool packed_;
  std::map<std::string, const Node*> by_name_;
  std::map<std::string, memory> values_;
  std::vector<std::function<void()>> steps_;
  std::vector<std::shared_ptr<void>> buffers_;
  memory result_;
  memory::desc result_plain_;
};

template <>
struct Runner::Made<dnnl::matmul::primitive_desc> {
  using Type = dnnl::matmul;
};
template <>
struct Runner::Made<dnnl::softmax_forward::primitive_desc> {
  using Type = dnnl::softmax_forward;
};
template <>
struct Runner::Made<dnnl::layer_normalization_forward::primitive_desc> {
  using Type = dnnl::layer_normalization_forward;
};
template <>
struct Runner::Made<dnnl::convolution_forward::primitive_desc> {
  using Type = dnnl::convolution_forward;
};
template <>
struct Runner::Made<dnnl::pooling_forward::primitive_desc> {
  using Type = dnnl::pooling_forward;
};

void Runner::make_primitives() {
  const auto inference = dnnl::prop_kind::forward_inference;
  for (const Node& node : nodes_) {
    if (node.op == "Input") continue;
    memory::desc from = input(node, 0), to = desc_of(node, node);
    const bool windows = node.op == "Conv" || node.op == "MaxPool" || node.op == "AveragePool";
    const memory::dims steps = node.list("strides", {1, 1}), pads = node.list("pads", {0, 0, 0, 0});
    const memory::dims before(pads.begin(), pads.end() - 2), after(pads.end() - 2, pads.end());
    // Pools go by the form of what they are given; who asks for any gets any result.
    if (packed_ && windows) to = free_of(to);
    if (packed_ && (node.op == "Conv" || &node != &nodes_.back())) to = free_of(to);
    if (node.op == "MatMul") {
      memory::desc weights = input(node, 1);
      const bool given = by_name_.at(node.inputs[1])->op == "Input";
      const dnnl::matmul::primitive_desc plan(engine_, from,
                                              packed_ && given ? free_of(weights) : weights, to);
      // Of a transposed factor only the descriptor differs.
      add_product(node, plan,
                  memory(weights, engine_,
                         given ? pointer(*by_name_.at(node.inputs[1]))
                               : values_.at(node.inputs[1]).get_data_handle()));
    } else if (node.op == "Softmax" || node.op == "LogSoftmax") {
      const auto kind = node.op == "Softmax" ? algorithm::softmax_accurate : algorithm::softmax_log;
      const dnnl::softmax_forward::primitive_desc plan(engine_, inference, kind, from, to,
                                                       node.axis());
      add(node, plan, {{DNNL_ARG_SRC, fetch(node, 0, plan.src_desc())}});
    } else if (node.op == "LayerNormalization") {
      const dnnl::layer_normalization_forward::primitive_desc plan(
          engine_, inference, from, to, 1e-5f,
          dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
      add(node, plan,
          {{DNNL_ARG_SRC, fetch(node, 0, plan.src_desc())},
           {DNNL_ARG_SCALE, fetch(node, 1, plan.weights_desc())},
           {DNNL_ARG_SHIFT, fetch(node, 2, plan.weights_desc())}});
    } else if (node.op == "Conv") {
      memory::desc weights = input(node, 1);
      if (const int64_t groups = node.number("group", 1); groups != 1) {
        memory::dims d = weights.get_dims();
        d[0] /= groups;
        d.insert(d.begin(), groups);
        weights = weights.reshape(d);
      }
      const memory::desc given = weights;
      if (packed_) from = free_of(from), weights = free_of(weights);
      const dnnl::convolution_forward::primitive_desc plan(
          engine_, inference, algorithm::convolution_direct, from, weights, to, steps, {0, 0},
          before, after);
      add_product(node, plan, memory(given, engine_, pointer(*by_name_.at(node.inputs[1]))));
    } else if (windows) {
      const auto kind =
          node.op == "MaxPool" ? algorithm::pooling_max : algorithm::pooling_avg_include_padding;
      const int64_t block = packed_ && from.get_dims()[1] % 16 == 0 ? 16 : 1;
      if (packed_ && block == 16) {
        from = {from.get_dims(), node.type, memory::format_tag::nChw16c};
      }
      const dnnl::pooling_forward::primitive_desc plan(engine_, inference, kind, from, to, steps,
                                                       node.list("kernel_shape", {}), {0, 0},
                                                       before, after);
      add(node, plan, {{DNNL_ARG_SRC, fetch(node, 0, plan.src_desc())}});
    } else {
      throw std::runtime_error("no primitive for " + node.op);
    }
  }
}

using dnnl::graph::logical_tensor;
using Op = dnnl::graph::op;

struct Kind {
  const char* onnx;
  Op::kind kind;
};
constexpr Kind kKinds[] = {
    {"MatMul", Op::kind::MatMul},
    {"Softmax", Op::kind::SoftMax},
    {"LogSoftmax", Op::kind::LogSoftmax},
    {"Add", Op::kind::Add},
    {"Mul", Op::kind::Multiply},
    {"Sub", Op::kind::Subtract},
    {"Div", Op::kind::Divide},
    {"Sigmoid", Op::kind::Sigmoid},
    {"Gelu", Op::kind::GELU},
    {"LayerNormalization", Op::kind::LayerNorm},
    {"Conv", Op::kind::Convolution},
    {"MaxPool", Op::kind::MaxPool},
    {"AveragePool", Op::kind::AvgPool},
};

void Runner::make_graph() {
  std::map<std::string, logical_tensor> tensors;
  std::map<size_t, const Node*> by_id;
  dnnl::graph::graph graph(dnnl::engine::kind::cpu);
  const auto kConstant = logical_tensor::property_type::constant;
  const auto kVariable = logical_tensor::property_type::variable;
  dnnl::graph::set_constant_tensor_cache(packed_);
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    bool weights = false;  // second operands that are given
    for (const Node& user : nodes_) {
      for (size_t i = 1; i < user.inputs.size(); ++i) weights |= user.inputs[i] == node.name;
    }
    const bool constant = packed_ && node.op == "Input" && weights;
    tensors.emplace(node.name,
                    logical_tensor(id, static_cast<logical_tensor::data_type>(node.type), node.dims,
                                   dense(node.dims), constant ? kConstant : kVariable));
    by_id[id] = &node;
    if (node.op == "Input") continue;
    const Kind* kind = nullptr;
    for (const Kind& k : kKinds) kind = node.op == k.onnx ? &k : kind;
    if (kind == nullptr) throw std::runtime_error("no operation for " + node.op);
    Op op(id, kind->kind, node.name);
    for (const std::string& name : node.inputs) op.add_input(tensors.at(name));
    op.add_output(tensors.at(node.name));
    if (node.has("transposed")) op.set_attr<bool>(Op::attr::transpose_b, true);
    if (node.op == "Softmax" || node.op == "LogSoftmax") {
      op.set_attr<int64_t>(Op::attr::axis, node.axis());
    }
    if (node.op == "LayerNormalization") {
      op.set_attr<bool>(Op::attr::keep_stats, false);
      op.set_attr<float>(Op::attr::epsilon, 1e-5f);
    }
    if (node.op == "Conv" || node.op == "MaxPool" || node.op == "AveragePool") {
      const memory::dims pads = node.list("pads", {0, 0, 0, 0});
      op.set_attr<std::vector<int64_t>>(Op::attr::strides, node.list("strides", {1, 1}));
      op.set_attr<std::vector<int64_t>>(Op::attr::pads_begin, {pads[0], pads[1]});
      op.set_attr<std::vector<int64_t>>(Op::attr::pads_end, {pads[2], pads[3]});
      op.set_attr<std::string>(Op::attr::data_format, node.has("nhwc") ? "NXC" : "NCX");
      if (node.op == "Conv") {
        op.set_attr<std::vector<int64_t>>(Op::attr::dilations, {1, 1});
        op.set_attr<int64_t>(Op::attr::groups, node.number("group", 1));
        op.set_attr<std::string>(Op::attr::weights_format, node.has("nhwc") ? "XIO" : "OIX");
      } else {
        op.set_attr<std::vector<int64_t>>(Op::attr::kernel, node.list("kernel_shape", {}));
        if (node.op == "AveragePool") op.set_attr<bool>(Op::attr::exclude_pad, false);
      }
    }
    graph.add_op(op);
  }
  graph.finalize();

  std::map<size_t, void*> data;
  size_t inputs = 0;
  for (; nodes_[inputs].op == "Input"; ++inputs) data[inputs] = operands_[inputs];
  data[nodes_.size() - 1] = operands_[inputs];
  std::vector<dnnl::graph::partition> waiting = graph.get_partitions();
  while (!waiting.empty()) {
    bool progress = false;
    for (size_t p = 0; p < waiting.size(); ++p) {
      std::vector<logical_tensor> in = waiting[p].get_input_ports(),
                                  out = waiting[p].get_output_ports();
      bool ready = waiting[p].is_supported();
      for (const logical_tensor& t : in) ready &= data.count(t.get_id()) != 0;
      if (!ready) continue;
      for (logical_tensor& t : in) t = tensors.at(by_id.at(t.get_id())->name);
      for (logical_tensor& t : out) t = tensors.at(by_id.at(t.get_id())->name);
      const auto compiled = waiting[p].compile(in, out, engine_);
      std::vector<dnnl::graph::tensor> from, to;
      for (const logical_tensor& t : in) from.emplace_back(t, engine_, data.at(t.get_id()));
      for (const logical_tensor& t : out) {
        void*& at = data[t.get_id()];
        if (at == nullptr) {
          const memory buffer(plain(*by_id.at(t.get_id())), engine_);
          buffers_.push_back(std::make_shared<memory>(buffer));
          at = buffer.get_data_handle();
        }
        to.emplace_back(t, engine_, at);
      }
      steps_.push_back([this, compiled, from, to]() { compiled.execute(stream_, from, to); });
      waiting.erase(waiting.begin() + static_cast<long>(p));
      progress = true;
      break;
    }
    if (!progress) throw std::runtime_error("a partition that oneDNN does not run");
  }
}

thread_local std::string g_error;

}  // namespace

#define MODULE extern "C" __attribute__((visibility("default")))

/// Null on failure, of which graph_error() tells. `operands`: inputs, then the result; kept.
MODULE void* graph_make(const char* text, void* const* operands, const char* way) {
  try {
    auto runner = std::make_unique<Runner>(text, operands, way);
    runner->run();
    return runner.release();
  } catch (const std::exception& error) {
    g_error = error.what();
    return nullptr;
  }
}
MODULE const char* graph_error() { return g_error.c_str(); }
MODULE void graph_run(void* runner) { static_cast<Runner*>(runner)->run(); }
MODULE void graph_result(void* runner, void* out) { static_cast<Runner*>(runner)->result(out); }
MODULE void graph_destroy(void* runner) { delete static_cast<Runner*>(runner); }

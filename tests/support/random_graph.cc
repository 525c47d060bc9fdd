// SPDX-License-Identifier: MIT
// Values are drawn one after the other; those that nothing has read in the end are combined. What
// lower() refuses, for it would read an axis twice or have too many stages, is thrown away.
#include "support/random_graph.hh"

#include <algorithm>

namespace morello::testing {
namespace {

using Input = Node::Input;
using Shape = std::vector<i64>;

class Generator {
 public:
  explicit Generator(Random& random) : random_(random) { s_.head = Statement::Head::kGraph; }

  Statement draw(int most) {
    start();
    for (int i = 0; i < most && s_.tensors.size() < kMaxOperands - 2; i++) step();
    if (chance(random_, 35)) keep_some();
    join();
    add_outputs();
    return std::move(s_);
  }

 private:
  /// Makes outputs of one or two values, read or not.
  void keep_some() {
    for (u32 left = pick(random_, 1, 2); left-- > 0;) {
      const int x = any();
      const bool known = std::any_of(s_.outputs.begin(), s_.outputs.end(),
                                     [&](const GraphOutput& output) { return output.node == x; });
      // What `+=` adds to, rather than combines with: nothing else makes a reduction of these.
      const Operation operation = s_.nodes[static_cast<size_t>(x)].operation;
      const bool adds = operation == Operation::kMatmul || operation == Operation::kUnary;
      if (!known) s_.outputs.push_back({x, adds && chance(random_, 30)});
      read_[static_cast<size_t>(x)] = 1;
    }
  }

  /// The last value is one in any case.
  void add_outputs() {
    const int last = static_cast<int>(shape_.size()) - 1;
    const bool known = std::any_of(s_.outputs.begin(), s_.outputs.end(),
                                   [&](const GraphOutput& output) { return output.node == last; });
    if (!known && !s_.outputs.empty()) {
      const u32 place = pick(random_, 0, static_cast<u32>(s_.outputs.size()));
      s_.outputs.insert(s_.outputs.begin() + place, {last, false});
    }
    if (s_.outputs.size() == 1) s_.outputs.clear();
    for (int i = 0; i < output_count(s_); i++) {
      Tensor out;
      out.shape = shape_[static_cast<size_t>(output_of(s_, i).node)];
      out.strides = row_major_strides(out.shape);
      if (!s_.outputs.empty() && chance(random_, 15))
        out.dtype = chance(random_, 50) ? Dtype::kBf16 : Dtype::kF16;
      if (!s_.outputs.empty() && out.shape.size() == 2 && chance(random_, 20))
        out.strides = {1, out.shape[0]};
      s_.tensors.push_back(std::move(out));
    }
  }

  i64 size() { return std::array<i64, 6>{1, 2, 3, 4, 5, 8}[pick(random_, 0, 5)]; }

  Input tensor(const Shape& shape) {
    Tensor t;
    t.shape = shape;
    t.strides = row_major_strides(shape);
    if (shape.size() == 2 && chance(random_, 20)) t.strides = {1, shape[0]};
    if (!shape.empty() && chance(random_, 10))
      for (i64& stride : t.strides) stride *= 2;
    s_.tensors.push_back(std::move(t));
    return {Input::Kind::kTensor, static_cast<int>(s_.tensors.size()) - 1, 0};
  }
  Input node(int index) {
    read_[static_cast<size_t>(index)] = 1;
    return {Input::Kind::kNode, index, 0};
  }
  Input number() { return {Input::Kind::kNumber, 0, static_cast<float>(pick(random_, 1, 8)) / 4}; }

  void add(Operation operation, Op op, std::vector<Input> inputs, Shape shape,
           std::vector<Node::Setting> settings = {}) {
    Node n;
    n.operation = operation;
    n.op = op;
    n.inputs = std::move(inputs);
    n.settings = std::move(settings);
    s_.nodes.push_back(std::move(n));
    shape_.push_back(std::move(shape));
    read_.push_back(0);
  }

  void start() {
    Shape shape(pick(random_, 1, 3));
    for (i64& n : shape) n = size();
    if (chance(random_, 10)) return gather(tensor(shape), shape);
    if (chance(random_, 50)) return add(Operation::kUnary, Op::kTanh, {tensor(shape)}, shape);
    const i64 m = size(), k = size(), n = size();
    add(Operation::kMatmul, Op::kCopy, {tensor({m, k}), tensor({k, n})}, {m, n});
  }

  /// Mostly the last value, sometimes an earlier one.
  int any() {
    const int count = static_cast<int>(shape_.size());
    return chance(random_, 70) ? count - 1 : static_cast<int>(pick(random_, 0, count - 1));
  }

  Shape part_of(const Shape& shape) {
    Shape part(shape.begin() + pick(random_, 0, static_cast<u32>(shape.size())), shape.end());
    for (i64& n : part)
      if (chance(random_, 20)) n = 1;
    return part;
  }

  void step() {
    constexpr Op kUnary[] = {Op::kRelu, Op::kNeg, Op::kAbs, Op::kTanh, Op::kSigmoid, Op::kSquare};
    constexpr Op kReduce[] = {Op::kAdd, Op::kMax, Op::kMin};
    constexpr Operation kNormal[] = {Operation::kSoftmax, Operation::kLogSoftmax,
                                     Operation::kLayernorm, Operation::kRmsnorm};
    const int x = any();
    const Shape shape = shape_[static_cast<size_t>(x)];
    const auto rank = static_cast<u32>(shape.size());
    switch (pick(random_, 0, 12)) {
      case 0:
        return add(Operation::kUnary, kUnary[pick(random_, 0, 5)], {node(x)}, shape);
      case 1:
        return add(Operation::kClamp, Op::kCopy, {node(x), {Input::Kind::kNumber, 0, -1}, number()},
                   shape);
      case 2:
      case 3:
        return combine(x, -1);
      case 4:
        return combine(x, any());
      case 5:
        if (rank == 0) return;
        return reduce(x, kReduce[pick(random_, 0, 2)], chance(random_, 60));
      case 6: {
        if (rank == 0) return;
        const Operation operation = kNormal[pick(random_, 0, 3)];
        std::vector<Node::Setting> settings = {
            {Parameter::kAxis, {static_cast<double>(pick(random_, 0, rank - 1))}}};
        if (operation == Operation::kLayernorm || operation == Operation::kRmsnorm)
          settings.push_back({Parameter::kEps, {1}});
        return add(operation, Op::kCopy, {node(x)}, shape, settings);
      }
      case 7: {
        if (rank < 2 || (rank > 2 && chance(random_, 50))) return;
        Shape other = shape, result = shape;
        other[rank - 2] = shape[rank - 1];
        result[rank - 1] = other[rank - 1] = size();
        return add(Operation::kMatmul, Op::kCopy, {node(x), tensor(other)}, result);
      }
      case 8: {
        Shape turned(shape.rbegin(), shape.rend());
        return add(Operation::kTranspose, Op::kCopy, {node(x)}, turned);
      }
      case 9:
        return choose(x);
      case 10:
        return mask(x);
      case 11:
        return gather(node(x), shape);
      default: {
        i64 all = 1;
        for (i64 n : shape) all *= n;
        const Shape flat =
            chance(random_, 50) || rank < 2 ? Shape{all} : Shape{shape[0], all / shape[0]};
        std::vector<double> values(flat.begin(), flat.end());
        return add(Operation::kReshape, Op::kCopy, {node(x)}, flat, {{Parameter::kShape, values}});
      }
    }
  }

  /// Some indices name no place.
  void gather(Input x, const Shape& shape) {
    if (shape.empty() || shape.size() > 3) return;
    const auto axis = pick(random_, 0, static_cast<u32>(shape.size()) - 1);
    const bool by_elements = chance(random_, 30);
    Shape named = shape, result = shape;
    if (by_elements) {
      result[axis] = named[axis] = size();
    } else {
      named.resize(pick(random_, 0, 2));
      for (i64& n : named) n = size();
      result.erase(result.begin() + axis);
      result.insert(result.begin() + axis, named.begin(), named.end());
    }
    const Input index = tensor(named);
    s_.tensors.back().dtype = Dtype::kI32;
    add(by_elements ? Operation::kGatherElements : Operation::kGather, Op::kCopy, {x, index},
        result, {{Parameter::kAxis, {static_cast<double>(axis)}}});
  }

  /// And what takes -inf: numbers stay tame.
  void mask(int x) {
    const Shape shape = shape_[static_cast<size_t>(x)];
    const size_t rank = shape.size();
    for (const Node& n : s_.nodes)
      if (rank < 2 || n.operation == Operation::kCausalMask) return;
    std::vector<Node::Setting> settings;
    if (chance(random_, 50))
      settings.push_back({Parameter::kOffset, {static_cast<double>(pick(random_, 0, 3))}});
    add(Operation::kCausalMask, Op::kCopy, {node(x)}, shape, settings);
    const int masked = static_cast<int>(shape_.size()) - 1;
    const double last = static_cast<double>(rank - 1);
    Shape reduced = shape;
    reduced[rank - 1] = 1;
    switch (pick(random_, 0, 3)) {
      case 0:
        return add(Operation::kUnary, Op::kExp, {node(masked)}, shape);
      case 1:
        return add(Operation::kReduce, Op::kFastMax, {node(masked)}, reduced,
                   {{Parameter::kAxis, {last}}, {Parameter::kKeep, {}}});
      default:
        return add(Operation::kSoftmax, Op::kCopy, {node(masked)}, shape,
                   {{Parameter::kAxis, {last}}});
    }
  }

  void reduce(int x, Op op, bool keep) {
    const Shape& shape = shape_[static_cast<size_t>(x)];
    std::vector<double> axes = {
        static_cast<double>(pick(random_, 0, static_cast<u32>(shape.size()) - 1))};
    if (shape.size() == 3 && axes[0] == 0 && chance(random_, 50)) axes.push_back(2);
    Shape result;
    for (size_t a = 0; a < shape.size(); a++) {
      const bool gone = std::count(axes.begin(), axes.end(), static_cast<double>(a)) != 0;
      if (!gone)
        result.push_back(shape[a]);
      else if (keep)
        result.push_back(1);
    }
    std::vector<Node::Setting> settings = {{Parameter::kAxis, axes}};
    if (keep) settings.push_back({Parameter::kKeep, {}});
    add(op == Op::kAdd && chance(random_, 50) ? Operation::kMean : Operation::kReduce, op,
        {node(x)}, result, settings);
    Node& n = s_.nodes.back();
    if (n.operation == Operation::kMean) n.op = Op::kCopy;
  }

  /// x with a number or a tensor, or with y if that is possible.
  void combine(int x, int y) {
    constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin};
    const Op op = kOps[pick(random_, 0, 4)];
    Shape shape = shape_[static_cast<size_t>(x)];
    if (y >= 0 && !broadcast(shape, shape_[static_cast<size_t>(y)])) y = -1;
    if (y < 0) shape = shape_[static_cast<size_t>(x)];
    Input other = y >= 0 ? node(y) : chance(random_, 40) ? number() : tensor(part_of(shape));
    std::vector<Input> inputs = {node(x), other};
    if (chance(random_, 20)) std::swap(inputs[0], inputs[1]);
    add(Operation::kBinary, op, inputs, shape);
  }

  /// What is near may compare otherwise: where it matters, inputs are compared, and numbers where
  /// both choices are near.
  void choose(int x) {
    constexpr Op kOps[] = {Op::kLess,         Op::kLessEqual, Op::kGreater,
                           Op::kGreaterEqual, Op::kEqual,     Op::kNotEqual};
    const Shape shape = shape_[static_cast<size_t>(x)];
    if (s_.tensors.size() + 2 >= kMaxOperands - 2 || chance(random_, 50)) {
      add(Operation::kBinary, kOps[pick(random_, 0, 3)], {node(x), {Input::Kind::kNumber, 0, 0}},
          shape);
      const int condition = static_cast<int>(shape_.size()) - 1;
      add(Operation::kBinary, Op::kMul, {node(x), number()}, shape);
      std::vector<Input> inputs = {node(condition), node(condition + 1), node(x)};
      if (chance(random_, 50)) std::swap(inputs[1], inputs[2]);
      return add(Operation::kTernary, Op::kSelect, inputs, shape);
    }
    const Shape part = part_of(shape);
    add(Operation::kBinary, kOps[pick(random_, 0, 5)],
        {tensor(part), chance(random_, 50) ? number() : tensor(part)}, part);
    std::vector<Input> inputs = {node(static_cast<int>(shape_.size()) - 1), node(x), number()};
    if (chance(random_, 50)) std::swap(inputs[1], inputs[2]);
    add(Operation::kTernary, Op::kSelect, inputs, shape);
  }

  static bool broadcast(Shape& shape, const Shape& other) {
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t a = 0; a < other.size(); a++) {
      i64& size = shape[a + shape.size() - other.size()];
      if (size != other[a] && size != 1 && other[a] != 1) return false;
      size = std::max(size, other[a]);
    }
    return true;
  }

  void join() {
    for (;;) {
      const auto unread = std::find(read_.begin(), read_.end(), 0);
      const int x = static_cast<int>(unread - read_.begin());
      const int last = static_cast<int>(read_.size()) - 1;
      if (x >= last) return;  // which may be an output already
      Shape shape = shape_[static_cast<size_t>(last)];
      if (!broadcast(shape, shape_[static_cast<size_t>(x)])) {
        std::vector<double> axes;
        for (size_t a = 0; a < shape_[static_cast<size_t>(x)].size(); a++)
          axes.push_back(static_cast<double>(a));
        add(Operation::kReduce, Op::kMax, {node(x)}, {}, {{Parameter::kAxis, axes}});
        read_[static_cast<size_t>(last)] = 1;
        add(Operation::kBinary, Op::kAdd, {{Input::Kind::kNode, last, 0}, node(last + 1)},
            shape_[static_cast<size_t>(last)]);
        continue;
      }
      add(Operation::kBinary, Op::kSub, {node(last), node(x)}, shape);
    }
  }

  Random& random_;
  Statement s_;
  std::vector<Shape> shape_;  // of each node
  std::vector<char> read_;
};

}  // namespace

Statement random_graph(Random& random, int most) {
  for (;;) {
    Statement s = Generator(random).draw(most);
    if (lower(s)) return s;
  }
}

Statement reordered(const Statement& graph, Random& random) {
  Statement s = graph;
  std::vector<int> now(graph.nodes.size(), -1);
  for (size_t placed = 0; placed < graph.nodes.size(); placed++) {
    std::vector<size_t> ready;
    for (size_t n = 0; n < graph.nodes.size(); n++) {
      bool good = now[n] < 0;
      for (const Input& in : graph.nodes[n].inputs)
        good &= in.kind != Input::Kind::kNode || now[static_cast<size_t>(in.index)] >= 0;
      if (good) ready.push_back(n);
    }
    const size_t next = ready[pick(random, 0, static_cast<u32>(ready.size()) - 1)];
    now[next] = static_cast<int>(placed);
    s.nodes[placed] = graph.nodes[next];
    for (Input& in : s.nodes[placed].inputs)
      if (in.kind == Input::Kind::kNode) in.index = now[static_cast<size_t>(in.index)];
  }
  for (GraphOutput& output : s.outputs) output.node = now[static_cast<size_t>(output.node)];
  return s;
}

}  // namespace morello::testing

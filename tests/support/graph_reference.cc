// SPDX-License-Identifier: MIT
#include "support/graph_reference.hh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "support/functions.hh"
#include "support/reference.hh"

namespace morello::testing {
namespace {

using Shape = std::vector<i64>;

i64 count(const Shape& shape) {
  i64 n = 1;
  for (i64 size : shape) n *= size;
  return n;
}

/// Calls f(index) for all indices, in row-major order.
template <class F>
void each(const Shape& shape, F f) {
  Shape index(shape.size());
  for (i64 n = count(shape); n > 0; n--) {
    f(index);
    for (size_t a = shape.size(); a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
}

i64 row_major(const Shape& shape, const Shape& index) {
  i64 at = 0;
  for (size_t a = 0; a < shape.size(); a++) at = at * shape[a] + index[a];
  return at;
}

double& element(Array& x, const Shape& index) {
  return x.at[static_cast<size_t>(row_major(x.shape, index))];
}
double element(const Array& x, const Shape& index) {
  return x.at[static_cast<size_t>(row_major(x.shape, index))];
}

Array make(const Shape& shape, const std::function<double(const Shape&)>& f) {
  Array x{shape, std::vector<double>(static_cast<size_t>(count(shape)))};
  each(shape, [&](const Shape& index) { element(x, index) = f(index); });
  return x;
}

/// The element that broadcasting puts at `index`: axes are aligned at the last.
double broadcast(const Array& x, const Shape& index) {
  Shape own(index.end() - std::ssize(x.shape), index.end());
  for (size_t a = 0; a < own.size(); a++)
    if (x.shape[a] == 1) own[a] = 0;
  return element(x, own);
}

double extreme(bool greatest, double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return greatest ? std::max(x, y) : std::min(x, y);
}

double scalar(Op op, double x, double y) {
  switch (op) {
    case Op::kRelu:
      return x < 0 ? 0 : x;
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::fabs(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kSquare:
      return x * x;
    case Op::kRecip:
      return 1 / x;
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kRound:
      return std::nearbyint(x);
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kMax:
    case Op::kMin:
      return extreme(op == Op::kMax, x, y);
    case Op::kFastMax:
      return x > y ? x : y;
    case Op::kFastMin:
      return x < y ? x : y;
    case Op::kLess:
      return x < y;
    case Op::kLessEqual:
      return x <= y;
    case Op::kGreater:
      return x > y;
    case Op::kGreaterEqual:
      return x >= y;
    case Op::kEqual:
      return x == y;
    case Op::kNotEqual:
      return x != y;
    default:
      return function_value(op, x);
  }
}

Array binary(Op op, const Array& x, const Array& y) {
  Shape shape(std::max(x.shape.size(), y.shape.size()), 1);
  for (const Array* in : {&x, &y})
    for (size_t a = 0; a < in->shape.size(); a++) {
      i64& size = shape[a + shape.size() - in->shape.size()];
      size = std::max(size, in->shape[a]);
    }
  return make(shape, [&](const Shape& i) { return scalar(op, broadcast(x, i), broadcast(y, i)); });
}

Array select(const Array& c, const Array& x, const Array& y) {
  const Array shape = binary(Op::kAdd, binary(Op::kAdd, c, x), y);
  return make(shape.shape, [&](const Shape& i) {
    return broadcast(c, i) != 0 ? broadcast(x, i) : broadcast(y, i);
  });
}

Array unary(Op op, const Array& x) {
  return make(x.shape, [&](const Shape& i) { return scalar(op, element(x, i), 0); });
}

bool has(const std::vector<double>& axes, size_t axis) {
  return std::count(axes.begin(), axes.end(), static_cast<double>(axis)) != 0;
}

Array reduce(Op op, const Array& x, const std::vector<double>& axes, bool keep) {
  Shape kept, shape;
  for (size_t a = 0; a < x.shape.size(); a++) {
    kept.push_back(has(axes, a) ? 1 : x.shape[a]);
    if (keep || !has(axes, a)) shape.push_back(kept.back());
  }
  const bool sum = op == Op::kAdd, greatest = is_greatest(op);
  Array out = make(kept, [&](const Shape&) {
    const double infinity = std::numeric_limits<double>::infinity();
    return sum ? 0 : greatest ? -infinity : infinity;
  });
  each(x.shape, [&](Shape i) {
    const double v = element(x, i);
    for (size_t a = 0; a < i.size(); a++)
      if (has(axes, a)) i[a] = 0;
    double& all = element(out, i);
    all = sum ? all + v : extreme(greatest, all, v);
  });
  out.shape = shape;
  return out;
}

Array mean(const Array& x, const std::vector<double>& axes, bool keep) {
  Array out = reduce(Op::kAdd, x, axes, keep);
  const double n = static_cast<double>(x.at.size()) / static_cast<double>(out.at.size());
  for (double& v : out.at) v /= n;
  return out;
}

Array einsum(const std::string& text, const Array& a, const Array& b) {
  const size_t comma = text.find(','), arrow = text.find("->");
  const std::string of[3] = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                             text.substr(arrow + 2)};
  std::string letters;
  Shape sizes;
  const Array* in[2] = {&a, &b};
  for (size_t i = 0; i < 2; i++)
    for (size_t x = 0; x < of[i].size(); x++)
      if (letters.find(of[i][x]) == std::string::npos) {
        letters += of[i][x];
        sizes.push_back(in[i]->shape[x]);
      }
  auto part = [&](const std::string& own, const Shape& index) {
    Shape i;
    for (char c : own) i.push_back(index[letters.find(c)]);
    return i;
  };
  Array out = make(part(of[2], sizes), [](const Shape&) { return 0; });
  each(sizes, [&](const Shape& i) {
    element(out, part(of[2], i)) += element(a, part(of[0], i)) * element(b, part(of[1], i));
  });
  return out;
}

Array matmul(const Array& a, const Array& b) {
  const std::string batch = std::string("abcdefgh").substr(0, a.shape.size() - 2);
  return einsum(batch + "mk," + batch + "kn->" + batch + "mn", a, b);
}

Array softmax(const Array& x, const std::vector<double>& axes, bool logarithm) {
  const Array shifted = binary(Op::kSub, x, reduce(Op::kMax, x, axes, true));
  const Array sum = reduce(Op::kAdd, unary(Op::kExp, shifted), axes, true);
  return logarithm ? binary(Op::kSub, shifted, unary(Op::kLog, sum))
                   : binary(Op::kDiv, unary(Op::kExp, shifted), sum);
}

const std::vector<double>* setting(const Node& node, Parameter parameter) {
  for (const Node::Setting& s : node.settings)
    if (s.parameter == parameter) return &s.values;
  return nullptr;
}

double number(const Node& node, Parameter parameter, double otherwise) {
  const auto* values = setting(node, parameter);
  return values ? (*values)[0] : otherwise;
}

std::array<i64, 2> pair(const Node& node, Parameter parameter) {
  const auto* v = setting(node, parameter);
  if (!v) return {1, 1};
  return {static_cast<i64>((*v)[0]), static_cast<i64>(v->back())};
}

Array normalised(const Node& node, const std::vector<Array>& in) {
  const auto& axes = *setting(node, Parameter::kAxis);
  Array x = in[0];
  if (node.operation == Operation::kLayernorm) x = binary(Op::kSub, x, mean(x, axes, true));
  Array scale = mean(unary(Op::kSquare, x), axes, true);
  for (double& v : scale.at) v = 1 / std::sqrt(v + number(node, Parameter::kEps, 1e-5));
  x = binary(Op::kMul, x, scale);
  if (in.size() > 1) x = binary(Op::kMul, x, in[1]);
  return in.size() > 2 ? binary(Op::kAdd, x, in[2]) : x;
}

/// -inf above the diagonal that begins at column `offset`.
Array causal_mask(const Node& node, const Array& x) {
  const auto* offset = setting(node, Parameter::kOffset);
  const size_t rank = x.shape.size();
  return make(x.shape, [&](const Shape& i) {
    const bool above = i[rank - 1] - i[rank - 2] > static_cast<i64>(offset ? (*offset)[0] : 0);
    return above ? -std::numeric_limits<double>::infinity() : element(x, i);
  });
}

Array attention(const Node& node, const std::vector<Array>& in) {
  const size_t rank = in[0].shape.size();
  const std::string batch = std::string("abcdefgh").substr(0, rank - 2);
  Array scores = einsum(batch + "md," + batch + "nd->" + batch + "mn", in[0], in[1]);
  const double scale =
      number(node, Parameter::kScale, 1 / std::sqrt(static_cast<double>(in[0].shape.back())));
  for (double& v : scores.at) v *= scale;
  if (in.size() > 3) scores = binary(Op::kAdd, scores, in[3]);
  if (setting(node, Parameter::kCausal)) scores = causal_mask(node, scores);
  return matmul(softmax(scores, {static_cast<double>(rank - 1)}, false), in[2]);
}

/// Every product by the scale of its group.
Array scaled_matmul(const std::vector<Array>& in) {
  const size_t rank = in[0].shape.size();
  auto repeated = [&](const Array& scales, bool rows, i64 k, i64 group) {
    Shape shape = scales.shape;
    shape[rank - (rows ? 1 : 2)] = k;
    return make(shape, [&](Shape i) {
      i[rank - (rows ? 1 : 2)] /= group;
      return element(scales, i);
    });
  };
  const i64 k = in[0].shape.back(), group = k / in[2].shape[rank - 2];
  const Array b = binary(Op::kMul, in[1], repeated(in[2], false, k, group));
  if (in.size() < 4) return matmul(in[0], b);
  return matmul(binary(Op::kMul, in[0], repeated(in[3], true, k, group)), b);
}

/// To nchw, or back.
Array channels(const Array& x, bool first) {
  const Shape& s = x.shape;
  if (first)
    return make({s[0], s[3], s[1], s[2]}, [&](const Shape& i) {
      return element(x, {i[0], i[2], i[3], i[1]});
    });
  return make({s[0], s[2], s[3], s[1]}, [&](const Shape& i) {
    return element(x, {i[0], i[3], i[1], i[2]});
  });
}

/// Above, left, below and right.
std::array<i64, 4> widths(const Node& node) {
  const auto* given = setting(node, Parameter::kPadding);
  if (!given) return {};
  auto at = [&](size_t i) { return static_cast<i64>((*given)[i % given->size()]); };
  return {at(0), at(1), at(2), at(3)};
}

Array convolution(const Node& node, const Array& x, const Array& w) {
  const auto step = pair(node, Parameter::kStride), apart = pair(node, Parameter::kDilation);
  const auto groups = static_cast<i64>(number(node, Parameter::kGroups, 1));
  const i64 deep = x.shape[1] / groups, wide = w.shape[0] / groups;
  const auto pad = widths(node);
  auto windows = [&](size_t i) {
    const i64 size = x.shape[2 + i] + pad[i] + pad[2 + i];
    return (size - 1 - apart[i] * (w.shape[2 + i] - 1)) / step[i] + 1;
  };
  return make({x.shape[0], w.shape[0], windows(0), windows(1)}, [&](const Shape& i) {
    double sum = 0;
    each({deep, w.shape[2], w.shape[3]}, [&](const Shape& k) {
      const i64 row = i[2] * step[0] + k[1] * apart[0] - pad[0];
      const i64 column = i[3] * step[1] + k[2] * apart[1] - pad[1];
      if (row < 0 || row >= x.shape[2] || column < 0 || column >= x.shape[3]) return;
      sum += element(x, {i[0], i[1] / wide * deep + k[0], row, column}) *
             element(w, {i[1], k[0], k[1], k[2]});
    });
    return sum;
  });
}

Array pool(const Node& node, const Array& x) {
  const auto step = pair(node, Parameter::kStride), apart = pair(node, Parameter::kDilation);
  const auto window = pair(node, Parameter::kWindow);
  const auto pad = widths(node);
  auto windows = [&](size_t i) {
    const i64 size = x.shape[2 + i] + pad[i] + pad[2 + i];
    return (size - 1 - apart[i] * (window[i] - 1)) / step[i] + 1;
  };
  const bool greatest = node.operation == Operation::kMaxPool;
  return make({x.shape[0], x.shape[1], windows(0), windows(1)}, [&](const Shape& i) {
    double all = greatest ? -std::numeric_limits<double>::infinity() : 0;
    each({window[0], window[1]}, [&](const Shape& k) {
      const i64 row = i[2] * step[0] + k[0] * apart[0] - pad[0];
      const i64 column = i[3] * step[1] + k[1] * apart[1] - pad[1];
      if (row < 0 || row >= x.shape[2] || column < 0 || column >= x.shape[3]) return;
      const double v = element(x, {i[0], i[1], row, column});
      all = greatest ? extreme(true, all, v) : all + v / static_cast<double>(window[0] * window[1]);
    });
    return all;
  });
}

Array transposed(const Node& node, const Array& x) {
  const auto* given = setting(node, Parameter::kPerm);
  std::vector<size_t> permutation(x.shape.size());
  for (size_t a = 0; a < permutation.size(); a++)
    permutation[a] = given ? static_cast<size_t>((*given)[a]) : permutation.size() - 1 - a;
  Shape shape;
  for (size_t a : permutation) shape.push_back(x.shape[a]);
  return make(shape, [&](const Shape& i) {
    Shape from(i.size());
    for (size_t a = 0; a < i.size(); a++) from[permutation[a]] = i[a];
    return element(x, from);
  });
}

/// Places before the first one are the first, those behind the last one the last.
Array gathered(const Array& x, const Array& index, size_t axis, bool by_elements) {
  Shape shape = index.shape;
  if (!by_elements) {
    shape = x.shape;
    shape.erase(shape.begin() + static_cast<i64>(axis));
    shape.insert(shape.begin() + static_cast<i64>(axis), index.shape.begin(), index.shape.end());
  }
  return make(shape, [&](const Shape& i) {
    const auto begin = i.begin() + static_cast<i64>(axis);
    const i64 named = by_elements ? 1 : std::ssize(index.shape);
    const double at = by_elements ? element(index, i) : element(index, Shape(begin, begin + named));
    Shape from(i.begin(), begin);
    from.push_back(std::clamp(static_cast<i64>(at), i64{0}, x.shape[axis] - 1));
    from.insert(from.end(), begin + named, i.end());
    return element(x, from);
  });
}

Array outcome(const Node& node, const std::vector<Array>& in) {
  const bool keep = setting(node, Parameter::kKeep) != nullptr;
  const bool nhwc = setting(node, Parameter::kNhwc) != nullptr;
  const auto* axes = setting(node, Parameter::kAxis);
  switch (node.operation) {
    case Operation::kMatmul:
      return matmul(in[0], in[1]);
    case Operation::kEinsum:
      return einsum(node.subscripts, in[0], in[1]);
    case Operation::kUnary:
      return unary(node.op, in[0]);
    case Operation::kBinary:
      return binary(node.op, in[0], in[1]);
    case Operation::kTernary:
      return select(in[0], in[1], in[2]);
    case Operation::kReduce:
      return reduce(node.op, in[0], *axes, keep);
    case Operation::kMove:
      return in[0];
    case Operation::kTranspose:
      return transposed(node, in[0]);
    case Operation::kReshape: {
      Array x = in[0];
      x.shape.clear();
      for (double size : *setting(node, Parameter::kShape))
        x.shape.push_back(static_cast<i64>(size));
      return x;
    }
    case Operation::kCast: {
      Array x = in[0];
      for (double& v : x.at) v = decoded(node.dtype, encoded(node.dtype, v));
      return x;
    }
    case Operation::kClamp:
      return binary(Op::kMin, binary(Op::kMax, in[0], in[1]), in[2]);
    case Operation::kPow: {
      Array x = in[0];
      for (double& v : x.at) v = std::pow(v, in[1].at[0]);
      return x;
    }
    case Operation::kMean:
      return mean(in[0], *axes, keep);
    case Operation::kSoftmax:
      return softmax(in[0], *axes, false);
    case Operation::kLogSoftmax:
      return softmax(in[0], *axes, true);
    case Operation::kLogsumexp: {
      const Array exp = unary(Op::kExp, in[0]);  // in double, numbers of tests are small enough
      return unary(Op::kLog, reduce(Op::kAdd, exp, *axes, keep));
    }
    case Operation::kLayernorm:
    case Operation::kRmsnorm:
      return normalised(node, in);
    case Operation::kAttention:
      return attention(node, in);
    case Operation::kScaledMatmul:
      return scaled_matmul(in);
    case Operation::kCausalMask:
      return causal_mask(node, in[0]);
    case Operation::kGather:
    case Operation::kGatherElements:
      return gathered(in[0], in[1], static_cast<size_t>((*axes)[0]),
                      node.operation == Operation::kGatherElements);
    case Operation::kConv2d: {
      if (!nhwc) return convolution(node, in[0], in[1]);
      const Array& w = in[1];  // r, s, c, o
      const Array own = make({w.shape[3], w.shape[2], w.shape[0], w.shape[1]}, [&](const Shape& i) {
        return element(w, {i[2], i[3], i[1], i[0]});
      });
      return channels(convolution(node, channels(in[0], true), own), false);
    }
    case Operation::kMaxPool:
    case Operation::kAvgPool:
      return nhwc ? channels(pool(node, channels(in[0], true)), false) : pool(node, in[0]);
  }
  return {};
}

}  // namespace

Array array_of(const Tensor& tensor, const std::vector<char>& memory) {
  Shape strides = tensor.strides;
  if (tensor.kind == Tensor::Kind::kFree) {
    strides.assign(tensor.shape.size(), 1);
    for (size_t a = strides.size(); a-- > 1;) strides[a - 1] = strides[a] * tensor.shape[a];
  }
  return make(tensor.shape, [&](const Shape& index) {
    i64 at = 0;
    for (size_t a = 0; a < index.size(); a++) at += index[a] * strides[a];
    u32 bits = 0;
    std::memcpy(&bits, memory.data() + static_cast<size_t>(at) * size_of(tensor.dtype),
                size_of(tensor.dtype));
    return decoded(tensor.dtype, bits);
  });
}

std::vector<Array> graph_results_of(const Statement& graph,
                                    const std::vector<std::vector<char>>& data, double* greatest) {
  std::vector<Array> values;
  for (const Node& node : graph.nodes) {
    std::vector<Array> in;
    for (const Node::Input& input : node.inputs) {
      const auto index = static_cast<size_t>(input.index);
      if (input.kind == Node::Input::Kind::kNumber)
        in.push_back({{}, {input.number}});
      else if (input.kind == Node::Input::Kind::kNode)
        in.push_back(values[index]);
      else
        in.push_back(array_of(graph.tensors[index], data[index]));
    }
    values.push_back(outcome(node, in));
    if (greatest == nullptr) continue;
    for (double v : values.back().at)
      if (std::isfinite(v)) *greatest = std::max(*greatest, std::fabs(v));
  }
  if (graph.outputs.empty()) return {values.back()};
  std::vector<Array> results;
  for (const GraphOutput& output : graph.outputs)
    results.push_back(values[static_cast<size_t>(output.node)]);
  return results;
}

}  // namespace morello::testing

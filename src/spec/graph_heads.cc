// SPDX-License-Identifier: MIT
// What each operation of a graph is made of. Who spells a head by its parts gets the same stages.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "spec/graph.hh"
#include "support/number.hh"

namespace morello {
namespace {

constexpr double kDefaultEps = 1e-5;

/// As the user would write it: rounded to f32.
double f32(double value) { return rounded(Dtype::kF32, value); }

double number_or(const Node& node, Parameter parameter, double otherwise) {
  const std::vector<double>* values = setting_of(node, parameter);
  return f32(values ? (*values)[0] : otherwise);
}

/// What is past the numbers of an Int is the largest, which is no axis.
template <class Int>
std::vector<Int> integers_of(const Node& node, Parameter parameter) {
  constexpr Int most = std::numeric_limits<Int>::max();
  constexpr double least = static_cast<double>(std::numeric_limits<Int>::min());
  std::vector<Int> list;
  if (const std::vector<double>* values = setting_of(node, parameter))
    for (double v : *values)
      list.push_back(v >= least && v < static_cast<double>(most) ? static_cast<Int>(v) : most);
  return list;
}

}  // namespace

Value GraphBuilder::apply(const Node& node) {
  std::vector<Value> in;
  for (int i = 0; i < std::ssize(node.inputs); i++) {
    const Node::Input& input = node.inputs[static_cast<size_t>(i)];
    if (input.kind == Node::Input::Kind::kNumber) {
      const bool takes =
          node.operation == Operation::kBinary || node.operation == Operation::kUnary ||
          node.operation == Operation::kTernary ||
          ((node.operation == Operation::kClamp || node.operation == Operation::kPow) && i > 0);
      if (!takes)
        return fail(MORELLO_INVALID_ARGUMENT, here(Place::Kind::kInput, i),
                    "a number; here has to be a tensor or a value");
      in.push_back(number(input.number));
    } else {
      in.push_back(input.kind == Node::Input::Kind::kTensor
                       ? tensor(input.index)
                       : values_[static_cast<size_t>(input.index)]);
    }
  }
  if (failed()) return {};
  const bool keep = setting_of(node, Parameter::kKeep) != nullptr;
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
      return ternary(node.op, in[0], in[1], in[2]);
    case Operation::kReduce:
      return reduce(node.op, in[0], axes_of(node, in[0]), keep);
    case Operation::kMove:
      return in[0];
    case Operation::kTranspose: {
      std::vector<u32> permutation = integers_of<u32>(node, Parameter::kPerm);
      if (!setting_of(node, Parameter::kPerm)) {
        permutation.resize(in[0].axes.size());
        std::iota(permutation.rbegin(), permutation.rend(), 0);
      }
      return transpose(in[0], permutation);
    }
    case Operation::kReshape:
      return reshape(in[0], integers_of<i64>(node, Parameter::kShape));
    case Operation::kCast:
      return cast(in[0], node.dtype);
    case Operation::kClamp:
      return binary(Op::kMin, binary(Op::kMax, in[0], in[1]), in[2]);
    case Operation::kPow:
      if (!in[1].is_number())
        return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput, 1),
                    "an exponent that is no number; valid are 0.5, -0.5, -1, 1, 2, 3 and 4");
      return power(in[0], in[1].source.number);
    case Operation::kMean:
      return mean(in[0], axes_of(node, in[0]), keep);
    case Operation::kSoftmax:
      return softmax(in[0], axes_of(node, in[0]));
    case Operation::kLogSoftmax: {
      const std::vector<int> axes = axes_of(node, in[0]);
      const Value shifted = binary(Op::kSub, in[0], greatest(in[0], axes));
      const Value sum = reduce(Op::kAdd, unary(Op::kExp, shifted), axes, true);
      return binary(Op::kSub, shifted, unary(Op::kLog, sum));
    }
    case Operation::kLogsumexp: {
      const std::vector<int> axes = axes_of(node, in[0]);
      const Value most = greatest(in[0], axes);
      const Value shifted = binary(Op::kSub, in[0], most);
      const Value sum = reduce(Op::kAdd, unary(Op::kExp, shifted), axes, true);
      Value result = binary(Op::kAdd, unary(Op::kLog, sum), most);
      if (!failed() && !keep) {
        std::vector<ValueAxis> left;
        for (int a = 0; a < std::ssize(result.axes); a++)
          if (std::find(axes.begin(), axes.end(), a) == axes.end())
            left.push_back(result.axes[static_cast<size_t>(a)]);
        result.axes = std::move(left);
      }
      return result;
    }
    case Operation::kLayernorm:
    case Operation::kRmsnorm:
      return normalised(node, in);
    case Operation::kAttention:
      return attention(node, in);
    case Operation::kScaledMatmul:
      return scaled_matmul(in);
    case Operation::kCausalMask: {
      const std::optional<i64> kept = kept_columns(node);
      return kept ? causal_mask(in[0], *kept) : Value{};
    }
    case Operation::kGather:
    case Operation::kGatherElements: {
      const std::vector<int> axes = axes_of(node, in[0]);
      if (axes.size() > 1)
        fail(MORELLO_INVALID_SHAPE, setting(node, Parameter::kAxis), "it gathers along one axis");
      return failed() ? Value{}
                      : gather(in[0], in[1], axes[0], node.operation == Operation::kGatherElements);
    }
    case Operation::kConv2d:
      return convolution(node, in);
    case Operation::kMaxPool:
    case Operation::kAvgPool:
      return pool(node, in[0]);
  }
  return {};
}

/// Those of the setting.
std::vector<int> GraphBuilder::axes_of(const Node& node, const Value& x) {
  std::vector<int> axes = integers_of<int>(node, Parameter::kAxis);
  for (size_t i = 0; i < axes.size(); i++)
    if (axes[i] < 0 || axes[i] >= std::ssize(x.axes))
      fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kSetting), "there is no axis ", axes[i],
           "; the input has ", x.axes.size(), " axes, counted from 0");
    else if (std::count(axes.begin(), axes.end(), axes[i]) > 1)
      fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kSetting), "axis ", axes[i], " is there twice");
  if (failed()) return {};
  return axes;
}

Value GraphBuilder::power(const Value& x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 0.5) return unary(Op::kSqrt, x);
  if (exponent == -0.5) return unary(Op::kRsqrt, x);
  if (exponent == -1) return unary(Op::kRecip, x);
  if (exponent == 2) return unary(Op::kSquare, x);
  if (exponent == 3) return binary(Op::kMul, unary(Op::kSquare, x), x);
  if (exponent == 4) return unary(Op::kSquare, unary(Op::kSquare, x));
  return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput, 1), "pow with exponent ",
              number_text(Dtype::kF32, exponent), "; valid are 0.5, -0.5, -1, 1, 2, 3 and 4");
}

Value GraphBuilder::mean(const Value& x, const std::vector<int>& axes, bool keep) {
  if (failed()) return {};
  i64 count = 1;
  for (int a : axes) count *= x.axes[static_cast<size_t>(a)].size;
  return binary(Op::kMul, reduce(Op::kAdd, x, axes, keep),
                number(f32(1 / static_cast<double>(count))));
}

/// What exponents are shifted by. With a NaN it may be any number: the sum of exponentials is NaN
/// all the same, so one instruction does.
Value GraphBuilder::greatest(const Value& x, const std::vector<int>& axes) {
  return reduce(Op::kFastMax, x, axes, true);
}

/// Of each row of `x` exponentials that are at most 1, and the reciprocal of their sum.
std::pair<Value, Value> GraphBuilder::weights(const Value& x, const std::vector<int>& axes) {
  const Value e = unary(Op::kExp, binary(Op::kSub, x, greatest(x, axes)));
  return {e, unary(Op::kRecip, reduce(Op::kAdd, e, axes, true))};
}

Value GraphBuilder::softmax(const Value& x, const std::vector<int>& axes) {
  const auto [e, scale] = weights(x, axes);
  return binary(Op::kMul, e, scale);
}

/// In two passes: first the mean, then the squares of what is left.
Value GraphBuilder::normalised(const Node& node, const std::vector<Value>& in) {
  const std::vector<int> axes = axes_of(node, in[0]);
  Value x = in[0];
  if (node.operation == Operation::kLayernorm) x = binary(Op::kSub, x, mean(x, axes, true));
  const Value variance = mean(unary(Op::kSquare, x), axes, true);
  const Value eps = number(number_or(node, Parameter::kEps, kDefaultEps));
  Value result = binary(Op::kMul, x, unary(Op::kRsqrt, binary(Op::kAdd, variance, eps)));
  if (in.size() > 1) result = binary(Op::kMul, result, in[1]);
  if (in.size() > 2) result = binary(Op::kAdd, result, in[2]);
  if (!failed() && result.axes.size() != in[0].axes.size())
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, 1),
                "factors and offsets have at most the axes of the first input");
  for (size_t a = 0; !failed() && a < result.axes.size(); a++)
    if (result.axes[a].size != in[0].axes[a].size)
      return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, 1),
                  "factors and offsets are broadcast to the first input: axis ", a, " has size ",
                  in[0].axes[a].size, " there, not ", result.axes[a].size);
  return result;
}

Place GraphBuilder::setting(const Node& node, Parameter parameter) const {
  int entry = 0;
  while (node.settings[static_cast<size_t>(entry)].parameter != parameter) entry++;
  return here(Place::Kind::kSetting, entry);
}

/// Of the first row; one more than the offset.
std::optional<i64> GraphBuilder::kept_columns(const Node& node) {
  const std::vector<i64> offset = integers_of<i64>(node, Parameter::kOffset);
  if (offset.empty()) return 1;
  if (offset[0] >= 0) return std::min(offset[0], kMaxElements) + 1;
  fail(MORELLO_UNSUPPORTED, setting(node, Parameter::kOffset), "offset=", offset[0],
       " leaves nothing in the first row; valid are 0 and more");
  return std::nullopt;
}

/// softmax(scale * q k^T + mask) v, of which the results are divided by the sums, not the weights.
Value GraphBuilder::attention(const Node& node, const std::vector<Value>& in) {
  const size_t rank = in[0].axes.size();
  for (int i = 0; i < 3; i++)
    if (in[static_cast<size_t>(i)].axes.size() != rank || rank < 2)
      return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, i),
                  "attention takes q[..,m,d], k[..,n,d] and v[..,n,e], with the same leading axes");
  std::vector<u32> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[rank - 2], swapped[rank - 1]);
  const double scale = number_or(node, Parameter::kScale,
                                 1 / std::sqrt(static_cast<double>(in[0].axes.back().size)));
  Value scores = binary(Op::kMul, matmul(in[0], transpose(in[1], swapped)), number(scale));
  if (in.size() > 3) scores = binary(Op::kAdd, scores, in[3]);
  if (setting_of(node, Parameter::kCausal)) {
    const std::optional<i64> kept = kept_columns(node);
    if (!kept) return {};
    scores = causal_mask(scores, *kept);
  } else if (setting_of(node, Parameter::kOffset)) {
    return fail(MORELLO_INVALID_ARGUMENT, setting(node, Parameter::kOffset),
                "offset is of a causal mask; write causal as well");
  }
  const auto [e, sums] = weights(scores, {static_cast<int>(rank) - 1});
  return binary(Op::kMul, matmul(e, in[2]), sums);
}

/// a[..,m,k] by b[..,k,n] in groups along k, whose sums have scales: of b[..,groups,n], and of
/// a[..,m,groups] if there are any.
Value GraphBuilder::scaled_matmul(const std::vector<Value>& in) {
  const Value &a = in[0], &b = in[1];
  const size_t rank = a.axes.size();
  for (int i = 0; i < std::ssize(in); i++)
    if (in[static_cast<size_t>(i)].axes.size() != rank || rank < 2)
      return fail(
          MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, i),
          "scaled_matmul takes a[..,m,k], b[..,k,n], scales[..,groups,n] of b and, if there "
          "are any, scales[..,m,groups] of a, with the same leading axes");
  const i64 rows = a.axes[rank - 2].size, depth = a.axes[rank - 1].size;
  const i64 columns = b.axes[rank - 1].size, groups = in[2].axes[rank - 2].size;
  if (depth % groups != 0)
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, 2), "scales of ", groups,
                " groups, which do not divide the ", depth, " elements of a row");
  // What broadcasting would make more of, or joining refuse without saying so.
  auto check = [&](int i, size_t axis, i64 size, bool repeats) {
    const i64 given = in[static_cast<size_t>(i)].axes[axis].size;
    if (given != size && !(repeats && given == 1))
      fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, i), "axis ", axis, " has size ", given,
           ", not ", size);
  };
  for (size_t i = 1; i < in.size(); i++)
    for (size_t axis = 0; axis + 2 < rank; axis++)
      check(static_cast<int>(i), axis, a.axes[axis].size, i > 1);
  check(1, rank - 2, depth, false);
  check(2, rank - 1, columns, true);
  if (in.size() > 3) check(3, rank - 2, rows, true), check(3, rank - 1, groups, false);
  if (failed()) return {};
  std::string batch;
  auto shaped = [&](const Value& x, std::initializer_list<i64> last) {
    std::vector<i64> shape;
    for (size_t axis = 0; axis + 2 < rank; axis++) shape.push_back(x.axes[axis].size);
    shape.insert(shape.end(), last);
    return reshape(x, shape);
  };
  for (size_t axis = 0; axis + 2 < rank; axis++) batch += static_cast<char>('A' + axis);
  const Value parts = einsum(batch + "mgk," + batch + "gkn->" + batch + "gmn",
                             shaped(a, {rows, groups, depth / groups}),
                             shaped(b, {groups, depth / groups, columns}));
  const Value& of_b = in[2];
  Value sums = binary(Op::kMul, parts, shaped(of_b, {groups, 1, of_b.axes[rank - 1].size}));
  if (in.size() > 3) {
    std::vector<u32> swapped(rank);
    std::iota(swapped.begin(), swapped.end(), 0);
    std::swap(swapped[rank - 2], swapped[rank - 1]);
    const Value of_a = transpose(in[3], swapped);
    sums = binary(Op::kMul, sums, shaped(of_a, {groups, in[3].axes[rank - 2].size, 1}));
  }
  return reduce(Op::kAdd, sums, {static_cast<int>(rank) - 2}, false);
}

/// The windows of the two spatial axes. False: something is wrong.
bool GraphBuilder::spatial(const Node& node, const Value& x, const std::array<i64, 2>& window,
                           std::vector<Window>& windows) {
  auto pair = [&](Parameter p) -> std::array<i64, 2> {
    const std::vector<i64> list = integers_of<i64>(node, p);
    if (list.empty()) return {1, 1};
    return {list[0], list.back()};
  };
  // All sides; rows and columns; or above, left, below and right.
  std::vector<i64> widths = integers_of<i64>(node, Parameter::kPadding);
  if (widths.empty()) widths = {0};
  if (widths.size() == 3 || widths.size() > 4 ||
      std::any_of(widths.begin(), widths.end(), [](i64 v) { return v < 0 || v > kMostBorder; })) {
    fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kSetting),
         "padding is one width, two (rows, columns) or four (above, left, below, right), of at "
         "least 0 and at most ",
         kMostBorder);
    return false;
  }
  const auto step = pair(Parameter::kStride), dilation = pair(Parameter::kDilation);
  const int first = setting_of(node, Parameter::kNhwc) ? 1 : 2;
  for (int i = 0; i < 2; i++) {
    const auto at = static_cast<size_t>(i);
    const size_t side = widths.size() == 1 ? 0 : at;
    const i64 before = widths[side], after = widths[widths.size() == 4 ? side + 2 : side];
    const Window w{first + i, window[at], step[at], dilation[at], before, after};
    const i64 size = x.axes[static_cast<size_t>(first + i)].size;
    if (w.size < 1 || w.step < 1 || w.dilation < 1) {
      fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kSetting),
           "windows, strides and dilations must be at least 1");
      return false;
    }
    const i64 all = size + before + after;
    if (w.size > all || (w.size - 1) > (all - 1) / w.dilation) {
      fail(MORELLO_INVALID_SHAPE, here(), "a window of ", w.size, " elements, ", w.dilation,
           " apart, does not fit in axis ", first + i, " of the input, which has size ", size,
           all > size ? concat(", and padding of ", all - size) : std::string());
      return false;
    }
    windows.push_back(w);
  }
  return true;
}

/// nchw: x[n,c,h,w], w[o,c/g,r,s]; nhwc: x[n,h,w,c], w[r,s,c/g,o].
Value GraphBuilder::convolution(const Node& node, const std::vector<Value>& in) {
  const Value& x = in[0];
  Value w = in[1];
  for (int i = 0; i < 2; i++)
    if (in[static_cast<size_t>(i)].axes.size() != 4)
      return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, i),
                  "conv2d takes x[n,c,h,w] and w[o,c,r,s], or with nhwc x[n,h,w,c] and w[r,s,c,o]");
  const bool nhwc = setting_of(node, Parameter::kNhwc) != nullptr;
  const std::vector<i64> given = integers_of<i64>(node, Parameter::kGroups);
  const i64 groups = given.empty() ? 1 : given[0];
  const size_t channel = nhwc ? 3 : 1, rows = nhwc ? 0 : 2, deep = nhwc ? 2 : 1, out = nhwc ? 3 : 0;
  const i64 channels = x.axes[channel].size, outputs = w.axes[out].size;
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0)
    return fail(MORELLO_INVALID_SHAPE, here(), groups, " groups do not divide ", channels,
                " channels and ", outputs, " outputs");
  if (w.axes[deep].size != channels / groups)
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, 1), "axis ", deep,
                " of the weights has size ", w.axes[deep].size, "; with ", channels,
                " channels in ", groups, " groups it must be ", channels / groups);
  std::vector<Window> list;
  if (!spatial(node, x, {w.axes[rows].size, w.axes[rows + 1].size}, list)) return {};
  std::vector<Reading> readings;
  const Value v = windows(x, list, readings);
  if (failed()) return {};
  for (size_t i = 0; i < 2 && !failed(); i++) {
    const Reading& r = readings[i];
    const size_t axis = rows + i;
    if (r.second_outside)  // by what its weight is makes no difference
      w.axes[axis] = v.axes[static_cast<size_t>(list[i].axis) + i + 1];
    else if (r.size != w.axes[axis].size)
      w = part(w, axis, r.first, r.size, 1);
  }
  if (failed()) return {};
  auto size = [](const Value& value, size_t axis) { return value.axes[axis].size; };
  // The groups as an axis of their own, g.
  if (nhwc) {
    const Value a = reshape(
        v, {size(v, 0), size(v, 1), size(v, 2), size(v, 3), size(v, 4), groups, channels / groups});
    const Value b = reshape(w, {size(w, 0), size(w, 1), size(w, 2), groups, outputs / groups});
    const Value y = einsum("nhrwsgc,rscgo->nhwgo", a, b);
    if (failed()) return {};
    return reshape(y, {size(y, 0), size(y, 1), size(y, 2), outputs});
  }
  const Value a = reshape(
      v, {size(v, 0), groups, channels / groups, size(v, 2), size(v, 3), size(v, 4), size(v, 5)});
  const Value b = reshape(w, {groups, outputs / groups, size(w, 1), size(w, 2), size(w, 3)});
  const Value y = einsum("ngchrws,gocrs->ngohw", a, b);
  if (failed()) return {};
  return reshape(y, {size(y, 0), outputs, size(y, 3), size(y, 4)});
}

Value GraphBuilder::pool(const Node& node, const Value& x) {
  if (x.axes.size() != 4)
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput),
                "pools take x[n,c,h,w], or with nhwc x[n,h,w,c]");
  const std::vector<i64> window = integers_of<i64>(node, Parameter::kWindow);
  std::vector<Window> list;
  if (!spatial(node, x, {window[0], window.back()}, list)) return {};
  std::vector<Reading> readings;
  const Value v = windows(x, list, readings);
  const std::vector<int> inner =
      setting_of(node, Parameter::kNhwc) ? std::vector<int>{2, 4} : std::vector<int>{3, 5};
  if (node.operation == Operation::kMaxPool) return reduce(Op::kMax, v, inner, false);
  const double count = static_cast<double>(list[0].size * list[1].size);
  return binary(Op::kMul, reduce(Op::kAdd, v, inner, false), number(f32(1 / count)));
}

}  // namespace morello

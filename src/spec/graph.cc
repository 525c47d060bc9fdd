// SPDX-License-Identifier: MIT
// The operations that heads are made of.
#include "spec/graph.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/number.hh"

namespace morello {
namespace {

using Head = Statement::Head;
using Kind = Source::Kind;

bool same_bits(double a, double b) {
  return std::bit_cast<u64>(a) == std::bit_cast<u64>(b) || (std::isnan(a) && std::isnan(b));
}

Tensor tensor_of(const Value& value) {
  Tensor t;
  for (const ValueAxis& axis : value.axes) t.shape.push_back(axis.size);
  t.strides = row_major_strides(t.shape);
  t.dtype = value.dtype;
  return t;
}

/// Of two constants, in f32 or i32. nullopt: constants of this operation are the user's to compute.
std::optional<double> folded(Op op, double x, double y) {
  switch (op) {
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::fabs(x);
    case Op::kSquare:
      return x * x;
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kRecip:
      return 1 / x;
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_i32(double number) {
  return number == std::floor(number) && number >= -2147483648.0 && number <= 2147483647.0 &&
         !(number == 0 && std::signbit(number));
}

bool operator==(const Source& a, const Source& b) {
  return a.kind == b.kind && a.index == b.index && same_bits(a.number, b.number);
}
bool operator==(const Node::Input& a, const Node::Input& b) {
  return a.kind == b.kind && a.index == b.index && same_bits(a.number, b.number);
}

MaybeFault GraphBuilder::run() {
  uses_.resize(statement_.tensors.size());
  for (; node_ < static_cast<int>(statement_.nodes.size()); node_++) {
    Value value = apply(statement_.nodes[static_cast<size_t>(node_)]);
    if (!failed() && value.is_number())
      fail(MORELLO_UNSUPPORTED, here(), "a value of numbers alone; write the number that it is");
    if (!failed() && value.axes.size() > MORELLO_MAX_RANK)
      fail(MORELLO_UNSUPPORTED, here(), "the value has ", value.axes.size(), " axes; at most ",
           MORELLO_MAX_RANK, " are supported");
    if (failed()) return fault_;
    together_.push_back({node_, value.axes});
    values_.push_back(std::move(value));
  }
  return std::nullopt;
}

MaybeFault GraphBuilder::find_repeated_axis() const {
  auto twice = [&](std::vector<int> atoms) {
    std::sort(atoms.begin(), atoms.end());
    return std::adjacent_find(atoms.begin(), atoms.end()) != atoms.end();
  };
  auto atoms_of = [&](const std::vector<ValueAxis>& axes) {
    std::vector<int> all;
    for (const ValueAxis& axis : axes)
      for (int atom : dims_.atoms(axis.dims)) all.push_back(atom);
    return all;
  };
  constexpr std::string_view kHelp =
      " would be read along two axes at once: a value or an input has one order of axes in a graph."
      " Where it is needed in two, pass the tensor as two inputs";
  for (int t = 0; t < std::ssize(uses_); t++)
    if (twice(atoms_of(uses_[static_cast<size_t>(t)].axes)))
      return fault(MORELLO_UNSUPPORTED, {Place::Kind::kTensor, t}, "input ", t, kHelp);
  for (const Together& t : together_)
    if (twice(atoms_of(t.axes)))
      return fault(MORELLO_UNSUPPORTED, {Place::Kind::kNode, t.node}, "what this operation reads",
                   kHelp);
  return std::nullopt;
}

/// Values are as large as tensors may be, so that no product of sizes overflows.
bool GraphBuilder::fits(const std::vector<ValueAxis>& axes) {
  i64 elements = 1;
  for (const ValueAxis& axis : axes)
    if (__builtin_mul_overflow(elements, axis.size, &elements) || elements > kMaxElements) {
      fail(MORELLO_SIZE_OVERFLOW, here(), "a value here has more than ", kMaxElements,
           " elements, the most that is supported, repeated ones included");
      return false;
    }
  return true;
}

Value GraphBuilder::tensor(int index) {
  const Tensor& t = statement_.tensors[static_cast<size_t>(index)];
  Use& use = uses_[static_cast<size_t>(index)];
  if (!use.used) {
    use.used = true;
    const std::vector<i64> strides =
        t.kind == Tensor::Kind::kFree ? row_major_strides(t.shape) : t.strides;
    for (size_t axis = 0; axis < t.shape.size(); axis++) {
      use.axes.push_back({t.shape[axis], {}});
      if (t.shape[axis] == 1) continue;
      use.axes.back().dims = {dims_.fresh(t.shape[axis])};
      use.strides.push_back({use.axes.back().dims[0], strides[axis]});
    }
  } else if (use.windowed) {
    return fail(MORELLO_UNSUPPORTED, here(), "input ", index,
                " is read through windows and in another way; pass it as two inputs");
  }
  if (!fits(use.axes)) return {};
  return {{Kind::kTensor, index, 0}, use.axes, t.dtype};
}

Value GraphBuilder::number(double value) {
  // Constants do not decide what is computed in what, unless integers cannot hold them.
  return {{Kind::kNumber, 0, value}, {}, is_i32(value) ? Dtype::kI32 : Dtype::kF32};
}

Value GraphBuilder::add_stage(GraphStage stage, std::vector<ValueAxis> axes, Dtype dtype) {
  if (!fits(axes)) return {};
  stages_.push_back(std::move(stage));
  return {{Kind::kStage, static_cast<int>(stages_.size()) - 1, 0}, std::move(axes), dtype};
}

/// An operation of the language without graphs: the iteration space is found by the same code.
Value GraphBuilder::classic(Statement s, const std::vector<Value>& inputs) {
  if (failed()) return {};
  for (const Value& v : inputs) s.tensors.push_back(tensor_of(v));
  Space space;
  if (MaybeFault f = make_space(s, false, space)) {
    const Place p = f->place;
    f->place =
        p.kind == Place::Kind::kArgument
            ? here(s.head == Head::kEinsum ? Place::Kind::kSubscripts : Place::Kind::kSetting,
                   s.head == Head::kEinsum ? p.entry : 0)
        : p.kind == Place::Kind::kHead ? here()
                                       : here(Place::Kind::kInput, p.tensor);
    fault_ = std::move(f);
    return {};
  }
  std::vector<ValueAxis> axes(static_cast<size_t>(space.rank));
  for (size_t d = 0; d < axes.size(); d++) axes[d].size = space.size[d];
  for (size_t i = 0; i < inputs.size(); i++)
    for (size_t a = 0; a < inputs[i].axes.size(); a++) {
      if (space.axes[i][a] == kBroadcast || inputs[i].axes[a].dims.empty()) continue;
      std::vector<int>& known = axes[static_cast<size_t>(space.axes[i][a])].dims;
      const std::vector<int>& next = inputs[i].axes[a].dims;
      if (known.empty())
        known = next;
      else if (!dims_.join(known, next))
        return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput, static_cast<int>(i)), "axis ", a,
                    " is split in one way here and in another elsewhere");
    }
  together_.push_back({node_, axes});

  GraphStage stage;
  std::vector<ValueAxis> result;
  std::vector<char> kept(axes.size());
  for (int d : space.result) {
    result.push_back(axes[static_cast<size_t>(d)]);
    kept[static_cast<size_t>(d)] = 1;
  }
  for (size_t d = 0; d < axes.size(); d++)
    if (!kept[d]) stage.reduce.insert(stage.reduce.end(), axes[d].dims.begin(), axes[d].dims.end());
  if (s.head == Head::kTranspose) return {inputs[0].source, std::move(result), inputs[0].dtype};
  const bool sums = s.head == Head::kMatmul || s.head == Head::kEinsum ||
                    (s.head == Head::kReduce && s.op == Op::kAdd);
  stage.op = s.head == Head::kMatmul || s.head == Head::kEinsum ? Op::kMulAdd : s.op;
  bool integer = true;
  std::optional<Dtype> dtype;  // numbers have none of their own
  // The condition of a select has no part in it, unless it selects from numbers.
  const bool selects = s.head == Head::kTernary;
  const size_t first = selects && !(inputs[1].is_number() && inputs[2].is_number()) ? 1 : 0;
  for (size_t i = 0; i < inputs.size(); i++) {
    stage.in[i] = inputs[i].source;
    integer &= is_integer(inputs[i].dtype);
    if (inputs[i].is_number() || i < first) continue;
    if (!dtype)
      dtype = inputs[i].dtype;
    else if (*dtype != inputs[i].dtype)
      dtype = is_integer(*dtype) && is_integer(inputs[i].dtype) ? Dtype::kI32 : Dtype::kF32;
  }
  if (is_integer(*dtype)) {
    if (!integer || !has_integers(stage.op))
      dtype = Dtype::kF32;
    else if (sums)
      dtype = Dtype::kI32;
  }
  return add_stage(std::move(stage), std::move(result), *dtype);
}

Value GraphBuilder::unary(Op op, const Value& x) {
  if (failed()) return {};
  if (x.is_number()) {
    if (const auto value = folded(op, x.source.number, 0))
      return number(rounded(Dtype::kF32, *value));
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput), name_of(op),
                " of a number; write the number that it is");
  }
  Statement s;
  s.head = Head::kUnary;
  s.op = op;
  return classic(std::move(s), {x});
}

Value GraphBuilder::binary(Op op, const Value& x, const Value& y) {
  if (failed()) return {};
  if (x.is_number() && y.is_number()) {
    const auto value = folded(op, x.source.number, y.source.number);
    if (value) return number(is_i32(*value) ? *value : rounded(Dtype::kF32, *value));
    return fail(MORELLO_UNSUPPORTED, here(), name_of(op),
                " of two numbers; write the number that it is");
  }
  Statement s;
  s.head = Head::kBinary;
  s.op = op;
  return classic(std::move(s), {x, y});
}

/// A stage has one constant: of two numbers one is selected first, where zero stands for the other.
Value GraphBuilder::ternary(Op op, const Value& x, const Value& y, const Value& z) {
  if (failed()) return {};
  if (x.is_number())
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput), name_of(op),
                " by a number; write what it selects");
  if (y.is_number() && z.is_number()) {
    const double one = y.source.number, other = z.source.number;
    if (one != 0) {
      const Value part = ternary(op, x, y, x);
      return ternary(op, part, part, z);
    }
    if (other == 0 && !same_bits(one, other))
      return fail(MORELLO_UNSUPPORTED, here(), name_of(op),
                  " of two zeros; multiply by one of them");
    const Value zero = binary(Op::kEqual, x, number(0));
    const Value part = ternary(op, zero, z, zero);
    return ternary(op, part, part, y);
  }
  Statement s;
  s.head = Head::kTernary;
  s.op = op;
  return classic(std::move(s), {x, y, z});
}

Value GraphBuilder::reduce(Op op, const Value& x, const std::vector<int>& axes, bool keep) {
  if (failed()) return {};
  GraphStage stage;
  stage.op = op;
  stage.in[0] = x.source;
  std::vector<ValueAxis> result;
  for (int a = 0; a < std::ssize(x.axes); a++) {
    const ValueAxis& axis = x.axes[static_cast<size_t>(a)];
    if (std::find(axes.begin(), axes.end(), a) == axes.end())
      result.push_back(axis);
    else {
      stage.reduce.insert(stage.reduce.end(), axis.dims.begin(), axis.dims.end());
      if (keep) result.push_back({});
    }
  }
  const Dtype dtype = op == Op::kAdd && is_integer(x.dtype) ? Dtype::kI32 : x.dtype;
  return add_stage(std::move(stage), std::move(result), dtype);
}

Value GraphBuilder::matmul(const Value& a, const Value& b) {
  Statement s;
  s.head = Head::kMatmul;
  return classic(std::move(s), {a, b});
}

Value GraphBuilder::einsum(const std::string& subscripts, const Value& a, const Value& b) {
  Statement s;
  s.head = Head::kEinsum;
  s.subscripts = subscripts;
  return classic(std::move(s), {a, b});
}

Value GraphBuilder::transpose(const Value& x, const std::vector<u32>& permutation) {
  Statement s;
  s.head = Head::kTranspose;
  s.permutation = permutation;
  return classic(std::move(s), {x});
}

Value GraphBuilder::reshape(const Value& x, const std::vector<i64>& shape) {
  if (failed()) return {};
  std::vector<int> all;
  i64 before = 1, after = 1;
  for (const ValueAxis& axis : x.axes) {
    all.insert(all.end(), axis.dims.begin(), axis.dims.end());
    before *= axis.size;
  }
  for (i64 size : shape)
    if (size < 1 || __builtin_mul_overflow(after, size, &after))
      return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kSetting),
                  "sizes must be at least 1, and their product at most 2^63");
  if (before != after)
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kSetting), "the shape has ", after,
                " elements, but the input has ", before, "; they must be as many");
  std::vector<std::vector<int>> groups;
  if (!dims_.regroup(all, shape, groups))
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kSetting),
                "the sizes of the shape do not nest with those of the input's axes");
  Value result = x;
  result.axes.clear();
  for (size_t i = 0; i < shape.size(); i++) result.axes.push_back({shape[i], groups[i]});
  return result;
}

Value GraphBuilder::cast(const Value& x, Dtype dtype) {
  if (failed()) return {};
  if (x.is_number())
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput),
                "cast of a number; write the number that it is");
  if (is_integer(dtype))
    return fail(MORELLO_UNSUPPORTED, here(), "cast to ", name_of(dtype),
                "; values are rounded to f32, bf16 or f16 only: integers are made by the output");
  GraphStage stage;
  stage.in[0] = x.source;
  stage.rounds = dtype;
  return add_stage(std::move(stage), x.axes, dtype);
}

Value GraphBuilder::gather(const Value& x, const Value& index, int axis, bool by_elements) {
  if (failed()) return {};
  if (!is_integer(index.dtype))
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput, 1), "an index of ",
                name_of(index.dtype), "; valid are i32, i8 and u8");
  GraphStage stage;
  stage.op = Op::kGather;
  stage.in = {x.source, index.source, {}};
  const auto along = static_cast<size_t>(axis);
  stage.reduce = x.axes[along].dims;
  if (by_elements && x.axes.size() != index.axes.size())
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, 1), "the index has ",
                index.axes.size(), " axes; it must have those of the first input, ", x.axes.size());
  std::vector<ValueAxis> result = x.axes;
  if (!by_elements) {
    result.erase(result.begin() + axis);
    result.insert(result.begin() + axis, index.axes.begin(), index.axes.end());
  }
  for (size_t a = 0; by_elements && a < result.size(); a++) {
    if (a == along) {
      result[a] = index.axes[a];
      continue;
    }
    if (index.axes[a].size != result[a].size)
      return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput, 1), "axis ", a, " has size ",
                  index.axes[a].size, ", not ", result[a].size, " as in the first input");
    if (!index.axes[a].dims.empty() && !dims_.join(result[a].dims, index.axes[a].dims))
      return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput, 1), "axis ", a,
                  " is split in one way here and in another elsewhere");
  }
  std::vector<ValueAxis> all = result;
  all.push_back(x.axes[along]);
  together_.push_back({node_, std::move(all)});
  return add_stage(std::move(stage), std::move(result), x.dtype);
}

Value GraphBuilder::causal_mask(const Value& x, i64 kept) {
  if (failed()) return {};
  if (x.axes.size() < 2)
    return fail(MORELLO_INVALID_SHAPE, here(Place::Kind::kInput),
                "a causal mask takes [..,m,n], rows and columns; the input has ", x.axes.size(),
                " axes");
  const ValueAxis &rows = x.axes[x.axes.size() - 2], &columns = x.axes.back();
  if (kept >= columns.size) return x;
  keeping_.push_back({rows.dims, columns.dims, kept, node_});
  GraphStage stage;
  stage.op = Op::kKeep;
  stage.in[0] = x.source;
  return add_stage(std::move(stage), x.axes, is_integer(x.dtype) ? Dtype::kF32 : x.dtype);
}

}  // namespace morello

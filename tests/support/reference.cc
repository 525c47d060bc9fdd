// SPDX-License-Identifier: MIT
#include "reference.hh"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "functions.hh"

namespace morello::testing {
namespace {

i32 wrap(i64 value) { return static_cast<i32>(static_cast<u32>(static_cast<u64>(value))); }

// ---- operations

/// By the numbers' places in the order of IEEE 754-2019: -0 right below +0.
double extreme(bool greatest, double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  const bool below = x < y || (x == y && std::signbit(x) > std::signbit(y));
  return below == greatest ? y : x;
}

double elementwise(Op op, double x, double y, double z = 0) {
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
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
    case Op::kMulAdd:
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
    case Op::kExp:
    case Op::kDecay:
    case Op::kExp2:
    case Op::kLog:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kErf:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kSilu:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos:
      return function_value(op, x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kRound:
      return std::nearbyint(x);
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
    case Op::kSelect:
      return x != 0 ? y : z;
    default:
      return x;
  }
}

i64 elementwise_i64(Op op, i64 x, i64 y, i64 z = 0) {
  switch (op) {
    case Op::kRelu:
      return x < 0 ? 0 : x;
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return x < 0 ? -x : x;
    case Op::kSquare:
      return x * x;
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
    case Op::kMulAdd:
      return x * y;
    case Op::kMax:
    case Op::kFastMax:
      return x > y ? x : y;
    case Op::kMin:
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
    case Op::kSelect:
      return x != 0 ? y : z;
    default:
      return x;
  }
}

/// The greatest or least number of the element type, infinities among them.
double extreme_of(Dtype dtype, bool greatest) {
  switch (dtype) {
    case Dtype::kI8:
      return greatest ? 127 : -128;
    case Dtype::kU8:
      return greatest ? 255 : 0;
    case Dtype::kI32:
      return greatest ? 2147483647.0 : -2147483648.0;
    default:
      return greatest ? HUGE_VAL : -HUGE_VAL;
  }
}

bool with_one_input(const Stage& s) { return s.in[1] == kNoRef; }
bool reduces(const Stage& s) {
  return s.op == Op::kMulAdd || (can_reduce(s.op) && with_one_input(s));
}

/// Is the sum of terms exact in f32 in any order?
class Exactness {
 public:
  void add(double term, Op op) {
    if (op == Op::kMax || op == Op::kMin) return;
    if (op == Op::kFastMax || op == Op::kFastMin) {
      odd_ |= std::isnan(term) || (term == 0 && std::signbit(term));
      return;
    }
    odd_ |= !std::isfinite(term);
    if (term == 0 || odd_) return;
    sum_ += std::fabs(term);
    int exponent;
    const double fraction = std::frexp(term, &exponent);  // the lowest bit of the term
    const i64 digits = static_cast<i64>(std::ldexp(std::fabs(fraction), 53));
    least_ = std::min(least_, exponent - 53 + std::countr_zero(static_cast<u64>(digits)));
  }
  bool holds() const {
    return !odd_ && (sum_ == 0 || (std::ldexp(sum_, -least_) <= 16777216 && least_ >= -126));
  }

 private:
  double sum_ = 0;
  int least_ = 10000;
  bool odd_ = false;
};

using Index = std::array<i64, kMaxDims>;

class Evaluation {
 public:
  explicit Evaluation(const GeneralProblem& p) : p_(p), spec_(p.spec) { result_.data = p.data; }

  Reference run() {
    for (int s = 0; s < spec_.stage_count; s++) compute(s);
    for (int s = 0; s < spec_.stage_count; s++)
      if (spec_.stage[s].out != kNoRef) write(s);
    return std::move(result_);
  }

 private:
  /// All points of the iteration space, whatever dimensions something has: index 0 where it lacks
  /// one.
  template <class F>
  void each(DimMask dims, F f) {
    Index index{};
    for (;;) {
      f(index);
      int d = spec_.rank - 1;
      for (; d >= 0; d--) {
        if (!(dims >> d & 1)) continue;
        if (++index[static_cast<size_t>(d)] < i64{spec_.size[static_cast<size_t>(d)]}) break;
        index[static_cast<size_t>(d)] = 0;
      }
      if (d < 0) return;
    }
  }

  size_t point(const Index& index, DimMask dims) const {
    size_t at = 0;
    for (size_t d = 0; d < spec_.rank; d++)
      at = at * spec_.size[d] + (dims >> d & 1 ? static_cast<size_t>(index[d]) : 0);
    return at;
  }

  /// The element at `index`, from the layout: coordinates along each entry, from fast to slow.
  i64 element(int o, const Index& index) const {
    const Operand& x = spec_.operand[static_cast<size_t>(o)];
    Index along = index;
    for (int w = 0; w < kMaxWindows; w++)
      if (x.windows >> w & 1) {
        const Window& window = spec_.window[static_cast<size_t>(w)];
        along[window.outer] = i64{window.step} * index[window.outer] +
                              i64{window.dilation} * index[window.inner] - window.before;
      }
    i64 at = 0;
    for (size_t i = kMaxPhysical; i-- > 0;) {
      const u8 d = x.layout.dim[i], block = x.layout.block[i];
      if (d == kNoDim) continue;
      const i64 pitch = p_.pitch[static_cast<size_t>(o)][i];
      at += (block ? along[d] % block : along[d]) * pitch;
      if (block) along[d] /= block;
    }
    return at;
  }

  /// Do windows reach past an axis of the operand here?
  bool outside(int o, const Index& index) const {
    for (int w = 0; w < kMaxWindows; w++) {
      if (!(spec_.operand[static_cast<size_t>(o)].windows >> w & 1)) continue;
      const Window& v = spec_.window[static_cast<size_t>(w)];
      const i64 end = i64{v.step} * (spec_.size[v.outer] - 1) +
                      i64{v.dilation} * (spec_.size[v.inner] - 1) - v.before - v.after;
      const i64 at = i64{v.step} * index[v.outer] + i64{v.dilation} * index[v.inner] - v.before;
      if (at < 0 || at > end) return true;
    }
    return false;
  }

  double operand(int o, const Index& index) const {
    const Dtype dtype = spec_.operand[static_cast<size_t>(o)].dtype;
    const size_t bytes = dtype == Dtype::kF32 || dtype == Dtype::kI32    ? 4
                         : dtype == Dtype::kBf16 || dtype == Dtype::kF16 ? 2
                                                                         : 1;
    u32 bits = 0;
    const std::vector<char>& data = p_.data[static_cast<size_t>(o)];
    std::memcpy(&bits, data.data() + static_cast<size_t>(element(o, index)) * bytes, bytes);
    return decoded(dtype, bits);
  }

  struct Value {
    DimMask dims = 0;
    std::vector<double> number;
  };
  double read(Ref ref, const Index& index) const {
    if (ref < kMaxOperands) return operand(ref, index);
    const Value& v = values_[static_cast<size_t>(ref - 0x10) / 4];
    return v.number[point(index, v.dims)];
  }
  /// f32 holds all numbers that floats are computed from but those of i32.
  double input(const Stage& stage, size_t i, const Index& index) const {
    if (stage.in[i] == kConstant) return decoded(stage.dtype, stage.constant);
    if (stage.in[i] < kMaxOperands && outside(stage.in[i], index)) {
      // Left out: what changes no sum and no extreme.
      const Dtype held = spec_.operand[stage.in[i]].dtype;
      const bool most = stage.op == Op::kMin || stage.op == Op::kFastMin;
      if (stage.op == Op::kMulAdd || stage.op == Op::kAdd) return 0;
      return extreme_of(held, most);
    }
    const double x = read(stage.in[i], index);
    if (dtype_of_ref(stage.in[i]) != Dtype::kI32 || stage.dtype == Dtype::kI32) return x;
    return static_cast<double>(static_cast<float>(x));
  }
  DimMask dims_of_ref(Ref ref) const {
    return ref == kNoRef || ref == kConstant ? DimMask{0}
           : ref < kMaxOperands              ? spec_.operand[ref].dims
                                             : values_[static_cast<size_t>(ref - 0x10) / 4].dims;
  }
  Dtype dtype_of_ref(Ref ref) const {
    return ref < kMaxOperands ? spec_.operand[ref].dtype
                              : spec_.stage[static_cast<size_t>(ref - 0x10) / 4].dtype;
  }

  bool adds(const Stage& stage) const {
    if (stage.out == kNoRef || !reduces(stage)) return false;
    if (spec_.operand[stage.out].access != Access::kInOut) return false;
    for (int s = 0; s < spec_.stage_count; s++)
      for (Ref in : spec_.stage[static_cast<size_t>(s)].in)
        if (in == stage.out) return false;
    return true;
  }

  double one(const Stage& stage, const Index& index) const {
    if (stage.op == Op::kFill) return decoded(stage.dtype, stage.constant);
    const double x = input(stage, 0, index);
    const double y = with_one_input(stage) ? 0 : input(stage, 1, index);
    const double z = stage.in[2] == kNoRef ? 0 : input(stage, 2, index);
    if (reduces(stage) && stage.op != Op::kMulAdd) return x;
    if (stage.dtype == Dtype::kI32)
      return wrap(
          elementwise_i64(stage.op, static_cast<i64>(x), static_cast<i64>(y), static_cast<i64>(z)));
    return elementwise(stage.op, x, y, z);
  }

  double combine(const Stage& stage, double a, double b) const {
    const Op op = stage.op == Op::kMulAdd ? Op::kAdd : stage.op;
    if (stage.dtype == Dtype::kI32)
      return wrap(elementwise_i64(op, static_cast<i64>(a), static_cast<i64>(b)));
    return elementwise(op, a, b);
  }

  double start(const Stage& stage) const {
    const bool i32_stage = stage.dtype == Dtype::kI32;
    if (is_greatest(stage.op)) return i32_stage ? -2147483648.0 : -INFINITY;
    if (is_least(stage.op)) return i32_stage ? 2147483647.0 : INFINITY;
    return 0;
  }

  void compute(int s) {
    const Stage& stage = spec_.stage[static_cast<size_t>(s)];
    Value& value = values_[static_cast<size_t>(s)];
    DimMask dims = 0;
    for (Ref in : stage.in) dims = static_cast<DimMask>(dims | dims_of_ref(in));
    value.dims = static_cast<DimMask>(dims & ~stage.reduce);
    size_t points = 1;
    for (size_t d = 0; d < spec_.rank; d++) points *= spec_.size[d];
    if (!reduces(stage)) {
      value.number.assign(points, 0);
      each(value.dims, [&](const Index& index) {
        value.number[point(index, value.dims)] = round(stage.dtype, one(stage, index));
      });
      return;
    }
    value.number.assign(points, start(stage));
    std::vector<Exactness> exact(points);
    each(static_cast<DimMask>(value.dims | stage.reduce), [&](const Index& index) {
      const size_t at = point(index, value.dims);
      const double term = one(stage, index);
      value.number[at] = combine(stage, value.number[at], term);
      exact[at].add(term, stage.op);
    });
    const bool later = adds(stage);
    each(value.dims, [&](const Index& index) {
      const size_t at = point(index, value.dims);
      if (stage.dtype == Dtype::kF32) {
        if (later)
          each_written(stage, value.dims, index, [&](double held) {
            Exactness with = exact[at];
            with.add(held, stage.op);
            result_.exact &= with.holds();
          });
        result_.exact &= exact[at].holds();
      }
      if (!later) value.number[at] = round(stage.dtype, value.number[at]);
    });
  }

  /// What the output held wherever the value at `index` is written.
  template <class F>
  void each_written(const Stage& stage, DimMask dims, const Index& index, F f) {
    const DimMask more = static_cast<DimMask>(spec_.operand[stage.out].dims & ~dims);
    each(more, [&](const Index& there) {
      Index full = index;
      for (size_t d = 0; d < kMaxDims; d++)
        if (more >> d & 1) full[d] = there[d];
      f(operand(stage.out, full));
    });
  }

  static double round(Dtype dtype, double value) { return decoded(dtype, encoded(dtype, value)); }

  void write(int s) {
    const Stage& stage = spec_.stage[static_cast<size_t>(s)];
    const Operand& out = spec_.operand[stage.out];
    const Value& value = values_[static_cast<size_t>(s)];
    const bool held = adds(stage);
    each(out.dims, [&](const Index& index) {
      double number = value.number[point(index, value.dims)];
      if (held) number = round(stage.dtype, combine(stage, operand(stage.out, index), number));
      const u32 bits = encoded(out.dtype, number);
      const size_t bytes = out.dtype == Dtype::kF32 || out.dtype == Dtype::kI32    ? 4
                           : out.dtype == Dtype::kBf16 || out.dtype == Dtype::kF16 ? 2
                                                                                   : 1;
      std::memcpy(
          result_.data[stage.out].data() + static_cast<size_t>(element(stage.out, index)) * bytes,
          &bits, bytes);
    });
  }

  const GeneralProblem& p_;
  const Spec& spec_;
  std::array<Value, kMaxStages> values_;
  Reference result_;
};

}  // namespace

Reference reference_of(const GeneralProblem& problem) { return Evaluation(problem).run(); }

std::string difference(const Spec& spec,
                       const std::array<std::vector<char>, kMaxOperands>& expected,
                       const std::array<std::vector<char>, kMaxOperands>& found) {
  for (size_t o = 0; o < spec.operand_count; o++) {
    const Dtype dtype = spec.operand[o].dtype;
    const size_t bytes = size_of(dtype);
    for (size_t i = 0; i + bytes <= expected[o].size(); i += bytes) {
      u32 a = 0, b = 0;
      std::memcpy(&a, expected[o].data() + i, bytes);
      std::memcpy(&b, found[o].data() + i, bytes);
      if (a == b) continue;
      const double x = decoded(dtype, a), y = decoded(dtype, b);
      if (std::isnan(x) && std::isnan(y)) continue;
      return "operand " + std::to_string(o) + ", element " + std::to_string(i / bytes) + " is " +
             std::to_string(y) + ", not " + std::to_string(x);
    }
  }
  return "";
}

}  // namespace morello::testing

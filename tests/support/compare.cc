// SPDX-License-Identifier: MIT
#include "compare.hh"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "functions.hh"
#include "reference.hh"

namespace morello::testing {
namespace {

constexpr double kUnit = 0x1p-24;        // half the distance of neighbours of 1
constexpr double kUnderflow = 0x1p-149;  // error of one operation whose result is denormal
constexpr double kNormal = 0x1p-126;     // what is smaller is denormal, in f32 and in bf16
constexpr double kLargest = 0x1.fffffep127;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A value and the most that a program's may differ from it.
struct Interval {
  double value = 0, error = 0;
};

double to_f32(double x) { return static_cast<double>(static_cast<float>(x)); }

Interval widened(Interval i) {
  if (std::isnan(i.error)) i.error = kInfinity;
  if (!std::isfinite(i.value) && i.error < kInfinity) i.error = 0;
  if (i.error == kInfinity || !(std::fabs(i.value) + i.error > kLargest)) return i;
  if (!std::isfinite(i.value)) return i;
  const bool surely = std::fabs(i.value) - i.error > 2 * kLargest;  // it overflows
  return {surely ? std::copysign(kInfinity, i.value) : 0, surely ? 0 : kInfinity};
}

double sqrt_error(Interval a) {
  if (a.error == 0 || a.value < -a.error) return 0;
  return a.value > a.error ? a.error / std::sqrt(a.value - a.error) : kInfinity;
}

/// IEEE 754-2019 maximum or minimum: of the numbers' bits, whose order is that of the numbers once
/// all but the sign is turned round in negative ones.
double extreme(Op op, double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return kNan;
  auto place = [](double number) {
    const i64 bits = std::bit_cast<i64>(number);
    return bits < 0 ? bits ^ std::numeric_limits<i64>::max() : bits;
  };
  return (op == Op::kMax) == (place(x) > place(y)) ? x : y;
}

/// A function that is not rounded correctly, of numbers that may be off: its least and greatest
/// value there, both as far off as they may be. Where it has no least value in between, its ends.
Interval function_interval(Op op, Interval a) {
  if (std::isinf(a.error) || !function_takes(op, a.value + a.error)) return {0, kInfinity};
  const double value = function_value(op, a.value);
  if (std::isnan(value) && a.error == 0) return {kNan, 0};
  double error = 0;
  if (a.error > 0) {
    const double low = function_value(op, a.value - a.error);
    const double high = function_value(op, a.value + a.error);
    error = std::max(std::fabs(low - value), std::fabs(high - value));
    if (std::isnan(error) || std::isinf(error)) return {0, kInfinity};
    // They turn round, by less than this.
    if (op == Op::kGelu || op == Op::kGeluTanh || op == Op::kSilu) error = 1.2 * a.error;
    if (op == Op::kSin || op == Op::kCos) error = a.error;
  }
  if (error == 0 && (value == 0 || std::isinf(value))) return {value, 0};
  error += std::max(function_ulps(op) * std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23),
                    function_slack(op, a.value));
  return widened({value, error});
}

/// 1 or 0, where all numbers that a and b may be agree.
Interval comparison(Op op, Interval a, Interval b) {
  auto holds = [op](double x, double y) {
    switch (op) {
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
      default:
        return x != y;
    }
  };
  const bool apart = a.value + a.error < b.value - b.error || b.value + b.error < a.value - a.error;
  if (a.error + b.error > 0 && !apart) return {0, kInfinity};
  return {holds(a.value, b.value) ? 1.0 : 0.0, 0};
}

/// The result of one correctly rounded operation on a, b and c, in f32.
Interval apply(Op op, Interval a, Interval b, Interval c = {}) {
  double x = a.value, y = b.value;
  Interval r;
  switch (op) {
    case Op::kFill:
    case Op::kCopy:
    case Op::kKeep:  // of graphs, which are judged as wholes
    case Op::kGather:
      return a;
    case Op::kRelu:
      return {x < 0 ? 0 : x, a.error};
    case Op::kNeg:
      return {-x, a.error};
    case Op::kAbs:
      return {std::fabs(x), a.error};
    case Op::kMax:
    case Op::kMin:
      return {extreme(op, x, y), std::max(a.error, b.error)};
    case Op::kFastMax:
      return {x > y ? x : y, std::max(a.error, b.error)};
    case Op::kFastMin:
      return {x < y ? x : y, std::max(a.error, b.error)};
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return comparison(op, a, b);
    case Op::kSelect:
      if (a.error > 0 && std::fabs(x) <= a.error) return {0, kInfinity};
      return x != 0 ? b : c;
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
      r = {function_value(op, x), a.error == 0 ? 0 : a.error + 1};
      return {r.value, r.error};
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
      return function_interval(op, a);
    case Op::kSqrt:
      r = {std::sqrt(x), sqrt_error(a)};
      break;
    case Op::kSquare:
      r = {x * x, (2 * std::fabs(x) + a.error) * a.error};
      break;
    case Op::kAdd:
      r = {x + y, a.error + b.error};
      break;
    case Op::kSub:
      r = {x - y, a.error + b.error};
      break;
    case Op::kMulAdd:
    case Op::kMul:
      r = {x * y, std::fabs(x) * b.error + std::fabs(y) * a.error + a.error * b.error};
      break;
    case Op::kRecip:
      return apply(Op::kDiv, {1, 0}, a);
    case Op::kDiv:
      r = {x / y, 0};
      if (a.error > 0 || b.error > 0)
        r.error = std::fabs(y) > b.error
                      ? (a.error + std::fabs(r.value) * b.error) / (std::fabs(y) - b.error)
                      : kInfinity;
      break;
  }
  if (a.error == 0 && b.error == 0) return {to_f32(r.value), 0};
  r.error += kUnit * (std::fabs(r.value) + r.error) + kUnderflow;
  return widened(r);
}

i32 wrap(i64 value) { return static_cast<i32>(static_cast<u32>(static_cast<u64>(value))); }

/// The same in i32, modulo 2^32.
i32 apply(Op op, i64 x, i64 y, i64 z = 0) {
  switch (op) {
    case Op::kRelu:
      return static_cast<i32>(std::max<i64>(x, 0));
    case Op::kNeg:
      return wrap(-x);
    case Op::kAbs:
      return wrap(x < 0 ? -x : x);
    case Op::kSquare:
      return wrap(x * x);
    case Op::kAdd:
      return wrap(x + y);
    case Op::kSub:
      return wrap(x - y);
    case Op::kMul:
    case Op::kMulAdd:
      return wrap(x * y);
    case Op::kMax:
    case Op::kFastMax:
      return static_cast<i32>(std::max(x, y));
    case Op::kMin:
    case Op::kFastMin:
      return static_cast<i32>(std::min(x, y));
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
      return static_cast<i32>(x != 0 ? y : z);
    case Op::kFill:
    case Op::kCopy:
    case Op::kKeep:
    case Op::kGather:
    case Op::kSqrt:
    case Op::kRecip:
    case Op::kDiv:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
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
      break;
  }
  return static_cast<i32>(x);
}

/// A sum of floats while terms are added.
class Sum {
 public:
  void add(double term) {
    count_++;
    odd_nan_ |= std::isnan(term);
    (term > 0 ? above_ : below_) |= std::isinf(term);
    if (!std::isfinite(term)) return;
    sum_ += term;
    magnitude_ += std::fabs(term);
  }
  void allow(double error) { allowed_ += error; }

  Interval result() const {
    if (std::isnan(allowed_) || std::isinf(allowed_)) return {0, kInfinity};
    if (odd_nan_ || (above_ && below_)) return {kNan, 0};
    const double k = static_cast<double>(count_) + 4;
    const double error = k * kUnit / (1 - k * kUnit) * magnitude_ + k * kUnderflow + allowed_;
    if (above_ || below_) {  // what overflows may be the other infinity
      if (magnitude_ + error > kLargest) return {0, kInfinity};
      return {above_ ? kInfinity : -kInfinity, 0};
    }
    if (magnitude_ + error <= kLargest) return {sum_, error};
    // It overflows if all has one sign; else a part may in one order and not in another.
    const bool surely = std::fabs(sum_) == magnitude_ && magnitude_ - error > 2 * kLargest;
    return {surely ? std::copysign(kInfinity, sum_) : 0, surely ? 0 : kInfinity};
  }

 private:
  double sum_ = 0, magnitude_ = 0, allowed_ = 0;
  u64 count_ = 0;
  bool odd_nan_ = false, above_ = false, below_ = false;
};

class Judge {
 public:
  Judge(const Spec& spec, const Views& views, const void* const* operands, Denormals denormals)
      : spec_(spec), views_(views), operands_(operands) {
    const Stage& head = spec.stage[0];
    flushes_ = denormals == Denormals::kFlushed && head.op == Op::kMulAdd &&
               spec.operand[head.in[0]].dtype == Dtype::kBf16 &&
               spec.operand[head.in[1]].dtype == Dtype::kBf16;
  }

  std::vector<Expected> run() {
    each_output(0);
    return std::move(all_);
  }

 private:
  void each_output(int d) {
    if (d == spec_.rank) {
      Interval value = first_stage();
      for (int s = 1; s < spec_.stage_count; s++) value = elementwise(s, value);
      const Op head = spec_.stage[0].op;
      const bool sign = !is_reduction(spec_.stage[0]) || head == Op::kMax || head == Op::kMin;
      all_.push_back({offset(spec_.out_index()), value.value, value.error, sign});
      return;
    }
    u32 size = has_dim(spec_.reduced(), d) ? 1 : spec_.size[d];
    for (index_[d] = 0; index_[d] < size; index_[d]++) each_output(d + 1);
    index_[d] = 0;
  }

  Interval first_stage() {
    const Stage& stage = spec_.stage[0];
    if (!is_reduction(stage)) return elementwise(0, {});
    const bool holds = spec_.stage_count == 1 && spec_.out().access == Access::kInOut;
    if (stage.dtype == Dtype::kI32) {
      integers_ = is_greatest(stage.op) ? std::numeric_limits<i32>::min()
                  : is_least(stage.op)  ? std::numeric_limits<i32>::max()
                                        : 0;
      each_reduced(0);
      if (holds) combine(read(spec_.out_index()));
      return {static_cast<double>(integers_), 0};
    }
    extreme_ = is_greatest(stage.op) ? -kInfinity : kInfinity;
    any_ = false;
    sum_ = {};
    each_reduced(0);
    if (holds) combine(read(spec_.out_index()));
    if (any_) return {0, kInfinity};
    return is_greatest(stage.op) || is_least(stage.op) ? Interval{extreme_, 0} : sum_.result();
  }

  void each_reduced(int d) {
    if (d == spec_.rank) return add_point();
    if (!has_dim(spec_.reduced(), d)) return each_reduced(d + 1);
    for (index_[d] = 0; index_[d] < spec_.size[d]; index_[d]++) each_reduced(d + 1);
    index_[d] = 0;
  }

  void add_point() {
    const Stage& stage = spec_.stage[0];
    const double x = input(0, 0, {}).value;
    if (stage.op != Op::kMulAdd) return combine(x);
    const double y = input(0, 1, {}).value;
    if (stage.dtype == Dtype::kI32)
      return combine(apply(stage.op, static_cast<i64>(x), static_cast<i64>(y)));
    combine(x * y);
    if (!flushes_) return;
    sum_.allow(2 * kNormal);  // the product, and the sum
    if (is_denormal(x) || is_denormal(y)) sum_.allow(std::fabs(x * y));
  }

  static bool is_denormal(double x) { return x != 0 && std::fabs(x) < kNormal; }

  void combine(double x) {
    const Stage& stage = spec_.stage[0];
    const Op op = stage.op == Op::kMulAdd ? Op::kAdd : stage.op;
    if (stage.dtype == Dtype::kI32)
      integers_ = apply(op, integers_, static_cast<i64>(x));
    else if (op == Op::kAdd)
      sum_.add(x);
    else if (op == Op::kMax || op == Op::kMin)
      extreme_ = extreme(op, extreme_, x);
    else if (any_ |= std::isnan(x); !any_)
      extreme_ = op == Op::kFastMax ? std::max(extreme_, x) : std::min(extreme_, x);
  }

  Interval elementwise(int s, Interval previous) const {
    const Stage& stage = spec_.stage[s];
    const Interval a = input(s, 0, previous), b = input(s, 1, previous), c = input(s, 2, previous);
    if (stage.op == Op::kFill) return {decoded(stage.dtype, stage.constant), 0};
    if (stage.dtype == Dtype::kF32) return apply(stage.op, a, b, c);
    assert(a.error == 0 && b.error == 0 && c.error == 0);
    return {static_cast<double>(apply(stage.op, static_cast<i64>(a.value),
                                      static_cast<i64>(b.value), static_cast<i64>(c.value))),
            0};
  }

  /// What stage `s` reads, as it computes with it: i32 is rounded to f32.
  Interval input(int s, size_t i, Interval previous) const {
    const Stage& stage = spec_.stage[s];
    const Ref from = stage.in[i];
    if (from == kNoRef) return {};
    if (from == kConstant) return {decoded(stage.dtype, stage.constant), 0};
    Interval x = is_value(from) ? previous : Interval{read(from), 0};
    const Dtype dtype = is_value(from) ? spec_.stage[s - 1].dtype : spec_.operand[from].dtype;
    if (dtype == Dtype::kI32 && stage.dtype == Dtype::kF32) x.value = to_f32(x.value);
    return x;
  }

  i64 offset(int operand) const {
    i64 at = 0;
    for (int d = 0; d < spec_.rank; d++)
      if (has_dim(spec_.operand[operand].dims, d)) at += views_[operand].dim[d].at(index_[d]);
    return at;
  }

  double read(int operand) const {
    return element(spec_.operand[operand].dtype, operands_[operand], offset(operand));
  }

 public:
  static double element(Dtype dtype, const void* array, i64 index) {
    u32 bits = 0;
    const size_t bytes = size_of(dtype);
    std::memcpy(&bits, static_cast<const char*>(array) + index * static_cast<i64>(bytes), bytes);
    return decoded(dtype, bits);
  }

 private:
  const Spec& spec_;
  const Views& views_;
  const void* const* operands_;
  bool flushes_;
  std::array<u32, kMaxDims> index_{};
  Sum sum_;
  double extreme_ = 0;
  bool any_ = false;  // a NaN among what fast_max or fast_min combine: nothing is promised
  i64 integers_ = 0;
  std::vector<Expected> all_;
};

/// Rounding keeps the order, so what lies between two numbers is rounded to what lies between.
bool agrees(const Expected& e, Dtype dtype, double got) {
  if (e.error == kInfinity) return true;
  auto converted = [&](double x) { return decoded(dtype, encoded(dtype, x)); };
  const double want = converted(e.value);
  if (std::isnan(want)) return std::isnan(got);
  if (e.error > 0)
    return got >= converted(e.value - e.error) && got <= converted(e.value + e.error);
  if (got != want) return false;
  return !e.sign_of_zero || std::signbit(got) == std::signbit(want);
}

}  // namespace

Denormals denormals_of(const Target& target) {
  return includes(target.required, features(Feature::kAvx512Bf16)) ? Denormals::kFlushed
                                                                   : Denormals::kKept;
}

std::vector<Expected> expect(const Spec& spec, const Views& views, const void* const* operands,
                             Denormals denormals) {
  return Judge(spec, views, operands, denormals).run();
}

std::string compare(const std::vector<Expected>& expected, Dtype dtype, const void* out) {
  u64 wrong = 0;
  std::string first;
  for (const Expected& e : expected) {
    const double got = Judge::element(dtype, out, e.offset);
    if (agrees(e, dtype, got)) continue;
    if (wrong++ > 0) continue;
    char text[200];
    std::snprintf(text, sizeof text, "element at offset %lld is %.9g, expected %.9g within %.3g",
                  static_cast<long long>(e.offset), got, e.value, e.error);
    first = text;
  }
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(expected.size()) +
         " elements are wrong: " + first;
}

}  // namespace morello::testing

// SPDX-License-Identifier: MIT
#include "compare.hh"

#include <algorithm>
#include <cmath>
#include <limits>

namespace morello::testing {
namespace {

constexpr double kUnit = 0x1p-24;        // half the distance of neighbours of 1
constexpr double kUnderflow = 0x1p-149;  // error of one operation whose result is denormal
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A value and the most that a program's may differ from it.
struct Interval {
  double value = 0, error = 0;
};

Interval widened(Interval i) {
  if (std::isnan(i.error)) i.error = kInfinity;
  if (!std::isfinite(i.value) && i.error < kInfinity) i.error = 0;
  return i;
}

double sqrt_error(Interval a) {
  if (a.error == 0 || a.value < -a.error) return 0;
  return a.value > a.error ? a.error / std::sqrt(a.value - a.error) : kInfinity;
}

/// The result of one correctly rounded operation on a and b.
Interval apply(Op op, Interval a, Interval b, float fill_value) {
  double x = a.value, y = b.value;
  Interval r;
  switch (op) {
    case Op::kFill:
      return {fill_value, 0};
    case Op::kCopy:
      return a;
    case Op::kRelu:
      return {x < 0 ? 0 : x, a.error};
    case Op::kNeg:
      return {-x, a.error};
    case Op::kAbs:
      return {std::fabs(x), a.error};
    case Op::kMax:
      return {x > y ? x : y, std::max(a.error, b.error)};
    case Op::kMin:
      return {x < y ? x : y, std::max(a.error, b.error)};
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
      return apply(Op::kDiv, {1, 0}, a, 0);
    case Op::kDiv:
      r = {x / y, 0};
      if (a.error > 0 || b.error > 0)
        r.error = std::fabs(y) > b.error
                      ? (a.error + std::fabs(r.value) * b.error) / (std::fabs(y) - b.error)
                      : kInfinity;
      break;
  }
  if (a.error == 0 && b.error == 0) return {static_cast<double>(static_cast<float>(r.value)), 0};
  r.error += kUnit * (std::fabs(r.value) + r.error) + kUnderflow;
  return widened(r);
}

class Judge {
 public:
  Judge(const Spec& spec, const Views& views, const void* const* operands)
      : spec_(spec), views_(views), operands_(operands) {}

  std::vector<Expected> run() {
    each_output(0);
    return std::move(all_);
  }

 private:
  void each_output(int d) {
    if (d == spec_.rank) {
      Interval value = first_stage();
      for (int s = 1; s < spec_.stage_count; s++) value = elementwise(spec_.stage[s], value);
      bool sign = !is_reduction(spec_.stage[0]);
      all_.push_back({offset(spec_.out_index()), value.value, value.error, sign});
      return;
    }
    u32 size = has_dim(spec_.reduced(), d) ? 1 : spec_.size[d];
    for (index_[d] = 0; index_[d] < size; index_[d]++) each_output(d + 1);
    index_[d] = 0;
  }

  Interval first_stage() {
    const Stage& stage = spec_.stage[0];
    if (!is_reduction(stage)) return elementwise(stage, {});
    sum_ = stage.op == Op::kMax ? -kInfinity : stage.op == Op::kMin ? kInfinity : 0;
    magnitude_ = 0;
    count_ = 0;
    each_reduced(0);
    if (spec_.stage_count == 1 && spec_.out().access == Access::kInOut)
      combine(read(spec_.out_index()));
    if (stage.op == Op::kMax || stage.op == Op::kMin) return {sum_, 0};
    double k = static_cast<double>(count_) + 4;
    return widened({sum_, k * kUnit / (1 - k * kUnit) * magnitude_ + k * kUnderflow});
  }

  void each_reduced(int d) {
    if (d == spec_.rank) {
      const Stage& stage = spec_.stage[0];
      double x = read(stage.in[0]);
      combine(stage.op == Op::kMulAdd ? x * read(stage.in[1]) : x);
      return;
    }
    if (!has_dim(spec_.reduced(), d)) return each_reduced(d + 1);
    for (index_[d] = 0; index_[d] < spec_.size[d]; index_[d]++) each_reduced(d + 1);
    index_[d] = 0;
  }

  void combine(double x) {
    Op op = spec_.stage[0].op;
    count_++;
    magnitude_ += std::fabs(x);
    sum_ = op == Op::kMax ? std::max(sum_, x) : op == Op::kMin ? std::min(sum_, x) : sum_ + x;
  }

  Interval elementwise(const Stage& stage, Interval previous) const {
    return apply(stage.op, input(stage.in[0], previous), input(stage.in[1], previous),
                 std::bit_cast<float>(spec_.fill_bits));
  }

  Interval input(Ref from, Interval previous) const {
    if (is_value(from)) return previous;
    return from == kNoRef ? Interval{} : Interval{read(from), 0};
  }

  i64 offset(int operand) const {
    i64 at = 0;
    for (int d = 0; d < spec_.rank; d++)
      if (has_dim(spec_.operand[operand].dims, d)) at += views_[operand].dim[d].at(index_[d]);
    return at;
  }

  double read(int operand) const {
    return static_cast<const float*>(operands_[operand])[offset(operand)];
  }

  const Spec& spec_;
  const Views& views_;
  const void* const* operands_;
  std::array<u32, kMaxDims> index_{};
  double sum_ = 0, magnitude_ = 0;
  u64 count_ = 0;
  std::vector<Expected> all_;
};

bool agrees(const Expected& e, float got) {
  float rounded = static_cast<float>(e.value);
  if (e.error == kInfinity) return true;
  if (std::isnan(rounded)) return std::isnan(got);
  if (got == rounded) return !e.sign_of_zero || std::signbit(got) == std::signbit(rounded);
  double slack = e.error == 0 ? 0 : kUnit * std::fabs(e.value);
  if (std::isinf(got)) return std::fabs(e.value) + e.error + slack > 0x1.fffffep127;
  return std::fabs(got - e.value) <= e.error + slack;
}

}  // namespace

std::vector<Expected> expect(const Spec& spec, const Views& views, const void* const* operands) {
  return Judge(spec, views, operands).run();
}

std::string compare(const std::vector<Expected>& expected, const float* out) {
  u64 wrong = 0;
  std::string first;
  for (const Expected& e : expected) {
    float got = out[e.offset];
    if (agrees(e, got)) continue;
    if (wrong++ > 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element at offset %lld is %.9g, expected %.9g within %.3g",
                  static_cast<long long>(e.offset), static_cast<double>(got), e.value, e.error);
    first = text;
  }
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(expected.size()) +
         " elements are wrong: " + first;
}

}  // namespace morello::testing

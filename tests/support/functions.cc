// SPDX-License-Identifier: MIT
#include "functions.hh"

#include <cmath>
#include <limits>

namespace morello::testing {
namespace {

/// Both forms of gelu, and silu, are x times a probability that is nearly 0 for negative numbers;
/// of -infinity they have a limit.
double weighted(double x, double probability) {
  return x == -std::numeric_limits<double>::infinity() ? -0.0 : x * probability;
}

double logistic(double x) {
  const double z = std::exp(-std::fabs(x));
  return std::signbit(x) ? z / (1 + z) : 1 / (1 + z);
}

}  // namespace

std::vector<Op> functions() {
  std::vector<Op> all = {Op::kDecay};
  for (const Elementwise& e : kElementwise)
    if (e.inputs == 1 && class_of(e.op) == OpClass::kRecipe) all.push_back(e.op);
  return all;
}

double function_value(Op op, double x) {
  switch (op) {
    case Op::kExp:
    case Op::kDecay:
      return std::exp(x);
    case Op::kExp2:
      return std::exp2(x);
    case Op::kLog:
      return std::log(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kSigmoid:
      return logistic(x);
    case Op::kErf:
      return std::erf(x);
    case Op::kGelu:
      return weighted(x, std::erfc(-x * 0.70710678118654752440) / 2);
    case Op::kGeluTanh:
      return weighted(x, logistic(1.5957691216057307 * x * (1 + 0.044715 * x * x)));
    case Op::kSilu:
      return weighted(x, logistic(x));
    case Op::kRsqrt:
      return 1 / std::sqrt(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kRound:
      return std::nearbyint(x);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool function_takes(Op op, double x) { return op != Op::kDecay || !(x > 0); }

double function_slack(Op op, double x) {
  return (op == Op::kSin || op == Op::kCos) && std::fabs(x) > 0x1p20 ? 0x1p-22 : 0;
}

double function_ulps(Op op) {
  return op == Op::kFloor || op == Op::kCeil || op == Op::kRound ? 0 : 2;
}

}  // namespace morello::testing

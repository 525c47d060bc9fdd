// SPDX-License-Identifier: MIT
// What the operations mean, on numbers of every element type as doubles.
#ifndef MORELLO_IMPL_ARITHMETIC_HH
#define MORELLO_IMPL_ARITHMETIC_HH

#include <cmath>
#include <limits>

#include "spec/spec.hh"
#include "support/number.hh"

namespace morello {

/// IEEE 754-2019 maximum and minimum: NaN if one is NaN, always the same one, and -0 is below +0.
inline double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
}
inline double minimum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? x : y) : x < y ? x : y;
}

// Finite arguments past the digits of f32 give their limits; that of -inf times 0 is -0.
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu(double x) { return x < -1e9 ? -0.0 : x * sigmoid(x); }
inline double gelu(double x) { return x < -1e9 ? -0.0 : x / 2 * std::erfc(-x / std::sqrt(2.0)); }
inline double gelu_tanh(double x) {
  const double inner = std::sqrt(8 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  return x < -1e9 ? -0.0 : x * sigmoid(inner);
}

inline double product_of_integers(double x, double y) {
  return static_cast<i32>(static_cast<u32>(static_cast<i64>(x)) *
                          static_cast<u32>(static_cast<i64>(y)));
}

/// Calls f(g), where g(x, y, z) is what `op` makes of one element of each input: of a multiply-add,
/// the product.
template <class F>
void with_function(Op op, Dtype computed, F&& f) {
  if (computed == Dtype::kI32) {  // products past the digits of a double
    if (op == Op::kMul || op == Op::kMulAdd)
      return f([](double x, double y, double) { return product_of_integers(x, y); });
    if (op == Op::kSquare)
      return f([](double x, double, double) { return product_of_integers(x, x); });
  }
  switch (op) {
#define MORELLO_ELEMENTWISE(constant, name, number, inputs, price, ...) \
  case Op::constant:                                                    \
    f([]([[maybe_unused]] double x, [[maybe_unused]] double y,          \
         [[maybe_unused]] double z) -> double { return __VA_ARGS__; }); \
    break;
#include "spec/elementwise.def"
#undef MORELLO_ELEMENTWISE
    case Op::kDecay:
      f([](double x, double, double) { return std::exp(x); });
      break;
    case Op::kMulAdd:
      f([](double x, double y, double) { return x * y; });
      break;
    case Op::kCopy:
    case Op::kFill:
    case Op::kKeep:    // what is kept; of the rest masked()
    case Op::kGather:  // of the place that its index names
      f([](double x, double, double) { return x; });
      break;
  }
}

/// What a stage that keeps makes of what it does not: -inf, but for NaN.
inline double masked(double x) {
  return std::isnan(x) ? x : -std::numeric_limits<double>::infinity();
}

/// a op= b, of a reduction
inline double combined(Op op, double a, double b) {
  switch (op) {
    case Op::kMax:
      return maximum(a, b);
    case Op::kMin:
      return minimum(a, b);
    case Op::kFastMax:
      return a > b ? a : b;
    case Op::kFastMin:
      return a < b ? a : b;
    default:
      return a + b;
  }
}

/// Are numbers of an operand or value rounded when a stage reads them? Stages of floats compute in
/// f32, which holds those of all element types but i32.
inline bool rounds_input(const Spec& spec, const Stage& stage, Ref in) {
  if (in == kConstant) return false;
  const Dtype from = is_operand(in) ? spec.operand[in].dtype : spec.stage[stage_of(in)].dtype;
  return from == Dtype::kI32 && stage.dtype != Dtype::kI32;
}

inline double constant_of(const Stage& stage) {
  return number_of_bits(stage.dtype, stage.constant);
}

/// The value of a stage: what was computed in double, in its element type. Stages of i32 read
/// integers only.
inline double in_stage(const Stage& stage, double value) {
  if (stage.dtype == Dtype::kF32) return static_cast<float>(value);
  return stage.dtype == Dtype::kI32 ? wrapped_i32(value) : rounded(stage.dtype, value);
}

}  // namespace morello

#endif

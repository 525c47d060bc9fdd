// SPDX-License-Identifier: MIT
// evaluate(): against an independent judge on random Specs, and at the values where IEEE 754 is
// odd.
#include "impl/evaluate.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "../support/compare.hh"
#include "../support/random_statement.hh"
#include "trees.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("impl");

TEST_CASE("evaluate agrees with an independent judge on random Specs") {
  for (u32 seed = 1; seed <= 2000; seed++) {
    Random random(seed);
    Problem problem = random_problem(random);
    problem.fill(random);
    auto pointers = problem.pointers();
    std::vector<Expected> expected = expect(problem.spec, problem.views, pointers.data());
    evaluate(problem.spec, problem.views, pointers.data());
    const auto& out = problem.data[problem.spec.out_index()];
    INFO("seed " << seed << ": " << describe(problem.spec));
    REQUIRE(compare(expected, out.data()) == "");
  }
}

TEST_CASE("evaluate_at has the values of evaluate, for elements in any order, and only for them") {
  for (u64 seed = 1; seed <= 1000; seed++) {
    std::mt19937_64 rng(seed);
    const Statement statement = random_statement(rng, {.max_elements = 2000, .max_flops = 1 << 14});
    INFO("seed " << seed << ": " << print(statement));
    const Result<Lowered> lowered = lower(statement);
    REQUIRE(lowered.ok());
    const Spec& spec = lowered->spec;
    std::array<std::vector<float>, kMaxOperands> data;
    std::array<void*, kMaxOperands> pointers{};
    for (int o = 0; o < spec.operand_count; o++) {
      data[o].resize(lowered->bytes[o] / sizeof(float));
      for (float& x : data[o]) x = static_cast<float>(rng() % 1000) / 7;
      pointers[o] = data[o].data();
    }
    std::vector<float>& out = data[spec.out_index()];
    const std::vector<float> before = out;
    std::vector<i64> elements;
    for (i64 e = 0; e < std::ssize(out); e++) {
      double value = 0;
      if (evaluate_at(spec, lowered->view, pointers.data(), {&e, 1}, &value) == 1)
        elements.push_back(e);
    }
    u64 wanted = 1;
    for (i64 size : statement.tensors.back().shape) wanted *= static_cast<u64>(size);
    REQUIRE(elements.size() == wanted);
    if (seed % 2 == 0) std::shuffle(elements.begin(), elements.end(), rng);
    std::vector<double> values(elements.size());
    REQUIRE(evaluate_at(spec, lowered->view, pointers.data(), elements, values.data()) == wanted);
    REQUIRE(out == before);
    evaluate(spec, lowered->view, pointers.data());
    for (size_t i = 0; i < elements.size(); i++) {
      const float want = out[static_cast<size_t>(elements[i])];
      REQUIRE((values[i] == want || (std::isnan(values[i]) && std::isnan(want))));
    }
  }
}

/// One operation on scalars.
float scalar(Op op, float a, float b) {
  Spec s;
  s.stage_count = 1;
  s.operand_count = is_binary(op) ? 3 : 2;
  set_stages(s, {stage_of_op(op, 0, is_binary(op) ? Ref{1} : kNoRef)});
  s.out().access = Access::kOut;
  float out = 7;
  std::array<void*, kMaxOperands> p = {&a, &b, &out};
  if (!is_binary(op)) p[1] = &out;
  evaluate(s, {}, p.data());
  return out;
}

TEST_CASE("evaluate keeps to IEEE 754 at special values") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CHECK(std::isnan(scalar(Op::kRelu, kNan, 0)));
  CHECK(std::signbit(scalar(Op::kRelu, -0.0f, 0)));
  CHECK(scalar(Op::kRelu, -kInf, 0) == 0);
  for (Op op : {Op::kMax, Op::kMin}) {
    CHECK(std::isnan(scalar(op, kNan, 1)));
    CHECK(std::isnan(scalar(op, 1, kNan)));
    CHECK(std::signbit(scalar(op, 0.0f, -0.0f)) == (op == Op::kMin));
    CHECK(std::signbit(scalar(op, -0.0f, 0.0f)) == (op == Op::kMin));
  }
  for (Op op : {Op::kFastMax, Op::kFastMin}) {
    CHECK(scalar(op, kNan, 1) == 1);
    CHECK(std::isnan(scalar(op, 1, kNan)));
    CHECK(std::signbit(scalar(op, 0.0f, -0.0f)));  // a > b ? a : b
  }
  CHECK(std::isnan(scalar(Op::kSqrt, -1, 0)));
  CHECK(std::signbit(scalar(Op::kSqrt, -0.0f, 0)));
  CHECK(scalar(Op::kRecip, -0.0f, 0) == -kInf);
  CHECK(scalar(Op::kSquare, 1e30f, 0) == kInf);
  CHECK(scalar(Op::kMul, 1e-30f, 1e-15f) == 1e-30f * 1e-15f);  // denormal
  CHECK(std::isnan(scalar(Op::kSub, kInf, kInf)));
  CHECK(scalar(Op::kDiv, 1, 3) == 1.0f / 3.0f);
  for (Op op : {Op::kLess, Op::kLessEqual, Op::kGreater, Op::kGreaterEqual, Op::kEqual}) {
    CHECK(scalar(op, kNan, 1) == 0);
    CHECK(scalar(op, kNan, kNan) == 0);
  }
  CHECK(scalar(Op::kNotEqual, kNan, kNan) == 1);
  CHECK(scalar(Op::kEqual, 0.0f, -0.0f) == 1);
  CHECK(scalar(Op::kLess, 1, 2) == 1);
  CHECK(scalar(Op::kGreaterEqual, 1, 2) == 0);
}

TEST_CASE("evaluate sums in double") {
  Problem p = matmul(2, 2, 4, Access::kOut);
  p.data[0] = {0x1p25f, 1, -0x1p25f, 1, 1, 1, 1, 1};
  p.data[1].assign(8, 1);
  auto pointers = p.pointers();
  evaluate(p.spec, p.views, pointers.data());
  CHECK(p.data[2] == std::vector<float>{2, 2, 4, 4});
}

TEST_CASE("evaluate keeps to the columns that there are, at the ends of its lines too") {
  for (u32 columns : {255u, 256u, 257u, 512u})
    for (const char* type : {"i32", "f32"})
      for (const char* head : {"reduce_sum", "reduce_max"}) {
        const std::string shape = std::string(type) + "[2," + std::to_string(columns) + "]";
        const std::string text = std::string(head) + ' ' + shape + " axis=0";
        INFO(text);
        const Result<Statement> statement = parse(text);
        REQUIRE(statement.ok());
        const Result<Lowered> lowered = lower(*statement);
        REQUIRE(lowered.ok());
        // Bits of small integers are denormals of f32: sums and maxima are those of the integers.
        std::vector<i32> in(2 * columns), out(columns + 1, -1);
        std::iota(in.begin(), in.end(), 1);
        std::array<void*, kMaxOperands> pointers = {in.data(), out.data()};
        evaluate(lowered->spec, lowered->view, pointers.data());
        for (u32 c = 0; c < columns; c++) {
          const i32 a = in[c], b = in[columns + c];
          REQUIRE(out[c] == (head[7] == 's' ? a + b : b));
        }
        CHECK(out[columns] == -1);
      }
}

TEST_CASE("a multiply-add whose reduced dimension has size 1 still accumulates") {
  Problem p = matmul(2, 2, 1, Access::kInOut);
  REQUIRE(p.spec.reduced() == 0);
  p.data[0] = {2, 3};
  p.data[1] = {5, 7};
  p.data[2] = {100, 200, 300, 400};
  auto pointers = p.pointers();
  evaluate(p.spec, p.views, pointers.data());
  CHECK(p.data[2] == std::vector<float>{110, 214, 315, 421});
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

// SPDX-License-Identifier: MIT
// Element types in Statements: what an output that is left out has, what each stage is computed in,
// and where a result is rounded on its way out.
#include <doctest/doctest.h>

#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

Statement parsed(std::string_view text) {
  INFO(text);
  Result<Statement> s = parse(text);
  if (!s) FAIL(s.error().message);
  return *s;
}

Spec lowered(std::string_view text) {
  INFO(text);
  Result<Lowered> l = lower(parsed(text));
  if (!l) FAIL(l.error().message);
  CHECK(not_canonical(l->spec) == "");
  return l->spec;
}

/// "muladd.i32 add.i32 mul.f32"
std::string stages(std::string_view text) {
  const Spec spec = lowered(text);
  std::string all;
  for (int s = 0; s < spec.stage_count; s++)
    all += (s ? " " : "") + std::string(name_of(spec.stage[s].op)) + '.' +
           std::string(name_of(spec.stage[s].dtype));
  return all;
}

}  // namespace

TEST_SUITE("spec") {
  TEST_CASE("element types: of an output that was left out") {
    constexpr struct {
      std::string_view text;
      Dtype out;
    } kCases[] = {
        {"matmul f32[2,3] f32[3,4]", Dtype::kF32},
        {"matmul bf16[2,3] bf16[3,4]", Dtype::kBf16},
        {"matmul f16[2,3] f16[3,4] -> relu", Dtype::kF16},
        {"matmul bf16[2,3] f16[3,4]", Dtype::kF32},
        {"matmul f32[2,3] bf16[3,4]", Dtype::kF32},
        {"matmul bf16[2,3] i8[3,4]", Dtype::kF32},
        {"matmul u8[2,3] i8[3,4]", Dtype::kI32},
        {"matmul i8[2,3] i8[3,4]", Dtype::kI32},
        {"einsum \"ab,b->a\" u8[2,3] u8[3]", Dtype::kI32},
        {"reduce_sum u8[2,3] axis=0", Dtype::kI32},
        {"reduce_sum bf16[2,3] axis=0", Dtype::kBf16},
        {"reduce_max i8[2,3] axis=0", Dtype::kI8},
        {"matmul u8[2,3] i8[3,4] + i32[4]", Dtype::kI32},
        {"matmul u8[2,3] i8[3,4] + i32[4] * f32[4]", Dtype::kF32},
        {"matmul u8[2,3] i8[3,4] * bf16[4]", Dtype::kF32},
        {"matmul bf16[2,3] bf16[3,4] + bf16[4] -> sqrt", Dtype::kBf16},
        {"matmul bf16[2,3] bf16[3,4] + f32[4]", Dtype::kF32},
        {"add i8[3] i8[3]", Dtype::kI8},
        {"add u8[3] i8[3]", Dtype::kI32},
        {"add i8[3] f16[3]", Dtype::kF32},
        {"div i8[3] i8[3]", Dtype::kF32},
        {"relu i8[3]", Dtype::kI8},
        {"relu u8[3] -> sqrt", Dtype::kF32},
        {"recip i32[3]", Dtype::kF32},
        {"transpose u8[2,3]", Dtype::kU8},
    };
    for (const auto& c : kCases) {
      INFO(c.text);
      const Statement s = parsed(c.text);
      CHECK(name_of(s.tensors.back().dtype) == name_of(c.out));
      CHECK(*parse(print(s)) == s);
      CHECK(not_canonical(lowered(c.text)) == "");
    }
  }

  TEST_CASE("element types: what each stage is computed in") {
    CHECK(stages("matmul bf16[4,5] bf16[5,6] -> bf16[4,6]") == "muladd.f32");
    CHECK(stages("matmul f32[4,5] i8[5,6] -> f32[4,6]") == "muladd.f32");
    CHECK(stages("matmul i8[4,5] i8[5,6] -> i8[4,6]") == "muladd.i32");
    CHECK(stages("matmul i8[4,5] i8[5,6] += i8[4,6]") == "muladd.i32 add.i32");
    CHECK(stages("matmul i8[4,5] i8[5,6] += i32[4,6]") == "muladd.i32");
    CHECK(stages("matmul i8[4,5] i8[5,6] += f32[4,6]") == "muladd.i32 add.f32");
    CHECK(stages("matmul bf16[4,5] bf16[5,6] += bf16[4,6]") == "muladd.f32 add.f32");
    CHECK(stages("matmul bf16[4,5] bf16[5,6] += f32[4,6]") == "muladd.f32");
    CHECK(stages("reduce_max u8[4,5] axis=1 += u8[4]") == "max.i32 max.i32");
    CHECK(stages("add u8[4] i8[4] -> neg * f32[4] -> u8[4]") == "add.i32 neg.i32 mul.f32");
    CHECK(stages("div i8[4] i8[4] -> i8[4]") == "div.f32");
    CHECK(stages("fill 3 -> u8[4]") == "fill.i32");
    CHECK(stages("fill 3 -> bf16[4]") == "fill.f32");
    CHECK(stages("move u8[4] -> i8[4]") == "copy.i32");
    CHECK(stages("move i32[4] -> i8[4]") == "copy.i32");
    CHECK(stages("move f32[4] -> i8[4]") == "copy.f32");
    CHECK(stages("move i32[4] -> f32[4]") == "copy.f32");
    CHECK(stages("move i8[4] -> bf16[4]") == "copy.f32");
  }

  TEST_CASE("element types: quantized products as chains") {
    CHECK(stages("matmul u8[4,8] i8[8,16] + i32[1,16] * f32[1,16] + f32[] -> u8[4,16]") ==
          "muladd.i32 add.i32 mul.f32 add.f32");
    CHECK(
        stages("matmul i8[4,8] i8[8,16] + i32[16] * f32[] -> max f32[] -> min f32[] -> i8[4,16]") ==
        "muladd.i32 add.i32 mul.f32 max.f32 min.f32");
    CHECK(stages("matmul u8[4,8] i8[8,16] * f32[1,16] -> f32[4,16]") == "muladd.i32 mul.f32");
    CHECK(stages("matmul u8[4,8] i8[8,16] * f32[16] + bias f32[16] -> relu -> bf16[4,16]") ==
          "muladd.i32 mul.f32 add.f32 relu.f32");
    CHECK(stages("matmul f32[4,8] i8[8,16] * f32[1,16] -> f32[4,16]") == "muladd.f32 mul.f32");
    CHECK(stages("matmul bf16[4,8] i8[8,16] * f32[1,16] -> bf16[4,16]") == "muladd.f32 mul.f32");
    CHECK(stages("matmul f32[4,64]{strides=256,1} i8[64,16] * f32[1,16] += f32[4,16]") ==
          "muladd.f32 mul.f32 add.f32");
    CHECK(stages("matmul f32[4,4,64]{strides=64,256,1} i8[4,64,16] * f32[4,1,16]") ==
          "muladd.f32 mul.f32");
  }

  TEST_CASE("element types: no i32 is written as a float of 16 bits") {
    for (std::string_view out : {"bf16", "f16"}) {
      CHECK(stages("matmul u8[4,5] i8[5,6] -> " + std::string(out) + "[4,6]") ==
            "muladd.i32 copy.f32");
      CHECK(stages("add i32[4] i8[4] -> " + std::string(out) + "[4]") == "add.i32 copy.f32");
      CHECK(stages("move i32[4] -> " + std::string(out) + "[4]") == "copy.f32");
      CHECK(stages("reduce_max i8[4,1] axis=1 -> " + std::string(out) + "[4]") == "copy.f32");
      CHECK(stages("matmul u8[4,5] i8[5,6] += " + std::string(out) + "[4,6]") ==
            "muladd.i32 add.f32");
    }
    CHECK(stages("matmul u8[4,5] i8[5,6] -> f32[4,6]") == "muladd.i32");
    Spec spec = lowered("add i32[4] i8[4] -> bf16[4]");
    CHECK(is_chain(spec));
    spec.stage[0].out = spec.stage[1].out;
    spec.stage[1] = {};
    spec.stage_count = 1;
    CHECK(not_canonical(spec).find("without rounding to f32") != std::string::npos);
  }

  TEST_CASE("element types: numbers to fill with") {
    CHECK(parsed("fill 2147483647 -> i32[3]").fill_value == 2147483647);
    CHECK(print(parsed("fill 16777217 -> i32[3]")) == "fill 16777217 -> i32[3]");
    CHECK(print(parsed("fill 16777217 -> f32[3]")) == "fill 16777216 -> f32[3]");
    CHECK(lowered("fill 16777217 -> i32[3]").stage[0].constant == 16777217);
    CHECK(lowered("fill -128 -> i8[3]").stage[0].constant == 0xffffff80);
    CHECK(parsed("fill inf -> f16[3]").fill_value > 0);
    for (std::string_view text :
         {"fill -2147483648 -> i32[3]", "fill 1e6 -> i32[3]", "fill 65519 -> f16[3]",
          "fill 0.1 -> bf16[3]", "fill -0 -> i8[3]", "fill nan -> f16[3]"})
      CHECK(*parse(print(parsed(text))) == parsed(text));
    Statement s = parsed("fill 1 -> f32[3]");
    s.fill_value = 0.1;
    CHECK(lower(s).error().message.find("not rounded to f32") != std::string::npos);
  }
}

}  // namespace morello

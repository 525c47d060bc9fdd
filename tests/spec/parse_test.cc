// SPDX-License-Identifier: MIT
// The parser: what each form of the language means, every error with its place, and hostile text.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "spec/statement.hh"

namespace morello {
namespace {

using Head = Statement::Head;

Statement parsed(std::string_view text) {
  Result<Statement> s = parse(text);
  INFO(text);
  if (!s) FAIL(s.error().message);
  return *s;
}

/// All that must hold for any text: an error has a place inside it, and what is parsed has one
/// form.
void check_any_text(std::string_view text) {
  Result<Statement> s = parse(text);
  if (!s) {
    REQUIRE(s.error().line >= 1);
    REQUIRE(s.error().column >= 1);
    REQUIRE(s.error().column <= text.size() + 1);
    REQUIRE(s.error().message.size() < 700);
    REQUIRE(s.error().message.find('\n') == std::string::npos);
    return;
  }
  std::string printed = print(*s);
  Result<Statement> again = parse(printed);
  REQUIRE(again.ok());
  REQUIRE(*again == *s);
  REQUIRE(print(*again) == printed);
}

constexpr std::string_view kValid[] = {
    "matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]",
    "matmul bf16[1,2048] bf16[2048,16384]{0,1} -> f32[1,16384]",
    "matmul f32[64,768] f32[768,3072]{*}",
    "einsum \"bmk,bkn->bmn\" f32[2,3,4] f32[2,4,5] += f32[2,3,5]",
    "relu f32[7,5]{strides=9,1} -> f32[7,5]{strides=5,1}",
    "max f32[3,1] f32[4] -> min f32[] * scale f32[3,4]",
    "reduce_max f32[2,3,4] axis=1 -> sqrt -> recip",
    "transpose f32[2,3,4] perm=1,0,2 -> f32[3,2,4]{2,0,1}",
    "fill -1.5e-3 -> f32[8] # end",
    "broadcast\n  f32[8] # a row\n  -> f32[4,8]\n",
    "move f32[] / f32[]",
};

}  // namespace

TEST_SUITE("spec") {
  TEST_CASE("parse: matmul with steps") {
    Statement s =
        parsed("matmul f32[64,768] f32[768,3072]{0,1} + bias f32[3072] -> relu -> f32[64,3072]");
    CHECK(s.head == Head::kMatmul);
    REQUIRE(s.tensors.size() == 4);
    CHECK(s.tensors[0].strides == std::vector<i64>{768, 1});
    CHECK(s.tensors[1].strides == std::vector<i64>{1, 768});
    CHECK(s.tensors[2].shape == std::vector<i64>{3072});
    CHECK(s.tensors[3].shape == std::vector<i64>{64, 3072});
    CHECK(s.steps == std::vector<Step>{{Op::kAdd, 2}, {Op::kRelu, -1}});
    CHECK_FALSE(s.accumulate);
  }

  TEST_CASE("parse: the output that was left out") {
    auto shape_of_output = [](std::string_view text) { return parsed(text).tensors.back().shape; };
    CHECK(shape_of_output("matmul f32[5,2,3] f32[5,3,4]") == std::vector<i64>{5, 2, 4});
    CHECK(shape_of_output("einsum \"ab,cb->ca\" f32[2,3] f32[4,3]") == std::vector<i64>{4, 2});
    CHECK(shape_of_output("add f32[3,1] f32[2,1,4]") == std::vector<i64>{2, 3, 4});
    CHECK(shape_of_output("reduce_sum f32[2,3,4] axis=1") == std::vector<i64>{2, 4});
    CHECK(shape_of_output("transpose f32[2,3,4]") == std::vector<i64>{4, 3, 2});
    CHECK(shape_of_output("transpose f32[2,3,4] perm=2,0,1") == std::vector<i64>{4, 2, 3});
    CHECK(shape_of_output("relu f32[2,3]{0,1} + f32[3]") == std::vector<i64>{2, 3});
    CHECK(parsed("relu bf16[2,3]{0,1}").tensors[1].strides == std::vector<i64>{3, 1});
    CHECK(parsed("relu bf16[2,3]").tensors[1].dtype == Dtype::kBf16);
  }

  TEST_CASE("parse: layouts") {
    auto strides = [](std::string text) { return parsed("relu f32" + text).tensors[0].strides; };
    CHECK(strides("[2,3,4]") == std::vector<i64>{12, 4, 1});
    CHECK(strides("[2,3,4]{2,1,0}") == std::vector<i64>{12, 4, 1});
    CHECK(strides("[2,3,4]{0,1,2}") == std::vector<i64>{1, 2, 6});
    CHECK(strides("[2,3,4]{strides=99,7,0}") == std::vector<i64>{99, 7, 0});
    CHECK(strides("[]{}").empty());
    Tensor free = parsed("relu f32[2,3]{*}").tensors[0];
    CHECK(free.kind == Tensor::Kind::kFree);
    CHECK(free.strides.empty());
  }

  TEST_CASE("parse: numbers of fill") {
    auto value = [](std::string text) { return parsed("fill " + text + " -> f32[2]").fill_value; };
    CHECK(value("0") == 0);
    CHECK(std::signbit(value("-0")));
    CHECK(value("-1.5e+3") == -1500);
    CHECK(value(".5") == 0.5f);
    CHECK(value("3.4028235e38") == 3.4028235e38f);
    CHECK(value("inf") == INFINITY);
    CHECK(value("-inf") == -INFINITY);
    CHECK(std::isnan(value("nan")));
    CHECK(value("1e-45") > 0);
  }

  TEST_CASE("parse: names of step operands and spellings that mean the same") {
    CHECK(parsed("relu f32[3] + anything f32[3]") == parsed("relu f32[3]->add f32[3]->f32[3]"));
    CHECK(parsed("relu f32[3] - f32[3]") == parsed("relu f32[3] -> sub f32[3]"));
    CHECK(parsed("broadcast f32[3] -> f32[2,3]") == parsed("move f32[3] -> f32[2,3]"));
    CHECK(parsed("\trelu\r\n f32 [ 3 , 2 ] #c\n") == parsed("relu f32[3,2]"));
    CHECK(parsed("transpose f32[2,3]") == parsed("transpose f32[2,3] perm=1,0 -> f32[3,2]"));
  }

  TEST_CASE("parse: every error, with its place") {
    struct Case {
      std::string text;
      Status status;
      u32 line, column;
      std::string_view message;  // a part of it
    };
    const std::string many_digits = "relu f32[" + std::string(100, '9') + "]";
    std::string abs;
    for (int i = 1; i < kMaxStages; i++) abs += " -> abs";
    const std::string steps = "relu f32[3]" + abs, integers = "relu i32[3]" + abs + " -> bf16[3]";
    const Case kCases[] = {
        // Form.
        {"", MORELLO_SYNTAX_ERROR, 1, 1, "expected an operation (matmul, einsum, scaled_matmul"},
        {"# only\n  # comments", MORELLO_SYNTAX_ERROR, 2, 13, "found the end of the text"},
        {"sofmax f32[3]", MORELLO_SYNTAX_ERROR, 1, 1,
         "unknown operation 'sofmax'; did you mean 'softmax'? Known are matmul"},
        {"[", MORELLO_SYNTAX_ERROR, 1, 1, "found '['"},
        {"relu", MORELLO_SYNTAX_ERROR, 1, 5, "expected a tensor such as f32[64,768]"},
        {"relu\nf32", MORELLO_SYNTAX_ERROR, 2, 4, "expected '[', found the end"},
        {"relu f32[3", MORELLO_SYNTAX_ERROR, 1, 11, "expected ',' or ']'"},
        {"relu f32[3,", MORELLO_SYNTAX_ERROR, 1, 12, "expected a size"},
        {"relu f32[<=8]", MORELLO_SYNTAX_ERROR, 1, 10, "a bound such as <=8 is of families"},
        {"Relu f32[8]", MORELLO_SYNTAX_ERROR, 1, 1, "did you mean 'relu'?"},
        {"frobnicate f32[8]", MORELLO_SYNTAX_ERROR, 1, 1, "'frobnicate'; known are"},
        {"relu f32[1e5]", MORELLO_SYNTAX_ERROR, 1, 10, "expected a size, found '1e5'"},
        {"relu f32[3]{", MORELLO_SYNTAX_ERROR, 1, 13, "expected '*', strides=, or axes"},
        {"relu f32[3]{0", MORELLO_SYNTAX_ERROR, 1, 14, "expected ',' or '}'"},
        {"relu f32[3]{strides 3}", MORELLO_SYNTAX_ERROR, 1, 21, "expected '=', found '3'"},
        {"relu f32[3] f32[3]", MORELLO_SYNTAX_ERROR, 1, 13, "expected '->', '+=' or a step"},
        {"relu f32[3] -> foo", MORELLO_SYNTAX_ERROR, 1, 16, "or a step (relu, neg"},
        {"relu f32[3] -> matmul", MORELLO_SYNTAX_ERROR, 1, 22, "expected a tensor"},
        {"relu f32[3] -> f32[3] -> relu", MORELLO_SYNTAX_ERROR, 1, 23, "end of the Spec"},
        {"relu f32[3] +", MORELLO_SYNTAX_ERROR, 1, 14, "expected a tensor"},
        {"relu f32[3] + [", MORELLO_SYNTAX_ERROR, 1, 15, "expected a tensor"},
        {"relu f32[3] $", MORELLO_SYNTAX_ERROR, 1, 13, "found '$'"},
        {"relu f32[3] \xff", MORELLO_SYNTAX_ERROR, 1, 13, "found '\\xff'"},
        {"fill -> f32[3]", MORELLO_SYNTAX_ERROR, 1, 6, "expected a number"},
        {"fill 0x10 -> f32[3]", MORELLO_SYNTAX_ERROR, 1, 6, "found '0x10'"},
        {"fill 1e99 -> f32[3]", MORELLO_SYNTAX_ERROR, 1, 6, "out of the range of f32"},
        {"fill 0", MORELLO_SYNTAX_ERROR, 1, 7, "expected '->' and an output"},
        {"broadcast f32[3]", MORELLO_SYNTAX_ERROR, 1, 17, "expected '->' and an output"},
        {"reduce_sum f32[3]", MORELLO_SYNTAX_ERROR, 1, 18, "expected axis="},
        {"reduce_sum f32[3] axis 0", MORELLO_SYNTAX_ERROR, 1, 24, "expected '='"},
        {"einsum f32[3] f32[3]", MORELLO_SYNTAX_ERROR, 1, 8, "subscripts such as"},
        {"einsum \"a,a->a f32[3]", MORELLO_SYNTAX_ERROR, 1, 8, "subscripts such as"},
        {"einsum \"a,a\" f32[3] f32[3]", MORELLO_SYNTAX_ERROR, 1, 12, "no '->' found"},
        {"einsum \"a-a\" f32[3] f32[3]", MORELLO_SYNTAX_ERROR, 1, 10, "unexpected character"},
        {"einsum \"a,a->b\" f32[3] f32[3]", MORELLO_SYNTAX_ERROR, 1, 14, "no input has"},
        // Element types.
        {"relu f64[3]", MORELLO_UNKNOWN_DTYPE, 1, 6,
         "'f64'; known are f32, bf16, f16, i8, u8, i32"},
        {"relu f32[3]\n + bias double[3]", MORELLO_UNKNOWN_DTYPE, 2, 9, "'double'"},
        // Sizes.
        {"relu f32[3,0]", MORELLO_INVALID_SHAPE, 1, 12, "axis 1 of input 0 has size 0"},
        {"relu f32[-3]", MORELLO_INVALID_SHAPE, 1, 10, "has size -3; sizes must be at least 1"},
        {"relu f32[3] -> f32[0]", MORELLO_INVALID_SHAPE, 1, 20, "axis 0 of the output"},
        {"relu f32[9223372036854775808]", MORELLO_SIZE_OVERFLOW, 1, 10, "does not fit in 64 bits"},
        {"relu f32[9223372036854775807]", MORELLO_SIZE_OVERFLOW, 1, 10, "more than 2147483647"},
        {"relu f32[2147483648]", MORELLO_SIZE_OVERFLOW, 1, 10, "more than 2147483647"},
        {"relu f32[65536,65536,65536,65536]", MORELLO_SIZE_OVERFLOW, 1, 16, "more than"},
        {many_digits, MORELLO_SIZE_OVERFLOW, 1, 10, "'999999999999999999999999...'"},
        {"matmul f32[65536,1] f32[1,65536]", MORELLO_SIZE_OVERFLOW, 1, 1, "the output has more"},
        {"relu f32[3]{strides=99999999999999}", MORELLO_SIZE_OVERFLOW, 1, 21, "2^47 bytes"},
        // Shapes that do not fit.
        {"matmul f32[2,3] f32[4,5]", MORELLO_INVALID_SHAPE, 1, 21,
         "axis 0 of input 1 has size 4, but axis 1 of input 0 has size 3; they must be equal"},
        {"matmul f32[2,3]\nf32[3]", MORELLO_INVALID_SHAPE, 2, 1, "at least 2 axes"},
        {"matmul f32[2,3] f32[1,3,4]", MORELLO_INVALID_SHAPE, 1, 17,
         "has 2 axes, but input 1 has 3"},
        {"matmul f32[7,2,3] f32[1,3,4]", MORELLO_INVALID_SHAPE, 1, 23, "has size 7"},
        {"matmul f32[2,3] f32[3,4] -> f32[2,5]", MORELLO_INVALID_SHAPE, 1, 35,
         "axis 1 of the output has size 5, but that of the result has size 4"},
        {"matmul f32[2,3] f32[3,4] -> f32[8]", MORELLO_INVALID_SHAPE, 1, 29, "the result has 2"},
        {"matmul f32[2,3] f32[3,4] + f32[3]", MORELLO_INVALID_SHAPE, 1, 32,
         "axis 0 of input 2 has size 3, but axis 1 of the result has size 4; it must be that, or "
         "1"},
        {"matmul f32[2,3] f32[3,4] + f32[1,2,4]", MORELLO_INVALID_SHAPE, 1, 28, "at most as many"},
        {"add f32[3] f32[4]", MORELLO_INVALID_SHAPE, 1, 16, "must be equal, or one of them 1"},
        {"relu f32[3] -> f32[4]", MORELLO_INVALID_SHAPE, 1, 10, "axis 0 of the result has size 4"},
        {"einsum \"ab,b->a\" f32[3] f32[3]", MORELLO_INVALID_SHAPE, 1, 18,
         "name 2 axes of input 0"},
        {"reduce_sum f32[3] axis=1", MORELLO_INVALID_SHAPE, 1, 24, "no axis 1 in f32[3]"},
        {"reduce_sum f32[3] axis=-1", MORELLO_INVALID_SHAPE, 1, 24, "no axis -1"},
        {"transpose f32[2,3] perm=0", MORELLO_INVALID_SHAPE, 1, 25, "has 1 axes"},
        {"transpose f32[2,3] perm=1,1", MORELLO_INVALID_SHAPE, 1, 27, "each axis from 0 to 1 once"},
        {"transpose f32[2,3] perm=0,2", MORELLO_INVALID_SHAPE, 1, 27, "axis 2 is out of range"},
        // Layouts.
        {"relu f32[2,3]{0}", MORELLO_INVALID_LAYOUT, 1, 14, "names 1 of the 2 axes"},
        {"relu f32[2,3]{0,0}", MORELLO_INVALID_LAYOUT, 1, 17, "axis 0 is out of range or twice"},
        {"relu f32[2,3]{0,2}", MORELLO_INVALID_LAYOUT, 1, 17, "axis 2 is out of range"},
        {"relu f32[2,3]{strides=1}", MORELLO_INVALID_LAYOUT, 1, 23, "1 strides for 2 axes"},
        {"relu f32[2,3]{strides=3,-1}", MORELLO_INVALID_LAYOUT, 1, 25, "must not be negative"},
        {"relu f32[2,3] -> f32[2,3]{strides=2,1}", MORELLO_INVALID_LAYOUT, 1, 35, "at least 3"},
        {"relu f32[2,3] -> f32[2,3]{strides=3,0}", MORELLO_INVALID_LAYOUT, 1, 37, "at least 1"},
        {"relu f32[3] -> f32[3]{*}", MORELLO_INVALID_LAYOUT, 1, 22, "only inputs"},
        // Numbers to fill with that the element type does not have.
        {"fill 256 -> u8[3]", MORELLO_INVALID_ARGUMENT, 1, 6,
         "256 is none of u8, which has the integers from 0 to 255"},
        {"fill -1 -> u8[3]", MORELLO_INVALID_ARGUMENT, 1, 6, "-1 is none of u8"},
        {"fill 0.5\n-> i8[3]", MORELLO_INVALID_ARGUMENT, 1, 6, "integers from -128 to 127"},
        {"fill 2147483648 -> i32[3]", MORELLO_INVALID_ARGUMENT, 1, 6, "-2147483648 to 2147483647"},
        {"fill nan -> i32[3]", MORELLO_INVALID_ARGUMENT, 1, 6, "nan is none of i32"},
        {"fill -inf -> i8[3]", MORELLO_INVALID_ARGUMENT, 1, 6, "-inf is none of i8"},
        {"fill 65520 -> f16[3]", MORELLO_INVALID_ARGUMENT, 1, 6,
         "65520 is past the largest number of f16, 65504"},
        {"fill -3.4e38 -> bf16[3]", MORELLO_INVALID_ARGUMENT, 1, 6,
         "past the largest number of bf16, 3.3895314e+38"},
        {"fill 1e39 -> i32[3]", MORELLO_SYNTAX_ERROR, 1, 6, "out of the range of f32"},
        {"add f32[3] 1e40", MORELLO_SYNTAX_ERROR, 1, 12, "out of the range of f32"},
        // Scales and zero points broadcast like any operand.
        {"matmul u8[2,3] i8[3,4] * scale f32[3]", MORELLO_INVALID_SHAPE, 1, 36,
         "axis 0 of input 2 has size 3, but axis 1 of the result has size 4; it must be that, or "
         "1"},
        {"matmul u8[2,3] i8[3,4] * f32[2,1,4]", MORELLO_INVALID_SHAPE, 1, 26, "at most as many"},
        {"matmul u8[2,3] i8[3,4] + i32[4] * f64[4]", MORELLO_UNKNOWN_DTYPE, 1, 35, "'f64'"},
        // Well formed, but too much.
        {integers, MORELLO_UNSUPPORTED, 1, static_cast<u32>(integers.size()) - 6,
         "rounded to f32 before it is written as bf16"},
        {"relu f32[1,1,1,1,1,1,1,1,1]", MORELLO_UNSUPPORTED, 1, 26, "at most 8 axes"},
        {steps + "\n-> neg", MORELLO_UNSUPPORTED, 2, 1, "at most 15 steps"},
        {steps + " += f32[3]", MORELLO_UNSUPPORTED, 1, static_cast<u32>(steps.size()) + 5,
         "counts as a step"},
        {"relu f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3]",
         MORELLO_UNSUPPORTED, 1, 1, "9 tensors"},
        {"add f32[3] f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3] -> f32[3]",
         MORELLO_UNSUPPORTED, 1, 1, "9 tensors"},
        {"einsum \"ii,i->i\" f32[3,3] f32[3]", MORELLO_UNSUPPORTED, 1, 10, "diagonal"},
        {"einsum \"abcdefghi,a->a\" f32[3] f32[3]", MORELLO_UNSUPPORTED, 1, 17,
         "more than 8 letters"},
        {"einsum \"abcde,fghi->afbgchdi\" f32[2,2,2,2,2] f32[2,2,2,2]", MORELLO_UNSUPPORTED, 1, 1,
         "9 dimensions"},
    };
    for (const Case& c : kCases) {
      INFO(c.text);
      Result<Statement> s = parse(c.text);
      REQUIRE_FALSE(s.ok());
      CHECK(s.error().status == c.status);
      CHECK(s.error().line == c.line);
      CHECK(s.error().column == c.column);
      INFO(s.error().message);
      CHECK(s.error().message.find(c.message) != std::string::npos);
      check_any_text(c.text);
    }
  }

  TEST_CASE("parse: the largest tensors") {
    CHECK(parse("relu f32[2147483647]").ok());
    CHECK(parse("relu f32[1,2147483647,1]{1,0,2}").ok());
    CHECK(parse("matmul f32[2147483647,1] f32[1,1]").ok());
    // Elements that a stride of 0 repeats need no address.
    CHECK(parse("matmul f32[4096,1,4096] f32[4096,4096,6144]{strides=0,6144,1}").ok());
    CHECK_FALSE(parse("matmul f32[4096,1,4096] f32[4096,4096,6144]").ok());
    CHECK_FALSE(parse("relu f32[2147483648]{strides=0} -> f32[2147483648]").ok());
    CHECK(parse("add f32[1]{strides=9223372036854775807} f32[1]").ok());
  }

  TEST_CASE("parse: every prefix of valid text, and every byte removed, doubled or changed") {
    for (std::string_view valid : kValid) {
      CHECK(parse(valid).ok());
      for (size_t i = 0; i <= valid.size(); i++) {
        check_any_text(valid.substr(0, i));
        check_any_text(valid.substr(i));
        std::string text(valid);
        if (i == valid.size()) break;
        check_any_text(text.substr(0, i) + text.substr(i + 1));
        check_any_text(text.substr(0, i + 1) + text.substr(i));
        for (char c :
             {'0', '9', '-', '>', '[', '}', '{', '*', ' ', '\n', '#', '"', 'x', '\0', '\x80'}) {
          text[i] = c;
          check_any_text(text);
        }
      }
    }
  }

  TEST_CASE("parse: random bytes, and random words of the language") {
    const u64 seed = 20260101;
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    constexpr std::string_view kWords[] = {"matmul",
                                           "einsum",
                                           "relu",
                                           "max",
                                           "fill",
                                           "move",
                                           "transpose",
                                           "reduce_sum",
                                           "f32",
                                           "bf16",
                                           "[",
                                           "]",
                                           "{",
                                           "}",
                                           ",",
                                           "=",
                                           "*",
                                           "+",
                                           "-",
                                           "->",
                                           "+=",
                                           "/",
                                           "axis=",
                                           "perm=",
                                           "strides=",
                                           "0",
                                           "1",
                                           "2",
                                           "3",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "\"ab,bc->ac\"",
                                           "nan",
                                           "f32[2,3]",
                                           "f32[3,4]",
                                           "# x\n",
                                           "\n"};
    for (int i = 0; i < 20000; i++) {
      std::string bytes, words;
      for (u64 n = rng() % 24; n > 0; n--) {
        bytes += static_cast<char>(rng());
        words += kWords[rng() % std::size(kWords)];
        if (rng() % 2) words += ' ';
      }
      check_any_text(bytes);
      check_any_text(words);
    }
  }

  TEST_CASE("parse: huge text takes bounded time and stack") {
    const size_t kMiB = 1 << 20;
    auto many = [&](std::string_view part) {
      std::string text;
      while (text.size() < kMiB) text += part;
      return text;
    };
    for (std::string_view part : {"[", "]", "{", "f", "9", "1,", "-", "-> relu ", "+ f32[3] ", "\n",
                                  "#", "# x\n", "\"", "matmul ", "\xff", "relu f32[2] "}) {
      check_any_text(many(part));
      check_any_text("relu f32[" + many(part));
      check_any_text("relu f32[3] " + many(part));
      check_any_text("fill " + many(part));
      check_any_text("einsum \"" + many(part));
      check_any_text("einsum \"" + many(part) + "\" f32[3] f32[3]");
      check_any_text("relu f32[3]{strides=" + many(part));
    }
    CHECK(parse(many("# x\n") + "relu f32[3]" + many(" ")).ok());
    Result<Statement> s = parse(many("\n") + "relu f32[0]");
    REQUIRE_FALSE(s.ok());
    CHECK(s.error().line == kMiB + 1);
    CHECK(s.error().column == 10);
  }
}

}  // namespace morello

// SPDX-License-Identifier: MIT
// Specs with a run-time size: what has it, and what cannot.
#include "spec/sized.hh"

#include <doctest/doctest.h>

namespace morello {
namespace {

Sized sized_of(std::string_view text) {
  Result<Sized> sized = Sized::parse(text);
  REQUIRE_MESSAGE(sized.ok(), text, ": ", sized.error().message);
  return std::move(*sized);
}

std::string at(const Sized& sized, i64 size) {
  const Result<Statement> statement = sized.at(size);
  REQUIRE(statement.ok());
  return print(*statement);
}

}  // namespace

TEST_SUITE_BEGIN("spec");

TEST_CASE("a run-time size is a Statement for each size") {
  const Sized sized = sized_of("matmul  f32[?<=512,768] # tokens\n f32[768,3072]->f32[?,3072]");
  CHECK(sized.text() == "matmul f32[?<=512,768] f32[768,3072]->f32[?,3072]");
  CHECK(sized.largest() == 512);
  CHECK(sized.axes() == std::vector<int>{0, -1, 0});
  CHECK(at(sized, 1) == "matmul f32[1,768] f32[768,3072] -> f32[1,3072]");
  CHECK(at(sized, 512) == "matmul f32[512,768] f32[768,3072] -> f32[512,3072]");
  CHECK(has_run_time_size(sized.text()));
  CHECK(!has_run_time_size("relu f32[5] # ?"));
}

TEST_CASE("outputs are always written in the printed form") {
  const struct {
    const char *text, *printed;
  } cases[] = {
      {"matmul f32[?<=64,64] f32[64,96]", "matmul f32[?<=64,64] f32[64,96] -> f32[?,96]"},
      {"matmul bf16[?<=9,4] bf16[4,8] -> relu  # steps",
       "matmul bf16[?<=9,4] bf16[4,8] -> relu -> bf16[?,8]"},
      {"add f32[?<=9,4] f32[?<=9,4]", "add f32[?<=9,4] f32[?<=9,4] -> f32[?,4]"},
      {"relu f32[1,?<=7,12]", "relu f32[1,?<=7,12] -> f32[1,?,12]"},
      {"x = relu f32[?<=7,12]; reshape x shape=?,3,4",
       "x = relu f32[?<=7,12]; reshape x shape=?,3,4 -> f32[?,3,4]"},
      {"y = exp f32[?<=5,4]; y", "y = exp f32[?<=5,4]; y -> f32[?,4]"},
      {"p = softmax f32[?<=7,12] axis=1; l = reduce_max p axis=1; p, l",
       "p = softmax f32[?<=7,12] axis=1; l = reduce_max p axis=1; p -> f32[?,12], l -> f32[?]"},
      {"p = exp f32[?<=7,2]; l = neg p; p->f32[?,2],l += f32[?,2]{strides=9,1}", nullptr},
      {"relu f32[?<=4] += f32[?]", nullptr},
      {"relu f32[3,?<=9]{strides=16,1} -> f32[3,?]{strides=9,1}", nullptr},
  };
  for (const auto& [text, printed] : cases) {
    const Sized sized = sized_of(text);
    CHECK(sized.text() == (printed != nullptr ? printed : text));
    const Sized again = sized_of(sized.text());
    CHECK(again.text() == sized.text());
    for (const i64 size : {i64{1}, i64{2}, sized.largest()})
      CHECK(at(again, size) == at(sized, size));
  }
}

TEST_CASE("which axis has the run-time size follows from the operation") {
  CHECK(sized_of("matmul f32[? <= 9,4] f32[4,8]").axes() == std::vector<int>{0, -1, 0});
  CHECK(sized_of("add f32[?<=9,4] f32[?<=9,4]").axes() == std::vector<int>{0, 0, 0});
  CHECK(sized_of("relu f32[3,?<=9]{strides=16,1} -> f32[3,?]{strides=9,1}").axes() ==
        std::vector<int>{1, 1});
  CHECK(sized_of("add f32[?<=9,4] f32[?,4]{strides=0,1} -> f32[?,4]").axes() ==
        std::vector<int>{0, -1, 0});
  CHECK(sized_of("relu f32[?<=9,4]{1,0}").axes() == std::vector<int>{0, 0});
  CHECK(sized_of("x = relu f32[?<=7,12]; reshape x shape=?,3,4").axes() == std::vector<int>{0, 0});
  CHECK(sized_of("softmax f32[?<=7,12] axis=1").axes() == std::vector<int>{0, 0});
  CHECK(sized_of("attention f32[?<=7,8] f32[12,8] f32[12,8]").axes() ==
        std::vector<int>{0, -1, -1, 0});
  CHECK(sized_of("relu f32[1,?<=7,12]").axes() == std::vector<int>{1, 1});
}

TEST_CASE("what cannot have a run-time size is refused where it stands") {
  const struct {
    const char* text;
    Status status;
    u32 column;
    const char* part;
  } bads[] = {
      {"relu f32[?,8]", MORELLO_SYNTAX_ERROR, 10, "needs a bound"},
      {"relu f32[?<8,8]", MORELLO_SYNTAX_ERROR, 10, "expected a bound such as ?<=512"},
      {"relu f32[?<=x,8]", MORELLO_SYNTAX_ERROR, 10, "expected a bound such as ?<=512"},
      {"relu f32[?<=1,8]", MORELLO_INVALID_SHAPE, 10, "at least 2"},
      {"relu f32[?<=65537,8]", MORELLO_SIZE_OVERFLOW, 10, "at most 65536"},
      {"relu f32[?<=99999999999999999999,8]", MORELLO_SIZE_OVERFLOW, 10, "at most 65536"},
      {"add f32[?<=8,8] f32[?<=9,8]", MORELLO_UNSUPPORTED, 21, "another run-time size"},
      {"relu f32[?<=8,?]", MORELLO_UNSUPPORTED, 15, "second run-time size of input 0"},
      {"relu f32[4,?<=5]", MORELLO_UNSUPPORTED, 12, "outermost axis"},
      {"transpose f32[?<=8,16]", MORELLO_UNSUPPORTED, 15, "of the output"},
      {"matmul f32[?<=512,768]{*} f32[768,3] -> f32[?,3]", MORELLO_UNSUPPORTED, 12, "free"},
      {"matmul f32[4,?<=9]{strides=9,1} f32[?,4]", MORELLO_UNSUPPORTED, 37, "summed"},
      {"softmax f32[?<=64,64] axis=0", MORELLO_UNSUPPORTED, 13, "summed"},
      {"attention f32[?<=64,64] f32[?,64] f32[?,64]", MORELLO_UNSUPPORTED, 39, "several"},
      {"relu f32[?<=8,8] -> f32[8,8]", MORELLO_INVALID_SHAPE, 10, "with the run-time size 7"},
      {"add f32[?<=8,4] f32[8,4]", MORELLO_INVALID_SHAPE, 0, "with the run-time size 7"},
      {"conv2d f32[1,1,?<=8,8] f32[1,1,3,3] padding=1,1", MORELLO_UNSUPPORTED, 16, "windows"},
      {"conv2d f32[1,1,?<=8,8] f32[1,1,3,3]", MORELLO_UNSUPPORTED, 0, ""},
      {"fill ? -> f32[4]", MORELLO_SYNTAX_ERROR, 6, ""},
      {"relu f32[4]{strides=?<=4}", MORELLO_UNSUPPORTED, 0, ""},
      {"reduce_sum f32[4,?<=4] axis=1", MORELLO_UNSUPPORTED, 0, ""},
  };
  for (const auto& bad : bads) {
    CAPTURE(bad.text);
    const Result<Sized> sized = Sized::parse(bad.text);
    REQUIRE(!sized.ok());
    CAPTURE(sized.error().message);
    CHECK(sized.error().status == bad.status);
    CHECK(sized.error().message.find(bad.part) != std::string::npos);
    CHECK(sized.error().line == 1);
    if (bad.column != 0) CHECK(sized.error().column == bad.column);
  }
  CHECK(parse("relu f32[?<=4]").error().message.find("run time") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace morello

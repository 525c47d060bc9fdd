// SPDX-License-Identifier: MIT
// What gathers: which graphs are one, what is refused, and where. What they compute is compared in
// graph_test.cc, among random graphs.
#include <doctest/doctest.h>

#include "spec/canonical.hh"
#include "spec/gather.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

Spec spec_of(std::string_view text) {
  const Result<Statement> s = parse(text);
  REQUIRE_MESSAGE(s.ok(), text << ": " << s.error().message);
  const Result<Lowered> l = lower(*s);
  REQUIRE_MESSAGE(l.ok(), text << ": " << l.error().message);
  return l->spec;
}

TEST_SUITE_BEGIN("spec");

TEST_CASE("gather: axes that all step through as one are one") {
  const Spec rows = spec_of("gather f32[50,12] i32[6] axis=0");
  CHECK(rows.rank == 3);
  CHECK(spec_of("gather f32[50,3,4] i32[2,3] axis=0 -> f32[2,3,3,4]") == rows);
  CHECK(spec_of("gather f32[1,50,12] i32[6] axis=1 -> f32[1,6,12]") == rows);
  CHECK(spec_of("x f32[50,12]; gather x i32[6] axis=0 * 1") == rows);
  CHECK_FALSE(spec_of("gather f32[50,12] i8[6] axis=0") == rows);
  // By elements, where no other axis is left, is the same.
  CHECK(spec_of("gather_elements f32[50] i32[6] axis=0") ==
        spec_of("gather f32[50] i32[6] axis=0"));
  // One place: the index has nothing to choose from, but is an operand still.
  const Spec one = spec_of("gather f32[1,12] i32[6] axis=0");
  CHECK(one.stage[0].reduce == 0);
  CHECK(one.operand_count == 3);
}

TEST_CASE("gather: computed in what it gathers, whatever the index is") {
  CHECK(spec_of("gather f32[9] i32[6] axis=0").stage[0].dtype == Dtype::kF32);
  CHECK(spec_of("gather bf16[9] u8[6] axis=0 -> bf16[6]").stage[0].dtype == Dtype::kF32);
  CHECK(spec_of("gather u8[9] i32[6] axis=0 -> i32[6]").stage[0].dtype == Dtype::kI32);
  const Statement s = *parse("gather bf16[9,4] i32[6] axis=0");
  CHECK(s.tensors.back().dtype == Dtype::kBf16);
}

TEST_CASE("gather: what is read as well stays what it was computed in") {
  const Spec rows =
      spec_of("g = gather i32[9] i32[7] axis=0; s = add g 1; g -> f32[7], s -> i32[7]");
  const Spec one = tile(rows, 0, 1, nullptr);
  REQUIRE(gather_at_one_place(one) == 0);
  const Spec part = gathered(one, 0).spec;
  CHECK(not_canonical(part) == "");
  CHECK(part.stage[0].op == Op::kCopy);
  CHECK(part.stage[0].dtype == Dtype::kI32);
}

TEST_CASE("gather: an index that is written is taken nowhere, as programs read it twice") {
  Spec spec = spec_of("i = add i32[] 2; g = gather i32[9] i axis=0; add g i");
  REQUIRE(spec.stage_count == 3);
  // In place: the value of the first stage is in the output, which the last one overwrites.
  spec.operand = {spec.operand[1], spec.out()};
  spec.operand[1].access = Access::kInOut;
  spec.operand_count = 2;
  spec.stage = {spec.stage[1], spec.stage[2]};
  spec.stage[0].in = {0, 1, kNoRef};
  spec.stage[1].in = {value_of(0), 1, kNoRef};
  spec.stage[1].out = 1;
  spec.stage_count = 2;
  REQUIRE(not_canonical(spec) == "");
  CHECK(gather_at_one_place(spec) == -1);
}

TEST_CASE("gather: not canonical by what is no integer, or along what its index has") {
  Spec spec = spec_of("gather f32[9,4] i32[6] axis=0");
  CHECK(not_canonical(spec) == "");
  Spec other = spec;
  other.operand[1].dtype = Dtype::kF32;
  CHECK(not_canonical(other).find("no integer") != std::string::npos);
  other = spec;
  other.stage[0].reduce = 1;
  CHECK(not_canonical(other) != "");
  other = spec;
  other.stage[0].dtype = Dtype::kI32;
  CHECK(not_canonical(other).find("another element type") != std::string::npos);
}

TEST_CASE("gather: what is refused, where") {
  struct Case {
    std::string text;
    morello_status status;
    int column;
    const char* message;
  };
  const Case kCases[] = {
      {"gather f32[9,4] f32[6] axis=0", MORELLO_UNSUPPORTED, 17, "valid are i32, i8 and u8"},
      {"gather f32[9,4] i32[6]", MORELLO_SYNTAX_ERROR, 0, "axis="},
      {"gather f32[9,4] axis=0", MORELLO_SYNTAX_ERROR, 0, ""},
      {"gather f32[9,4] i32[6] axis=2", MORELLO_INVALID_SHAPE, 24, "there is no axis 2"},
      {"gather f32[9,4] i32[6] axis=0,1", MORELLO_INVALID_SHAPE, 24, "along one axis"},
      {"gather f32[9,4] i32[6] axis=0 -> f32[6,5]", MORELLO_INVALID_SHAPE, 0, "has size 4"},
      {"gather f32[9,4] 3 axis=0", MORELLO_INVALID_ARGUMENT, 17, "has to be a tensor or a value"},
      {"gather_elements f32[9,4] i32[6] axis=0", MORELLO_INVALID_SHAPE, 26, "must have those"},
      {"gather_elements f32[9,4] i32[6,3] axis=0", MORELLO_INVALID_SHAPE, 26, "has size 3, not 4"},
      {"x i32[9]; gather x x axis=0", MORELLO_UNSUPPORTED, 0, "two axes at once"},
      {"gather f32[9,4]{strides=0,1} i32[6] axis=0", MORELLO_UNSUPPORTED, 0, "stride 0"},
      {"x f32[9,4]{strides=0,1}; r = relu x; gather r i32[6] axis=0", MORELLO_UNSUPPORTED, 0,
       "stride 0"},
      {"x f32[12,4]; g = gather x i32[6] axis=0; r = reshape x shape=3,4,4 -> reduce_sum axis=1 "
       "-> reduce_sum axis=0; add g r",
       MORELLO_UNSUPPORTED, 0, "reshaped into several"},
  };
  for (const Case& c : kCases) {
    INFO(c.text);
    const Result<Statement> s = parse(c.text);
    Result<Lowered> l = s.ok() ? lower(*s) : Result<Lowered>(s.error());
    REQUIRE_FALSE(l.ok());
    INFO(l.error().message);
    CHECK(l.error().status == c.status);
    if (c.column) CHECK(l.error().column == c.column);
    CHECK(l.error().message.find(c.message) != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello

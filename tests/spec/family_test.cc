// SPDX-License-Identifier: MIT
// Families by text: which sizes run together, members, and what is wrong where.
#include "spec/family.hh"

#include <doctest/doctest.h>

#include "spec/ladder.hh"

namespace morello {
namespace {

Family family_of(std::string_view text) {
  Result<Family> family = Family::parse(text);
  REQUIRE_MESSAGE(family.ok(), text);
  return std::move(*family);
}

std::string member(const Family& family, std::vector<u32> at) {
  Result<Statement> statement = family.member(at);
  REQUIRE(statement.ok());
  return print(*statement);
}

struct Bad {
  const char* text;
  Status status;
  u32 line, column;
};

}  // namespace

TEST_SUITE_BEGIN("spec");

TEST_CASE("the dimensions of a family are those of its Statement") {
  const Family family = family_of("matmul f32[<=512,<=64] f32[<=64,<=24]");
  REQUIRE(family.dims().size() == 3);
  CHECK(family.dims()[0].size() == 26);
  CHECK(family.dims()[0].front() == 1);
  CHECK(family.dims()[0].back() == 512);
  CHECK(family.dims()[1].size() == 20);
  CHECK(family.dims()[2].size() == 17);
  CHECK(family.members() == 26 * 20 * 17);
  for (u32 size : family.dims()[0]) CHECK(on_ladder(size));
  CHECK(member(family, {0, 1, 2}) == "matmul f32[1,2] f32[2,3] -> f32[1,3]");
  CHECK(member(family, {25, 19, 16}) == "matmul f32[512,64] f32[64,24] -> f32[512,24]");
}

TEST_CASE("bounds and fixed sizes mix, and equal sizes run together") {
  const Family family =
      family_of("matmul f32[<=512,768] f32[768,<=3072] + bias f32[<=3072] -> relu");
  REQUIRE(family.dims().size() == 2);
  CHECK(member(family, {3, 17}) ==
        "matmul f32[4,768] f32[768,32] + bias f32[32] -> relu -> f32[4,32]");
  CHECK(family_of("matmul f32[<=8,<=8] f32[<=8,<=8] -> f32[<=8,<=8]{0,1}").members() == 512);
  CHECK(family_of("einsum \"bij,bkj->ik\" f32[<=4,<=4,3] f32[<=4,<=2,3]").members() == 32);
  CHECK(family_of("add f32[<=4,<=8] f32[<=8]").members() == 32);
  CHECK(family_of("add f32[<=4,1] f32[<=8]").members() == 32);
  CHECK(family_of("reduce_max f32[<=4,<=8] axis=1 -> f32[<=4]").members() == 32);
  CHECK(family_of("transpose f32[<=4,<=8,2] perm=2,0,1").members() == 32);
}

TEST_CASE("a bound need not be on the ladder") {
  const Family family = family_of("relu f32[<=100]");
  CHECK(family.dims()[0].back() == 96);
}

TEST_CASE("without a bound, a family is one Statement") {
  const Family family = family_of("relu f32[100]");
  CHECK(family.dims().empty());
  CHECK(family.members() == 1);
  CHECK(member(family, {}) == "relu f32[100] -> f32[100]");
}

TEST_CASE("a Spec with a run-time size is a family") {
  const Family family = family_of("matmul  f32[?<=40,8]  # rows\n bf16[8,24]");
  REQUIRE(family.sized());
  CHECK(family.sized()->largest() == 40);
  CHECK(family.text() == "matmul f32[?<=40,8] bf16[8,24] -> f32[?,24]");
  CHECK(family.dims().empty());
  CHECK(family.members() == 1);
  CHECK(family.types() == std::vector<Dtype>{Dtype::kF32, Dtype::kBf16, Dtype::kF32});
  CHECK(!family_of("relu f32[<=40]").sized());
}

TEST_CASE("sizes that run together in a graph are one") {
  const Family family = family_of(
      "s = matmul q f32[2,<=4,8] f32[2,8,<=6] * 0.5 -> softmax axis=2; matmul s v "
      "f32[2,<=6,<=8]");
  REQUIRE(family.dims().size() == 3);
  CHECK(family.dims()[1].back() == 6);
  CHECK(member(family, {1, 2, 3}) ==
        "matmul f32[2,2,8] f32[2,8,3] * 0.5 -> softmax axis=2 -> matmul f32[2,3,4] -> f32[2,2,4]");
}

TEST_CASE("strides stay while sizes run") {
  const Family family = family_of("move f32[<=4,<=4]{strides=9,1} -> f32[<=4,<=4]");
  CHECK(member(family, {1, 2}) == "move f32[2,3]{strides=9,1} -> f32[2,3]");
}

TEST_CASE("the text of a family is on one line, without comments") {
  const char* text = "matmul  f32[<=4, 2]# A\n\t f32[2,<=4] + bias f32[<=4]\n# end\n";
  CHECK(family_of(text).text() == "matmul f32[<=4, 2] f32[2,<=4] + bias f32[<=4]");
  CHECK(family_of("einsum \"ij,jk->ik\" f32[2,2] f32[2,2] ").text() ==
        "einsum \"ij,jk->ik\" f32[2,2] f32[2,2]");
}

TEST_CASE("what is wrong with a family is said where it is") {
  const Bad bad[] = {
      {"", MORELLO_SYNTAX_ERROR, 1, 1},
      {"matmul f32[<=512,<=512]", MORELLO_SYNTAX_ERROR, 1, 24},
      {"relu f32[<512]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[< =512]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[<= 512]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[<=]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[<=-4]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[<=n]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[<=4.5]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu f32[<=4", MORELLO_SYNTAX_ERROR, 1, 13},
      {"relu f32[4]{strides=<=4}", MORELLO_SYNTAX_ERROR, 1, 21},
      {"reduce_sum f32[4] axis=<=1", MORELLO_SYNTAX_ERROR, 1, 24},
      {"fill <=4 -> f32[4]", MORELLO_SYNTAX_ERROR, 1, 6},
      {"relu\nf32[2,<=0]", MORELLO_INVALID_SHAPE, 2, 7},
      {"relu f32[<=1]", MORELLO_INVALID_SHAPE, 1, 10},
      {"relu f32[<=99999999999999999999999]", MORELLO_SIZE_OVERFLOW, 1, 10},
      {"relu f32[<=4000000000]", MORELLO_SIZE_OVERFLOW, 1, 10},
      {"relu f32[<=1000000,<=1000000]", MORELLO_SIZE_OVERFLOW, 1, 20},
      {"relu f64[<=4]", MORELLO_UNKNOWN_DTYPE, 1, 6},
      {"matmul f32[<=8,<=8] f32[<=4,<=8]", MORELLO_INVALID_SHAPE, 1, 25},
      {"matmul f32[<=8,8] f32[<=8,<=8]", MORELLO_INVALID_SHAPE, 1, 23},
      {"matmul f32[<=8,<=8] f32[8,<=8]", MORELLO_INVALID_SHAPE, 1, 25},
      {"y = exp f32[<=8,4]; div y f32[8,4]", MORELLO_INVALID_SHAPE, 1, 31},
      {"relu f32[<=100] -> f32[<=96]", MORELLO_INVALID_SHAPE, 1, 24},
      {"relu f32[?,4]", MORELLO_SYNTAX_ERROR, 1, 10},
      {"relu\nf32[4,?<=5]", MORELLO_UNSUPPORTED, 2, 7},
      {"relu f32[?<=5,<=4]", MORELLO_UNSUPPORTED, 1, 15},
      {"relu f32[<=4,?<=5]{strides=1,4}", MORELLO_UNSUPPORTED, 1, 10},
  };
  for (const Bad& b : bad) {
    CAPTURE(b.text);
    const Result<Family> family = Family::parse(b.text);
    REQUIRE(!family.ok());
    CAPTURE(family.error().message);
    CHECK(family.error().status == b.status);
    CHECK(family.error().line == b.line);
    CHECK(family.error().column == b.column);
  }
}

TEST_SUITE_END();

}  // namespace morello
